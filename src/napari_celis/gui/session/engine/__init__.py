"""One thread owns the agglomerator: commands go in, snapshots come out.

`engine.Engine` is what the window talks to. Imports nothing else of `session` but `background`.
"""

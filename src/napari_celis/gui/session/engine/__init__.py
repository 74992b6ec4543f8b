"""One thread owns the agglomerator: commands go in, events and snapshots come out.

`engine.Engine` is what the window talks to, and the only file here that knows Qt; `engine_thread` carries out
commands between steps; `stepper` goes forwards and back; `recording` writes every decision before the window
learns of it. Imports nothing else of `session` but `background`.
"""

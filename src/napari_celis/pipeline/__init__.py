"""From chosen volumes to a ready agglomerator: one recipe for command line, panel and benchmarks.

`recipe.prepare` does it all. May import `io`, `models`, `evaluation`, `synthetic` and `core`.
"""

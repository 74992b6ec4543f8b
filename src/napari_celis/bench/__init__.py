"""Benchmarks: the figures of `celis bench`, each a ratio or a number measured in one run.

May import everything but `api`, `gui` and `cli`.
"""

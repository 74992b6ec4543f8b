"""Benchmarks: the figures of `celis bench`, each a ratio or a number measured in one run."""

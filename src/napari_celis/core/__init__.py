"""The algorithm, on arrays in memory: no files, no networks, no window.

`agglomerator` is the engine that everything drives; `kernels` holds its compiled loops. Imports numpy, scipy
and numba, and nothing else of the package.
"""

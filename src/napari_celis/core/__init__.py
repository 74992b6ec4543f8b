"""The algorithm, on arrays in memory: no files, no networks, no window."""

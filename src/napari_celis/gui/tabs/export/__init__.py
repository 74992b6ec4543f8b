"""The tab Export: files to write, and the comparison with other methods."""

"""The tab Train: `celis train` in a process of its own, with its curves."""

"""Learning: training data, losses and the loops that yield records."""

DEFAULT_MINUTES = 30.0
"""Time that `celis train` takes, unless it is told otherwise."""
AFFINITY_SHARE = 0.75
"""Share of that time for affinity networks, unless it is told otherwise."""

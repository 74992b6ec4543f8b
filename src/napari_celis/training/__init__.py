"""Learning: training data, losses and the loops that yield records."""

DEFAULT_MINUTES = 30.0
"""Time that `celis train` takes, unless it is told otherwise."""

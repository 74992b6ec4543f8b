"""Learning: training data, losses and the loops that yield records."""

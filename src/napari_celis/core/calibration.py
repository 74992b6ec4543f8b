"""From the score of a merge to the probability that it is wrong."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Calibration:
    """Log-odds that a merge is wrong, as a straight line over its score and the size of what it joins."""

    slope: float = 1.0
    """Log-odds per unit of the score."""
    offset: float = 0.0
    size_slope: float = 0.0
    """Log-odds per factor e of what is at stake; 0 leaves sizes out."""

    def wrong_merge(self, scores: np.ndarray, stakes: np.ndarray) -> np.ndarray:
        """Return the probability that merges are wrong, float64 (n,).

        Parameters
        ----------
        scores : ndarray of float64, shape (n,)
            What the policy says of each.
        stakes : ndarray of float64, shape (n,)
            What each changes in the variation of information if it is right or wrong, by what a merge of two
            average supervoxels would.
        """
        odds = self.slope * scores + self.offset + self.size_slope * np.log(np.maximum(stakes, 1e-12))
        wrong: np.ndarray = 1.0 / (1.0 + np.exp(-np.clip(odds, -50, 50)))
        return wrong


def spread_out(scores: np.ndarray, threshold: float) -> Calibration:
    """Make do without odds: a merge at the threshold is as likely right as wrong, others by their distance.

    Scores that are no log-odds have no probabilities. The typical distance from the threshold counts as one
    unit of log-odds, so that the order of the scores is kept and their scale does not matter.

    Parameters
    ----------
    scores : ndarray of float64
        Of merges that were made and of those that are open.
    threshold : float
        Score at which greedy stops.
    """
    typical = float(np.median(np.abs(scores - threshold))) if len(scores) else 0.0
    slope = 1.0 / typical if typical > 0 else 1.0
    return Calibration(slope, -slope * threshold)

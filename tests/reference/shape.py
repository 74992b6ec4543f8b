"""Local shape of objects as its definition reads: the weighted moments of one object around one cell."""

from itertools import product

import numpy as np


def window_weights(width):
    """Two running means over `width` cells, one after the other: weight of every distance."""
    once = np.ones(width) / width
    twice = np.convolve(once, once)
    return {distance - (width - 1): weight for distance, weight in enumerate(twice)}


def shape_at(labels, place, widths, unit):
    """Share, offset, variances and correlations of the object at a cell; `unit` is the length of a cell."""
    weights = [window_weights(width) for width in widths]
    total, first, second = 0.0, np.zeros(3), np.zeros((3, 3))
    for offset in product(*(sorted(one) for one in weights)):
        other = tuple(p + o for p, o in zip(place, offset, strict=True))
        if any(not 0 <= p < size for p, size in zip(other, labels.shape, strict=True)):
            continue
        if labels[other] == labels[place]:
            weight = np.prod([one[o] for one, o in zip(weights, offset, strict=True)])
            at = np.array(offset, dtype=float)
            total, first, second = total + weight, first + weight * at, second + weight * np.outer(at, at)
    mean = first / total
    covariance = second / total - np.outer(mean, mean)
    variance = np.diag(covariance) + 1 / 12
    correlation = covariance / np.sqrt(np.outer(variance, variance))
    return np.array(
        [
            total,
            *(mean * unit),
            *(variance * np.square(unit)),
            *(correlation[a, b] for a, b in ((0, 1), (0, 2), (1, 2))),
        ]
    )

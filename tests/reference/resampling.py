"""Resampling as defined, one new voxel at a time."""

import math

import numpy as np


def plain_centre(index, ratio, size):
    """Where a new voxel lies among the old ones."""
    return min(max((index + 0.5) * ratio - 0.5, 0.0), size - 1.0)


def plain_weights(index, ratio, size):
    """A triangle as wide as the larger of both voxels, cut at the border."""
    centre, width = plain_centre(index, ratio, size), max(1.0, ratio)
    weights = [max(0.0, 1 - abs(old - centre) / width) for old in range(size)]
    return np.array(weights) / sum(weights)


def plain_image(image, ratios, shape):
    """Weighted means."""
    result = np.zeros(shape)
    for z, y, x in np.ndindex(*shape):
        along = [plain_weights(i, r, n) for i, r, n in zip((z, y, x), ratios, image.shape, strict=True)]
        result[z, y, x] = np.einsum("zyx,z,y,x", image.astype(float), *along)
    return result


def plain_labels(labels, ratios, shape):
    """The nearest voxel, the later one of two."""
    result = np.zeros(shape, labels.dtype)
    for place in np.ndindex(*shape):
        old = [
            math.floor(plain_centre(i, r, n) + 0.5)
            for i, r, n in zip(place, ratios, labels.shape, strict=True)
        ]
        result[place] = labels[tuple(old)]
    return result

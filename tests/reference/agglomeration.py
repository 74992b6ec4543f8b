"""Agglomeration by mean affinity as its definition reads: everything from the voxels, at every step."""

from itertools import product

import numpy as np


def faces(labels, affinities):
    """Every face: the two labels, smaller first, and the affinity; background takes no part."""
    for p in product(*(range(size) for size in labels.shape)):
        for axis in range(3):
            q = tuple(at - (i == axis) for i, at in enumerate(p))
            if q[axis] >= 0 and labels[p] and labels[q]:
                u, v = sorted((int(labels[p]), int(labels[q])))
                yield u, v, float(affinities[axis][p])


def affinities_between(labels, affinities):
    """Affinities of all faces between two labels, or inside one: {(u, v): [affinity]}."""
    found = {}
    for u, v, affinity in faces(labels, affinities):
        found.setdefault((u, v), []).append(affinity)
    return found


def mean_affinity_steps(labels, affinities):
    """Merge the pair of segments with the highest mean, again and again: [(1 - mean, labels after)]."""
    labels, steps = labels.copy(), []
    while True:
        contacts = affinities_between(labels, affinities)
        means = {pair: np.mean(values) for pair, values in contacts.items() if pair[0] != pair[1]}
        if not means:
            return steps
        u, v = max(means, key=means.get)
        steps.append((1 - means[u, v], labels := np.where(labels == v, u, labels)))

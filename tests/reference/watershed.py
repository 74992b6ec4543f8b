"""The watershed of Zlateski and Seung as its definition reads, on a dictionary of edges."""

from itertools import count, product
from math import inf

import numpy as np


def edges(affinities):
    """Every edge {(p, axis): (p, q)} between a voxel p and its neighbour q below it along an axis."""
    found = {}
    for p in product(*(range(size) for size in affinities.shape[1:])):
        for axis in range(3):
            if p[axis] > 0:
                found[p, axis] = p, tuple(at - (i == axis) for i, at in enumerate(p))
    return found


def steepest(affinities, low, high):
    """The neighbours that each voxel could ascend to: {voxel: {neighbour}}."""
    weights = {}
    for (p, axis), (_, q) in edges(affinities).items():
        affinity = affinities[axis][p]
        if affinity >= low:
            weight = inf if affinity >= high else affinity
            weights.setdefault(p, {})[q] = weights.setdefault(q, {})[p] = weight
    return {
        p: {q for q, weight in ways.items() if weight == max(ways.values())} for p, ways in weights.items()
    }


def distances(ways):
    """How far each voxel is from the nearest corner of its plateau, in steps on it; infinite on a peak."""
    distance = {p: 0 if any(p not in ways[q] for q in ways[p]) else inf for p in ways}
    for radius in count():
        reached = [p for p in ways if distance[p] == radius]
        if not reached:
            return distance
        for p in reached:
            for q in ways[p]:
                if p in ways[q]:
                    distance[q] = min(distance[q], radius + 1)


def basins(affinities, low, high):
    """Sets of voxels, each around one peak."""
    ways = steepest(affinities, low, high)
    distance = distances(ways)
    kept = {}
    for p in ways:
        if distance[p] == inf:
            kept[p] = ways[p]
        elif distance[p] == 0:
            kept[p] = {min(q for q in ways[p] if p not in ways[q])}
        else:
            kept[p] = {min(q for q in ways[p] if distance[q] == distance[p] - 1)}
    basin = {p: frozenset([p]) for p in ways}
    for p in ways:
        for q in kept[p]:
            joined = basin[p] | basin[q]
            basin.update(dict.fromkeys(joined, joined))
    return set(basin.values())


def merge_small(segments, affinities, lowest, limit):
    """Merge pairs of segments, strongest contact first, where one of the two is small."""
    segment = {p: members for members in segments for p in members}
    contacts = {}
    for (p, axis), (_, q) in edges(affinities).items():
        if p in segment and q in segment and segment[p] != segment[q]:
            pair = frozenset([segment[p], segment[q]])
            contacts[pair] = min(contacts.get(pair, (inf,)), (-affinities[axis][p], p, axis))
    for strength, p, axis in sorted(contacts.values()):
        _, q = edges(affinities)[p, axis]
        u, v = segment[p], segment[q]
        if -strength >= lowest and u != v and min(len(u), len(v)) < limit:
            segment.update(dict.fromkeys(u | v, u | v))
    return set(segment.values())


def watershed(affinities, low, high, merge, size):
    labels = np.zeros(affinities.shape[1:], dtype=np.int32)
    segments = merge_small(basins(affinities, low, high), affinities, merge, size)
    for label, members in enumerate(sorted(segments, key=min), start=1):
        for p in members:
            labels[p] = label
    return labels

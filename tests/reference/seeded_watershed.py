"""The watershed from seeds as its definition reads, voxel by voxel, on affinities in 256 levels."""

from heapq import heappop, heappush
from itertools import count, product
from math import ceil, exp, inf, sqrt

import numpy as np

from reference.watershed import merge_small


def voxels(shape):
    return list(product(*(range(n) for n in shape)))


def faces(levels, p):
    """The levels of the faces of a voxel and the voxels beyond, in the order −z, −y, −x, +x, +y, +z."""
    found = []
    for axis, step in ((0, -1), (1, -1), (2, -1), (2, 1), (1, 1), (0, 1)):
        q = tuple(at + step * (i == axis) for i, at in enumerate(p))
        if 0 <= q[axis] < levels.shape[axis + 1]:
            found.append((int(levels[axis][p if step < 0 else q]), q))
    return found


def mean_levels(levels):
    """The mean level of the faces of every voxel, in sixtieths: whole for one to six faces."""
    means = []
    for p in voxels(levels.shape[1:]):
        own = [level for level, _ in faces(levels, p)]
        means.append(sum(own) * 60 // len(own) if own else 0)
    return means


def inside(levels, foreground):
    """Which voxels have faces with a mean level above the threshold, or above the lower median."""
    means = dict(zip(voxels(levels.shape[1:]), mean_levels(levels), strict=True))
    median = sorted(means.values())[ceil(len(means) / 2) - 1]
    threshold = min(foreground * 60 * 255, median)
    return {p for p, mean in means.items() if mean > threshold}


def distances(shape, within, size_nm):
    """How far each voxel is from the nearest one that is not inside."""
    outside = [p for p in voxels(shape) if p not in within]
    return {
        p: sqrt(
            min(
                (sum((w * (a - b)) ** 2 for w, a, b in zip(size_nm, p, q, strict=True)) for q in outside),
                default=inf,
            )
        )
        for p in voxels(shape)
    }


def smoothed(values, axis, sigma, n):
    """Average along an axis with the weights of a Gaussian, up to three standard deviations away."""
    r = int(3 * sigma)
    weights = [exp(-0.5 * (i / sigma) ** 2) for i in range(-r, r + 1)] if r else [1.0]
    total = float(np.sum(weights))
    out = {}
    for p in values:
        value = 0.0
        for i, weight in enumerate(weights):
            q = list(p)
            q[axis] = min(max(q[axis] + i - r, 0), n - 1)
            value += weight / total * float(values[tuple(q)])
        out[p] = np.float32(value)
    return out


def heights(levels, size_nm, s):
    """Smoothed distances inside, 0 outside."""
    shape = levels.shape[1:]
    within = inside(levels, s.foreground)
    far = distances(shape, within, size_nm)
    values = {p: np.float32(min(d, s.reach_nm)) for p, d in far.items()}
    for axis in range(3):
        values = smoothed(values, axis, s.smoothing_nm / size_nm[axis], shape[axis])
    return {p: value if p in within else np.float32(0) for p, value in values.items()}


def seeds(values, radii):
    """Sets of voxels that are the highest in their window, joined where they touch; by first voxels."""

    def is_near(p, q, reach):
        return all(abs(a - b) <= r for a, b, r in zip(p, q, reach, strict=True))

    maxima = [
        p
        for p, value in values.items()
        if value > 0 and all(values[q] <= value for q in values if is_near(p, q, radii))
    ]
    sets = {p: frozenset([p]) for p in maxima}
    for p in maxima:
        for q in maxima:
            if is_near(p, q, (1, 1, 1)) and sets[p] != sets[q]:
                joined = sets[p] | sets[q]
                sets.update(dict.fromkeys(joined, joined))
    return sorted(set(sets.values()), key=min)


def flooded(levels, starts):
    """Let the sets grow: of all labelled voxels the one with the highest lowest face, the oldest first."""
    lowest = {p: min((level for level, _ in faces(levels, p)), default=255) for p in voxels(levels.shape[1:])}
    labels = {p: index for index, members in enumerate(starts) for p in members}
    age, queue = count(), []
    for p in sorted(labels):
        heappush(queue, (-lowest[p], next(age), p))
    while queue:
        *_, p = heappop(queue)
        for _, q in faces(levels, p):
            if q not in labels:
                labels[q] = labels[p]
                heappush(queue, (-lowest[q], next(age), q))
    return {frozenset(p for p in labels if labels[p] == index) for index in range(len(starts))}


def cut(levels, size_nm, s):
    """One piece: a volume, or a section of it."""
    shape = levels.shape[1:]
    radii = [max(1, round(s.separation_nm / size)) for size in size_nm]
    pieces = flooded(levels, seeds(heights(levels, size_nm, s), radii))
    limit = 1.0
    for n, size in zip(shape, size_nm, strict=True):
        limit *= s.smallest_nm / size if n > 1 else 1
    return sorted(merge_small(pieces, levels.astype(int), 0, round(limit)), key=min)


def seeded_watershed(levels, size_nm, s):
    """Labels in the order of pieces and first voxels; 0 where there is no seed."""
    labels = np.zeros(levels.shape[1:], dtype=np.int32)
    n = 0
    is_coarse = size_nm[0] >= 3 * max(size_nm[1:])
    for z in range(len(labels)) if is_coarse else [slice(None)]:
        part = slice(z, z + 1) if is_coarse else z
        for members in cut(levels[:, part], size_nm, s):
            n += 1
            for p in members:
                labels[part][p] = n
    return labels

"""How a supervoxel falls apart between seeds, voxel by voxel."""

from heapq import heappop, heappush
from itertools import count, product
from math import sqrt


def neighbours(p):
    """In the order −z, −y, −x, +x, +y, +z."""
    for axis, step in ((0, -1), (1, -1), (2, -1), (2, 1), (1, 1), (0, 1)):
        yield axis, step, tuple(at + step * (i == axis) for i, at in enumerate(p))


def depths(labels, own, affinities, size_nm):
    """How deep each voxel of a supervoxel lies, in 256 steps; 0 at a low affinity inside it."""
    voxels = list(product(*(range(n) for n in labels.shape)))
    inside = [p for p in voxels if labels[p] == own]
    shallow = {p for p in voxels if labels[p] != own}
    # What lies further away than the first layer around the supervoxel is never nearest.
    shallow = {
        p for p in shallow if any(all(abs(a - b) <= 1 for a, b in zip(p, q, strict=True)) for q in inside)
    }
    if affinities is not None:
        for p in inside:
            for axis, step, q in neighbours(p):
                face = (axis, *(p if step < 0 else q))
                if q in set(inside) and affinities[face] < 0.5:
                    shallow.add(p)
    far = {
        p: sqrt(min(sum((w * (a - b)) ** 2 for w, a, b in zip(size_nm, p, q, strict=True)) for q in shallow))
        if shallow
        else 0.0
        for p in inside
    }
    highest = max(far.values())
    return {p: round(d * (255 / highest)) if highest else 0 for p, d in far.items()}


def parts(levels, first, second):
    """The voxels of the two sides: of all at hand the deepest spreads, the oldest first."""
    side = dict.fromkeys(first, "first") | dict.fromkeys(second, "second")
    age, queue = count(), []
    for p in sorted(side):
        heappush(queue, (-levels[p], next(age), p))
    while queue:
        *_, p = heappop(queue)
        for _, _, q in neighbours(p):
            if q in levels and q not in side:
                side[q] = side[p]
                heappush(queue, (-levels[q], next(age), q))
    found = [{p for p in side if side[p] == name} for name in ("first", "second")]
    larger = found[0] if len(found[0]) >= len(found[1]) else found[1]
    larger |= set(levels) - set(side)
    return found

"""Contacts of a label volume with their affinities, face by face, by id."""

from itertools import product

EDGES = [0, 0.01, 0.03, 0.06, 0.1, 0.16, 0.25, 0.37, 0.5, 0.63, 0.75, 0.84, 0.9, 0.94, 0.97, 0.99, 1.0]
UNITS = 2**36


def histogram_bin(affinity):
    """The bin of an affinity, which is first rounded to steps of 1/255."""
    level = int(affinity * 255.0 + 0.5) / 255
    return max(i for i in range(len(EDGES) - 1) if level >= EDGES[i] or i == 0)


def faces(labels):
    """All faces between neighbours: axis, the upper voxel, the lower one."""
    for p in product(*(range(n) for n in labels.shape)):
        for axis in range(3):
            if p[axis] > 0:
                yield axis, p, tuple(at - (i == axis) for i, at in enumerate(p))


def contacts(labels, affinities):
    """By pair of ids: area, sum of positions, sums of affinities, their histogram, lowest and highest."""
    scale = 1.0 / 255.0 if affinities.dtype == "uint8" else 1.0
    found = {}
    for axis, p, q in faces(labels):
        u, v = sorted((int(labels[p]), int(labels[q])))
        if u == 0 or u == v:
            continue
        affinity = float(affinities[axis][p]) * scale
        one = found.setdefault((u, v), [0, [0.0] * 3, 0, 0, [0] * (len(EDGES) - 1), affinity, affinity])
        one[0] += 1
        for i in range(3):
            one[1][i] += (p[i] + q[i]) / 2
        one[2] += int(affinity * UNITS + 0.5)
        one[3] += int(affinity * affinity * UNITS + 0.5)
        one[4][histogram_bin(affinity)] += 1
        one[5], one[6] = min(one[5], affinity), max(one[6], affinity)
    return found


def inside(labels, affinities):
    """By id: faces within it, and the sum of their affinities."""
    scale = 1.0 / 255.0 if affinities.dtype == "uint8" else 1.0
    found = {}
    for axis, p, q in faces(labels):
        if labels[p] and labels[p] == labels[q]:
            one = found.setdefault(int(labels[p]), [0, 0])
            one[0] += 1
            one[1] += int(float(affinities[axis][p]) * scale * UNITS + 0.5)
    return found

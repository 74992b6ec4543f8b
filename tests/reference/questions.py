"""Questions the plain way: every cut is tried on sets of supervoxels, every formula is written out."""

from __future__ import annotations

from math import log2


def tree_merges(order, ends):
    """Actions that joined two sets when they were taken, in order; `ends` gives the two supervoxels."""
    group = {}
    found = []
    for action in order:
        u, v = ends[action]
        a, b = group.setdefault(u, {u}), group.setdefault(v, {v})
        if a is not b:
            found.append(action)
            joined = a | b
            for one in joined:
                group[one] = joined
    return found


def sides(tree, ends, merge):
    """The two sets that are left when one merge of the trees is taken out."""
    found = []
    for start in ends[merge]:
        reached, waiting = {start}, [start]
        while waiting:
            here = waiting.pop()
            for other in tree:
                if other != merge and here in ends[other]:
                    there = ends[other][0] if ends[other][1] == here else ends[other][1]
                    if there not in reached:
                        reached.add(there)
                        waiting.append(there)
        found.append(reached)
    return found


def seam_area(ends, area, one, two):
    """Faces between two sets."""
    between = ((u in one and v in two) or (u in two and v in one) for u, v in ends)
    return sum(faces for faces, is_between in zip(area, between, strict=True) if is_between)


def share_between(one, two, sizes):
    """What lies between two seams, each given as two sets, as a share of the smaller part beyond them."""
    if not any(a & b for a in one for b in two):
        return 1.0
    # Of each seam one side does not hold the other seam: those two do not touch, and the rest is between.
    apart = [(a, b) for a in one for b in two if not a & b]
    if not apart:
        return 0.0
    a, b = apart[0]

    def voxels(supervoxels):
        return sum(int(sizes[one]) for one in supervoxels)

    between = voxels(one[0] | one[1]) - voxels(a) - voxels(b)
    return min(1.0, between / min(voxels(a), voxels(b)))


def vi_change(a, b, n):
    """Entropy of the sizes of two parts, weighted by their share of the volume, in bits."""
    total = a + b
    return total / n * -sum(part / total * log2(part / total) for part in (a, b) if part)


def still_wrong(wrong, slips):
    """Probability that something is wrong although a person said that it is right (Bayes)."""
    said_right_by_mistake = wrong * slips
    said_right = said_right_by_mistake + (1 - wrong) * (1 - slips)
    return said_right_by_mistake / said_right


def order_of(gains, places, start, close):
    """Again and again the best question, or one nearly as good that lies nearer to the last one."""
    left = sorted(range(len(gains)), key=lambda i: (-gains[i], i))
    order, here = [], start
    while left:
        best = gains[left[0]]
        if here is None:
            choice = left[0]
        else:
            near = [i for i in left if gains[i] >= best * (1 - close)]
            choice = min(
                near,
                key=lambda i: (
                    sum((a - b) ** 2 for a, b in zip(places[i], here, strict=True)),
                    near.index(i),
                ),
            )
        order.append(choice)
        here = places[choice]
        left.remove(choice)
    return order

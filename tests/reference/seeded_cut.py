"""The weakest cut between seeds by trying every way to part the nodes."""

from itertools import product


def weakest_first_side(n, edges, first, second):
    """Weight of the weakest cut, and the nodes that are on the first side in every cut of that weight.

    edges : list of (u, v, strength)
    """
    best, common = None, None
    for sides in product((True, False), repeat=n):
        if not all(sides[node] for node in first) or any(sides[node] for node in second):
            continue
        weight = sum(strength for u, v, strength in edges if sides[u] != sides[v])
        own = {node for node in range(n) if sides[node]}
        if best is None or weight < best:
            best, common = weight, own
        elif weight == best:
            common &= own
    return best, common

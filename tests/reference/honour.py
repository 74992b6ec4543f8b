"""Segments after answers, slow and plain: sets of supervoxels, joined one pair at a time."""


def honoured(segment, pairs, answers):
    """Return the partition after answers as a set of frozensets.

    segment: segment per supervoxel, the first being background; pairs: (score, u, v) of all that touch;
    answers: (kind, u, v), each pair once.
    """
    apart = [{u, v} for kind, u, v in answers if kind == "keep-apart"]
    joins = [(u, v) for kind, u, v in answers if kind == "merge"]
    joins += [(u, v) for _, u, v in sorted(pairs, key=lambda pair: pair[0]) if segment[u] == segment[v] != 0]
    groups = {frozenset([one]) for one in range(len(segment))}
    for u, v in joins:
        a = next(group for group in groups if u in group)
        b = next(group for group in groups if v in group)
        if a != b and not any(pair <= a | b for pair in apart):
            groups = (groups - {a, b}) | {a | b}
    return groups

"""Which step of a merge tree made two supervoxels one: the segments are followed step by step."""


def joining_scores(ids, joins, pairs):
    """By pair, the score of the step after which one set holds both; joins are (vanished, kept, score)."""
    sets = {one: {one} for one in ids}
    found = {}
    for vanished, kept, score in joins:
        sets[kept] |= sets.pop(vanished)
        for u, v in pairs:
            if (u, v) not in found and any(u in members and v in members for members in sets.values()):
                found[u, v] = score
    return [found[pair] for pair in pairs]

"""How the decisions of blocks are joined, pair by pair and merge by merge, on sets of supervoxels."""

from reference.honour import honoured


def tally(votes, rule):
    """By pair: whether it is merged, whether blocks disagree, faces, sum of the scores of its faces."""
    rows = {}
    for u, v, merged, score, owned in votes:
        rows.setdefault((u, v), []).append((merged, score, owned))
    found = {}
    for pair, said in rows.items():
        opinions = [merged for merged, _, _ in said]
        if rule == "owner":
            most = max(owned for _, _, owned in said)
            opinions = [merged for merged, _, owned in said if owned == most]
        is_merged = any(opinions) if rule == "any" else all(opinions)
        is_disputed = len({merged for merged, _, _ in said}) == 2
        held = [(score, owned) for _, score, owned in said if owned]
        found[pair] = is_merged, is_disputed, sum(o for _, o in held), sum(s * o for s, o in held)
    return found


def mean_of(one):
    return one[3] / max(one[2], 1)


def joined(n, edges):
    """Join edges one by one."""
    sets = {i: frozenset([i]) for i in range(1, n + 1)}
    for u, v in edges:
        both = sets[u] | sets[v]
        sets.update(dict.fromkeys(both, both))
    return sets


def reconcile(n, votes, rule, threshold, answers=()):
    """The sets of supervoxels that are segments: what the blocks make of the volume, then what people say."""
    pairs = tally(votes, rule)
    segments = sorted(from_blocks(n, pairs, threshold), key=min)
    named = [0] + [next(k for k, one in enumerate(segments, 1) if i in one) for i in range(1, n + 1)]
    touching = [(mean_of(one), *pair) for pair, one in sorted(pairs.items())]
    return {one for one in honoured(named, touching, answers) if one != {0}}


def from_blocks(n, pairs, threshold):
    """The sets of supervoxels that the blocks make, whatever people say."""
    agreed = [p for p in pairs if pairs[p][0]]
    sets = joined(n, agreed)
    # A set that holds a pair which is not merged and on the whole bad is decided anew.
    bad = {
        sets[u]
        for (u, v), one in pairs.items()
        if sets[u] == sets[v] and not one[0] and one[2] and mean_of(one) >= threshold
    }
    is_open = {p for p in pairs if pairs[p][1] or (pairs[p][0] and sets[p[0]] in bad)}
    sets = joined(n, [p for p in agreed if sets[p[0]] not in bad])
    while True:
        contacts = {}
        for (u, v), one in pairs.items():
            if sets[u] != sets[v]:
                key = frozenset([sets[u], sets[v]])
                total = contacts.setdefault(key, [0.0, 0, False])
                total[0] += one[3]
                total[1] += one[2]
                total[2] |= (u, v) in is_open
        best = None
        for key, (total, area, open_) in contacts.items():
            both = frozenset().union(*key)
            score = total / max(area, 1)
            if open_ and area and score < threshold:
                best = min(best or (score, both), (score, both), key=lambda one: one[0])
        if best is None:
            return set(sets.values())
        sets.update(dict.fromkeys(best[1], best[1]))

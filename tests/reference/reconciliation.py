"""How the decisions of blocks are joined, pair by pair and merge by merge, on sets of supervoxels."""


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


def joined(n, edges, apart):
    """Join edges one by one, leaving out those that would put what is kept apart into one set."""
    sets = {i: frozenset([i]) for i in range(1, n + 1)}
    for u, v in edges:
        both = sets[u] | sets[v]
        if sets[u] != sets[v] and not any(a in both and b in both for a, b in apart):
            sets.update(dict.fromkeys(both, both))
    return sets


def reconcile(n, votes, rule, threshold, answers=()):
    """The sets of supervoxels that are segments."""
    pairs = tally(votes, rule)
    must = [(u, v) for kind, u, v in answers if kind == "merge"]
    apart = [(u, v) for kind, u, v in answers if kind == "keep-apart"]
    agreed = sorted((p for p in pairs if pairs[p][0]), key=lambda p: (mean_of(pairs[p]), p))
    sets = joined(n, must + agreed, apart)
    # A set that holds a pair which is not merged and on the whole bad is decided anew, but for answers.
    bad = {
        sets[u]
        for (u, v), one in pairs.items()
        if sets[u] == sets[v] and not one[0] and one[2] and mean_of(one) >= threshold
    }
    certain = [p for p in agreed if sets[p[0]] not in bad]
    is_open = {p for p in pairs if pairs[p][1] or (pairs[p][0] and sets[p[0]] in bad)}
    sets = joined(n, must + certain, apart)
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
            if open_ and area and score < threshold and not any(a in both and b in both for a, b in apart):
                best = min(best or (score, both), (score, both), key=lambda one: one[0])
        if best is None:
            return set(sets.values())
        sets.update(dict.fromkeys(best[1], best[1]))

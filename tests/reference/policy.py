"""What a policy sees of an action, from the faces of the volume and the centres that the action changes."""

import math

import numpy as np

from reference.agglomeration import affinities_between

AFFINITY_EDGES = np.array(
    [0, 0.01, 0.03, 0.06, 0.1, 0.16, 0.25, 0.37, 0.5, 0.63, 0.75, 0.84, 0.9, 0.94, 0.97, 0.99, 1.0]
)
SHARES = (0.1, 0.25, 0.5, 0.75, 0.9)


def bins_of(values):
    """Find the bin of the histogram that each affinity falls into."""
    levels = np.floor(np.asarray(values, dtype=np.float64) * 255 + 0.5) / 255
    return np.clip(np.searchsorted(AFFINITY_EDGES, levels, side="right") - 1, 0, len(AFFINITY_EDGES) - 2)


def quantile(values, share):
    """Read a quantile off the histogram of the affinities, along straight lines inside its bins."""
    bins = bins_of(values)
    wanted, seen = share * len(values), 0
    for place in range(len(AFFINITY_EDGES) - 1):
        n = int((bins == place).sum())
        if seen + n >= wanted:
            low, high = AFFINITY_EDGES[place], AFFINITY_EDGES[place + 1]
            return low + (high - low) * (wanted - seen) / max(n, 1)
        seen += n
    raise AssertionError("shares are below 1")


def summary(values):
    """Mean, standard deviation and quantiles; zeros if there is nothing."""
    if not len(values):
        return np.zeros(2 + len(SHARES))
    return np.array([np.mean(values), np.std(values), *(quantile(values, share) for share in SHARES)])


def histogram(values):
    """Share of the values in each bin."""
    counts = np.bincount(bins_of(values), minlength=len(AFFINITY_EDGES) - 1) if len(values) else np.zeros(16)
    return counts / max(len(values), 1)


def divergence(p, q):
    """Jensen-Shannon divergence in bits, as the entropy of the mean less the mean of the entropies."""

    def entropy(shares):
        return -sum(share * math.log2(share) for share in shares if share > 0)

    return entropy((p + q) / 2) - (entropy(p) + entropy(q)) / 2


def contact_features(contact, size, surface, inside):
    """Describe a contact by all its faces; of the two segments the smaller comes first."""
    summaries = [summary(values) for values in (contact, *inside)]
    scalars = [
        math.log(len(contact)),
        min(contact),
        max(contact),
        math.log(size[0]),
        math.log(size[1]),
        len(contact) / surface[0],
        len(contact) / surface[1],
        len(contact) / size[0] ** (2 / 3),
        divergence(*(histogram(values) for values in inside)),
    ]
    differences = [summaries[1] - summaries[0], summaries[2] - summaries[0], abs(summaries[1] - summaries[2])]
    return np.concatenate([scalars, histogram(contact), *summaries, *differences])


def policy_features(agglomerator, affinities, action):
    """Describe one action between two segments, and their contact."""
    dense, table = agglomerator.supervoxels.dense, agglomerator.actions
    owner = agglomerator.segment_ids()
    names = owner[table.u[action]], owner[table.v[action]]
    size = {name: int((owner[dense] == name).sum()) for name in names}
    smaller, larger = sorted(names, key=lambda name: (size[name], name))
    contact, surface, inside = [], {smaller: 0, larger: 0}, {smaller: [], larger: []}
    for (u, v), values in affinities_between(dense, affinities).items():
        ends = {owner[u], owner[v]}
        if ends == set(names):
            contact += values
        for name in ends & set(names):
            if u == v:
                inside[name] += values
            if len(ends) == 2:
                surface[name] += len(values)
    energies = [
        found.changes.sum() / max(len(found.changes), 1) ** 0.5
        for found in agglomerator.scoring.by_centre(action)
    ]
    quantiles = [quantile(contact, share) for share in SHARES]
    enclosed = len(contact) / surface[smaller]
    decisive = [np.mean(contact), *quantiles, np.log(len(contact)), enclosed]
    ends = [smaller, larger]
    whole = contact_features(contact, *([of[name] for name in ends] for of in (size, surface, inside)))
    return np.concatenate([decisive, energies]), whole

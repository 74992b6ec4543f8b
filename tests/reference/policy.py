"""What a policy sees of an action, from the faces of the volume and the centres that the action changes."""

import numpy as np

from napari_celis.core.contact_features import ContactRows, contact_features
from napari_celis.core.contacts import BIN_EDGES as AFFINITY_EDGES
from reference.agglomeration import affinities_between


def bins_of(values):
    """Find the bin of the histogram that each affinity falls into."""
    levels = np.floor(np.asarray(values, dtype=np.float64) * 255 + 0.5) / 255
    return np.clip(np.searchsorted(AFFINITY_EDGES, levels, side="right") - 1, 0, len(AFFINITY_EDGES) - 2)


def affinity_sums(values):
    """Count, sum, sum of squares and histogram."""
    values = np.asarray(values, dtype=np.float64)
    histogram = np.bincount(bins_of(values), minlength=len(AFFINITY_EDGES) - 1)
    return np.concatenate([[len(values), values.sum(), (values**2).sum()], histogram])


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
    rows = ContactRows(
        affinity_sums(contact)[None],
        np.array([min(contact)]),
        np.array([max(contact)]),
        np.array([[size[smaller]], [size[larger]]], dtype=np.float64),
        np.array([[surface[smaller]], [surface[larger]]], dtype=np.float64),
        np.array([[affinity_sums(inside[smaller])], [affinity_sums(inside[larger])]]),
    )
    energies = [
        found.changes.sum() / max(len(found.changes), 1) ** 0.5
        for found in agglomerator.scores_by_centre(action)
    ]
    quantiles = [quantile(contact, share) for share in (0.1, 0.25, 0.5, 0.75, 0.9)]
    enclosed = len(contact) / surface[smaller]
    decisive = [np.mean(contact), *quantiles, np.log(len(contact)), enclosed]
    return np.concatenate([decisive, energies]), contact_features(rows)[0]

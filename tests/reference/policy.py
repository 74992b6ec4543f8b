"""What a policy sees of an action, from the faces of the volume and the centres that the action changes."""

import numpy as np

from napari_celis.core.contacts import BIN_EDGES as AFFINITY_EDGES
from reference.agglomeration import affinities_between


def quantile(values, share):
    """Read a quantile off the histogram of the affinities, along straight lines inside its bins."""
    levels = np.floor(np.asarray(values) * 255 + 0.5) / 255
    bins = np.clip(np.searchsorted(AFFINITY_EDGES, levels, side="right") - 1, 0, len(AFFINITY_EDGES) - 2)
    wanted, seen = share * len(values), 0
    for place in range(len(AFFINITY_EDGES) - 1):
        n = int((bins == place).sum())
        if seen + n >= wanted:
            low, high = AFFINITY_EDGES[place], AFFINITY_EDGES[place + 1]
            return low + (high - low) * (wanted - seen) / max(n, 1)
        seen += n
    raise AssertionError("shares are below 1")


def policy_features(agglomerator, affinities, action):
    """Describe one action between two segments."""
    dense, table = agglomerator.supervoxels.dense, agglomerator.actions
    owner = agglomerator.segment_ids()
    names = owner[table.u[action]], owner[table.v[action]]
    size = {name: int((owner[dense] == name).sum()) for name in names}
    smaller = min(names, key=lambda name: (size[name], name))
    contact, surface = [], 0
    for (u, v), values in affinities_between(dense, affinities).items():
        ends = {owner[u], owner[v]}
        if ends == set(names):
            contact += values
        if len(ends) == 2 and smaller in ends:
            surface += len(values)
    means = [
        found.changes.mean() if len(found.changes) else 0.0 for found in agglomerator.scores_by_centre(action)
    ]
    quantiles = [quantile(contact, share) for share in (0.1, 0.25, 0.5, 0.75, 0.9)]
    return np.array([np.mean(contact), *quantiles, np.log(len(contact)), len(contact) / surface, *means])

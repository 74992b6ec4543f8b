"""What a policy sees of an action, from the faces of the volume and the centres that the action changes."""

import numpy as np

from napari_celis.core.contact_features import ContactRows, contact_features
from napari_celis.core.contacts import BIN_EDGES as AFFINITY_EDGES
from reference.agglomeration import affinities_between


def affinity_sums(values):
    """Count, sum, sum of squares and histogram."""
    values = np.asarray(values, dtype=np.float64)
    levels = np.floor(values * 255 + 0.5) / 255
    bins = np.clip(np.searchsorted(AFFINITY_EDGES, levels, side="right") - 1, 0, len(AFFINITY_EDGES) - 2)
    histogram = np.bincount(bins, minlength=len(AFFINITY_EDGES) - 1)
    return np.concatenate([[len(values), values.sum(), (values**2).sum()], histogram])


def policy_features(agglomerator, affinities, action):
    """Describe one action between two segments."""
    dense, table = agglomerator.supervoxels.dense, agglomerator.actions
    owner = agglomerator.segment_ids()
    names = owner[table.u[action]], owner[table.v[action]]
    size = {name: int((owner[dense] == name).sum()) for name in names}
    small, large = sorted(names, key=lambda name: (size[name], name))
    contact, surface, inside = [], {small: 0, large: 0}, {small: [], large: []}
    for (u, v), values in affinities_between(dense, affinities).items():
        a, b = owner[u], owner[v]
        if {a, b} == {small, large}:
            contact += values
        for name in (small, large):
            if u == v and a == name:
                inside[name] += values
            if a != b and name in (a, b):
                surface[name] += len(values)
    rows = ContactRows(
        affinity_sums(contact)[None],
        np.array([min(contact)]),
        np.array([max(contact)]),
        np.array([[size[small]], [size[large]]], dtype=np.float64),
        np.array([[surface[small]], [surface[large]]], dtype=np.float64),
        np.array([[affinity_sums(inside[small])], [affinity_sums(inside[large])]]),
    )
    means = [
        found.changes.mean() if len(found.changes) else 0.0 for found in agglomerator.scores_by_centre(action)
    ]
    return np.concatenate([contact_features(rows)[0], means])

"""After any sequence of operations every score equals recomputation from the definition."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.problems import problems
from napari_celis.core import buffers
from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.errors import ActionError
from napari_celis.core.supervoxels import Supervoxels
from reference.energy import Reference

OPERATIONS = ("step", "merge", "undo", "redo", "keep apart", "allow", "cut")


def ids_of(agglomerator, action):
    ids = agglomerator.supervoxels.ids
    return int(ids[agglomerator.actions.u[action]]), int(ids[agglomerator.actions.v[action]])


def operate(agglomerator, operation, choice):
    """Do one operation on a chosen action; refusals are part of the game."""
    pair = ids_of(agglomerator, choice % len(agglomerator.actions))
    taken = np.flatnonzero(agglomerator.taken())
    try:
        if operation == "step":
            agglomerator.step(threshold=0.5)
        elif operation == "merge":
            agglomerator.merge(*pair)
        elif operation == "undo":
            agglomerator.undo()
        elif operation == "redo":
            agglomerator.redo()
        elif operation == "keep apart":
            agglomerator.keep_apart(*pair)
        elif operation == "allow" and agglomerator.constraints:
            agglomerator.allow(*agglomerator.constraints[choice % len(agglomerator.constraints)])
        elif operation == "cut" and len(taken):
            agglomerator.cut(*ids_of(agglomerator, taken[choice % len(taken)]))
    except ActionError:
        pass


def taken_pairs(agglomerator):
    return {frozenset(ids_of(agglomerator, action)) for action in np.flatnonzero(agglomerator.taken())}


def segments_by_definition(labels, taken):
    parent = {int(u): int(u) for u in np.unique(labels)}

    def root(u):
        while parent[u] != u:
            u = parent[u]
        return u

    for u, v in taken:
        parent[root(u)] = root(v)
    groups = {}
    for u in parent:
        groups.setdefault(root(u), set()).add(u)
    return {frozenset(group) for group in groups.values() if 0 not in group}


def segments_of(agglomerator):
    groups = {}
    for supervoxel, segment in zip(
        agglomerator.supervoxels.ids[1:], agglomerator.segment_ids()[1:], strict=True
    ):
        groups.setdefault(int(segment), set()).add(int(supervoxel))
    assert all(name in group for name, group in groups.items())
    return {frozenset(group) for group in groups.values()}


def assert_exact(agglomerator, reference, labels):
    taken = taken_pairs(agglomerator)
    energy = reference.energy(taken)
    assert agglomerator.energy == pytest.approx(energy, rel=1e-9, abs=1e-9)
    np.testing.assert_allclose(agglomerator.scores(), reference.scores(taken), rtol=1e-9, atol=1e-9)
    by_spec = np.array(
        [sum(agglomerator.scoring.by_spec(a).values()) for a in range(len(agglomerator.actions))]
    )
    np.testing.assert_allclose(by_spec, agglomerator.scores(), rtol=1e-12, atol=1e-12)
    assert segments_of(agglomerator) == segments_by_definition(labels, taken)
    for a, b in agglomerator.constraints:
        segment = dict(
            zip(agglomerator.supervoxels.ids.tolist(), agglomerator.segment_ids().tolist(), strict=True)
        )
        assert segment[a] != segment[b]


@pytest.mark.kernels
@settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    problems(),
    st.lists(st.tuples(st.sampled_from(OPERATIONS), st.integers(0, 10**6)), max_size=8),
    st.sampled_from([buffers.MATRIX_ENTRIES, 1]),
)
def test_every_score_equals_the_definition_after_any_operations(problem, operations, matrix_entries):
    labels, specs, energy = problem
    reference = Reference(labels, specs, energy.local)
    with (
        # Regions with very many components look pairs up in a hash table instead of a matrix.
        patch.object(buffers, "MATRIX_ENTRIES", matrix_entries),
        Agglomerator(Supervoxels.from_labels(labels), specs, energy, threads=1) as agglomerator,
    ):
        ids = [ids_of(agglomerator, action) for action in range(len(agglomerator.actions))]
        assert ids == reference.actions
        if not ids:
            return
        assert_exact(agglomerator, reference, labels)
        for operation, choice in operations:
            operate(agglomerator, operation, choice)
            assert_exact(agglomerator, reference, labels)

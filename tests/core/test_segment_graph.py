"""The segment graph equals the plain one after any operations, and undoing them is exact to the bit."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.problems import random_labels
from napari_celis.core.actions import ActionTable
from napari_celis.core.segment_graph import SegmentGraph
from napari_celis.core.supervoxels import Supervoxels
from reference.segment_graph import PlainGraph

pytestmark = pytest.mark.kernels


def assert_equal(graph, plain):
    """Compare everything that can be asked."""
    arrays = graph.arrays
    assert graph.segment.tolist() == plain.segment
    assert (arrays.mark == -1).all()
    names = {name for name in plain.segment if name > 0}
    assert graph.n_segments == len(names)
    contacts, by_segment = {}, {}
    for contact in graph.open_contacts().tolist():
        pair = frozenset(arrays.ends[contact].tolist())
        assert pair not in contacts
        actions = graph.actions_of(contact)
        contacts[pair] = sorted(actions.tolist())
        assert (arrays.contact_of[actions] == contact).all()
        assert arrays.lowest_action[contact] == actions.min()
        assert arrays.area[contact] == sum(plain.area[action] for action in actions)
        for name in pair:
            by_segment.setdefault(name, set()).add(contact)
    assert contacts == plain.contacts()
    for name in names:
        assert set(graph.members_of(name).tolist()) == plain.members(name)
        assert arrays.voxels[name] == plain.voxels(name)
        assert arrays.surface[name] == plain.surface(name)
        own = graph.contacts_of(name).tolist()
        assert len(own) == len(set(own))
        assert set(own) == by_segment.get(name, set())
    closed = np.flatnonzero(~arrays.is_open[arrays.contact_of])
    ends = np.array(plain.segment)[np.array(plain.ends, dtype=int).reshape(-1, 2)]
    assert set(closed.tolist()) == set(np.flatnonzero(ends[:, 0] == ends[:, 1]).tolist())


def state_of(graph):
    return graph.n_segments, [array.copy() for array in graph.arrays]


def assert_same_bits(state, graph):
    n_segments, arrays = state
    assert graph.n_segments == n_segments
    for before, now in zip(arrays, graph.arrays, strict=True):
        np.testing.assert_array_equal(before, now)


def make(seed, n_supervoxels, shape=(5, 6, 7)):
    rng = np.random.default_rng(seed)
    supervoxels = Supervoxels.from_labels(random_labels(rng, shape, n_supervoxels, 0.1))
    return supervoxels, ActionTable.from_supervoxels(supervoxels)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.integers(0, 2**31),
    st.integers(2, 16),
    st.lists(
        st.tuples(st.sampled_from(["join", "join", "split", "undo"]), st.integers(0, 10**6)), max_size=14
    ),
)
def test_it_equals_the_plain_graph_after_any_operations(seed, n_supervoxels, operations):
    supervoxels, actions = make(seed, n_supervoxels)
    graph = SegmentGraph(actions, supervoxels.sizes)
    plain = PlainGraph(actions.u, actions.v, actions.area, supervoxels.sizes)
    done = []
    for operation, choice in operations:
        before = state_of(graph), list(plain.segment)
        contacts = graph.open_contacts()
        large = [name for name in set(plain.segment) - {0} if len(plain.members(name)) > 1]
        if operation == "join" and len(contacts):
            contact = int(contacts[choice % len(contacts)])
            pair = graph.arrays.ends[contact].tolist()
            joined = graph.join(contact)
            plain.join(pair)
            assert {joined.kept, joined.absorbed} == set(pair)
            done.append((graph.unjoin, joined, before))
        elif operation == "split" and large:
            name = sorted(large)[choice % len(large)]
            leaving = sorted(plain.members(name) - {name})
            moved = np.array([one for i, one in enumerate(leaving) if (choice >> i) & 1] or leaving[:1])
            done.append((graph.unsplit, graph.split(name, moved, int(moved[0])), before))
            plain.split(moved.tolist(), int(moved[0]))
        elif operation == "undo" and done:
            take_back, entry, (bits, segment) = done.pop()
            take_back(entry)
            plain.segment = segment
            assert_same_bits(bits, graph)
        assert_equal(graph, plain)
    while done:
        take_back, entry, (bits, _) = done.pop()
        take_back(entry)
        assert_same_bits(bits, graph)


def test_it_begins_with_given_segments():
    supervoxels, actions = make(3, 12)
    first = SegmentGraph(actions, supervoxels.sizes)
    plain = PlainGraph(actions.u, actions.v, actions.area, supervoxels.sizes)
    for _ in range(4):
        contact = int(first.open_contacts()[0])
        plain.join(first.arrays.ends[contact].tolist())
        first.join(contact)
    assert_equal(SegmentGraph(actions, supervoxels.sizes, first.segment), plain)


def test_one_supervoxel_has_no_contact():
    labels = np.ones((2, 2, 2), dtype=np.uint64)
    supervoxels = Supervoxels.from_labels(labels)
    graph = SegmentGraph(ActionTable.from_supervoxels(supervoxels), supervoxels.sizes)
    assert graph.n_segments == 1
    assert len(graph.open_contacts()) == len(graph.contacts_of(1)) == 0

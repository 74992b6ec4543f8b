from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from touching_cells import cells, make_problem

from napari_celis.baselines.problem import Problem
from napari_celis.core.contacts import BIN_EDGES, COUNT, HISTOGRAM, SQUARES, SUM, UNITS
from napari_celis.core.errors import ShapeMismatchError
from napari_celis.core.watershed import AffinitiesError
from reference.agglomeration import affinities_between


def small_problem(dtype):
    rng = np.random.default_rng(3)
    labels = cells(rng, (6, 7, 8), 12)
    labels[rng.random(labels.shape) < 0.1] = 0
    affinities = rng.random((3, *labels.shape)).astype(np.float32)
    if dtype == np.uint8:
        affinities = (affinities * 255).astype(np.uint8)
    return Problem.from_labels(labels, affinities)


def assert_row(row, values):
    assert row[COUNT] == len(values)
    assert_allclose(row[SUM] / UNITS, np.sum(values), rtol=1e-9, atol=1e-9)
    assert_allclose(row[SQUARES] / UNITS, np.sum(np.square(values)), rtol=1e-9, atol=1e-9)
    levels = np.floor(np.asarray(values) * 255 + 0.5) / 255
    wanted = [((levels >= low) & (levels < high)).sum() for low, high in pairwise(BIN_EDGES)]
    wanted[-1] += (levels == 1).sum()
    assert_array_equal(row[HISTOGRAM], wanted)


@pytest.mark.kernels
@pytest.mark.parametrize("dtype", [np.float32, np.uint8])
def test_statistics_equal_those_of_single_faces(dtype):
    problem = small_problem(dtype)
    scale = 255.0 if dtype == np.uint8 else 1.0
    found = affinities_between(problem.supervoxels.dense, problem.affinities / scale)
    statistics, actions = problem.contacts, problem.actions
    touching = zip(actions.u.tolist(), actions.v.tolist(), strict=True)
    assert {pair for pair in found if pair[0] != pair[1]} == set(touching)
    for (u, v), values in found.items():
        if u == v:
            assert_row(statistics.inside[u], values)
        else:
            row = actions.find(u, v)
            assert_row(statistics.contact[row], values)
            assert statistics.low[row] == pytest.approx(min(values))
            assert statistics.high[row] == pytest.approx(max(values))
    assert statistics.contact[:, COUNT].sum() == actions.area.sum()


def test_merged_contacts_add_up_to_those_of_merged_labels():
    problem = make_problem(n=20)
    sums, labels = problem.affinity_sums(), problem.supervoxels.dense.copy()
    graph, done = sums.graph, []
    for contact in (0, 7, 30):
        if graph.arrays.is_open[contact]:
            joined = graph.join(contact)
            done.append((joined, sums.follow(joined)))
            labels[labels == joined.absorbed] = joined.kept
    assert len(done) > 1
    again = Problem.from_labels(labels, problem.affinities)
    ids = again.supervoxels.ids.astype(int)
    row_of = {frozenset(graph.arrays.ends[row].tolist()): row for row in graph.open_contacts()}
    for action, pair in enumerate(zip(ids[again.actions.u], ids[again.actions.v], strict=True)):
        row = row_of[frozenset(pair)]
        assert_array_equal(sums.contact[row], again.contacts.contact[action])
        assert sums.low[row] == again.contacts.low[action]
        assert sums.high[row] == again.contacts.high[action]
    fresh = again.graph().arrays
    assert_array_equal(graph.arrays.voxels[ids], fresh.voxels)
    assert_array_equal(graph.arrays.surface[ids], fresh.surface)
    for joined, before in reversed(done):
        sums.take_back(joined, before)
        graph.unjoin(joined)
    assert_array_equal(sums.contact, problem.contacts.contact)
    assert_array_equal(sums.low, problem.contacts.low)
    assert_array_equal(sums.inside, problem.contacts.inside)


@pytest.mark.parametrize(
    ("affinities", "words"),
    [
        (np.zeros((3, 4, 4, 5)), "shape 3 × 4 × 4 × 5"),
        (np.zeros((3, 4, 4, 4), dtype=np.int32), "int32"),
        (np.full((3, 4, 4, 4), 2.0), "between 0 and 1"),
        (np.full((3, 4, 4, 4), np.nan), "between 0 and 1"),
    ],
)
def test_bad_affinities_are_refused(affinities, words):
    with pytest.raises(AffinitiesError, match=words):
        Problem.from_labels(np.ones((4, 4, 4), dtype=np.uint8), affinities)


def test_truth_of_another_shape_is_refused():
    labels = np.ones((4, 4, 4), dtype=np.uint8)
    with pytest.raises(ShapeMismatchError, match="`truth` has shape 4 × 4 × 5"):
        Problem.from_labels(labels, np.zeros((3, 4, 4, 4)), truth=np.ones((4, 4, 5), dtype=np.uint8))

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from touching_cells import cells, make_problem

from napari_celis.baselines.contraction import Contraction
from napari_celis.baselines.problem import Problem
from napari_celis.core.contacts import BIN_EDGES, COUNT, HISTOGRAM, SQUARES, SUM
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
    assert_allclose(row[SUM], np.sum(values), rtol=1e-12)
    assert_allclose(row[SQUARES], np.sum(np.square(values)), rtol=1e-12)
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
    state, labels = Contraction(problem), problem.supervoxels.dense.copy()
    for row in (0, 7, 30):
        if state.contact[row, COUNT] and row in state.neighbours[state.ends[row, 0]].values():
            merged = state.join(row)
            labels[labels == merged.absorbed] = merged.kept
    again = Problem.from_labels(labels, problem.affinities)
    ids = again.supervoxels.ids.astype(int)
    for action, (u, v) in enumerate(zip(ids[again.actions.u], ids[again.actions.v], strict=True)):
        row = state.neighbours[u][v]
        assert_allclose(state.contact[row], again.contacts.contact[action], rtol=1e-9)
        assert state.low[row] == again.contacts.low[action]
        assert state.high[row] == again.contacts.high[action]
    fresh = Contraction(again)
    assert_array_equal(state.size[ids], fresh.size)
    assert_array_equal(state.surface[ids], fresh.surface)


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

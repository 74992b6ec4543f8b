"""Bad input: one clear sentence, and the state is what it was to the last bit."""

import threading

import numpy as np
import pytest

from core.states import (
    FaultyEnergy,
    agglomerate,
    assert_exact,
    chain,
    of_labels,
    pair_of,
    reference_of,
    snapshot,
    two_specs,
)
from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.descriptors import sample_spec
from napari_celis.core.errors import ActionError, CelisError, EnergyError, SpecError
from napari_celis.core.supervoxels import Supervoxels


@pytest.fixture
def row():
    """Blocks 1 to 6 in a row; 2 and 3 are merged, 1 and 6 kept apart, one merge was undone."""
    with chain(6) as agglomerator:
        agglomerator.merge(2, 3)
        agglomerator.keep_apart(1, 6)
        agglomerator.merge(5, 6)
        agglomerator.undo()
        yield agglomerator


OPERATIONS = ("merge", "keep_apart", "allow", "cut", "confirm", "not_here")


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("unknown", [0, -1, 7, 2**31, 2**63, 2**64, 2**70])
@pytest.mark.parametrize("is_first", [True, False])
def test_unknown_supervoxels(row, operation, unknown, is_first):
    before = snapshot(row)
    pair = (unknown, 2) if is_first else (2, unknown)
    with pytest.raises(ActionError, match=f"no supervoxel {unknown} .* 1 to 6"):
        getattr(row, operation)(*pair)
    assert snapshot(row) == before


@pytest.mark.parametrize("operation", ["merge", "cut", "confirm", "not_here"])
def test_a_pair_that_does_not_touch_and_what_could_be_merged_instead(row, operation):
    before = snapshot(row)
    with pytest.raises(ActionError, match=r"2 and 5 do not touch.*nearest") as caught:
        getattr(row, operation)(2, 5)
    assert "2 and 3" in str(caught.value)
    assert "4 and 5" in str(caught.value)
    assert snapshot(row) == before


def test_a_pair_without_any_neighbours_has_no_candidates():
    labels = np.zeros((3, 3, 9), dtype=np.uint64)
    labels[:, :, :3], labels[:, :, 6:] = 1, 2
    with of_labels(labels) as agglomerator, pytest.raises(ActionError, match=r"do not touch.*none"):
        agglomerator.merge(1, 2)


@pytest.mark.parametrize(
    ("operation", "pair", "message"),
    [
        ("merge", (2, 3), "merged already"),
        ("merge", (3, 2), "merged already"),
        ("merge", (4, 4), "two different"),
        ("keep_apart", (2, 3), "in one segment.*Cut"),
        ("keep_apart", (4, 4), "two different"),
        ("keep_apart", (6, 1), "kept apart already"),
        ("allow", (1, 5), "not kept apart by a decision about these two"),
        ("cut", (1, 2), "never merged"),
        ("cut", (5, 6), "never merged"),
        ("confirm", (1, 2), "not merged directly.*Merge them"),
        ("confirm", (4, 4), "two different"),
        ("not_here", (4, 4), "two different"),
    ],
)
def test_decisions_that_make_no_sense(row, operation, pair, message):
    before = snapshot(row)
    with pytest.raises(ActionError, match=message):
        getattr(row, operation)(*pair)
    assert snapshot(row) == before


def test_a_merge_of_segments_that_are_kept_apart_names_the_constraint(row):
    for pair in [(1, 2), (5, 6), (4, 5)]:
        row.merge(*pair)
    before = snapshot(row)
    with pytest.raises(ActionError, match=r"4 and 3 .* kept apart .* between 1 and 6 \(step 2\)"):
        row.merge(4, 3)
    assert snapshot(row) == before


def test_an_answer_counts_once_until_something_else_is_decided_about_the_pair(row):
    row.confirm(3, 2)
    row.not_here(4, 5)
    before = snapshot(row)
    with pytest.raises(ActionError, match=r"2 and 3 was confirmed already, in step 3\."):
        row.confirm(2, 3)
    with pytest.raises(ActionError, match="4 and 5 was marked as `not here` already, in step 4"):
        row.not_here(5, 4)
    assert snapshot(row) == before
    row.cut(2, 3)
    row.merge(2, 3)
    assert row.confirm(2, 3).kind == "confirm"


def test_nothing_to_undo_and_nothing_to_redo():
    with chain(3) as agglomerator:
        before = snapshot(agglomerator)
        with pytest.raises(ActionError, match="nothing to undo"):
            agglomerator.undo()
        with pytest.raises(ActionError, match="nothing to redo"):
            agglomerator.redo()
        assert snapshot(agglomerator) == before


def test_merges_to_start_with_must_exist():
    with pytest.raises(ActionError, match="1 and 3 do not touch"):
        chain(3, merges=[(1, 2), (1, 3)])
    with pytest.raises(ActionError, match="no supervoxel 9"):
        chain(3, merges=[(1, 9)])


def test_specs_must_fit_the_volume_and_be_there():
    labels = np.ones((3, 3, 3), dtype=np.uint64)
    with pytest.raises(SpecError, match=r"\(3, 3, 5\).*`all`.*3 voxels along x"):
        of_labels(labels, box=(3, 3, 5))
    with pytest.raises(SpecError, match="smaller than the box"):
        of_labels(labels, region=(3, 3, 2))
    with pytest.raises(SpecError, match="at least one"):
        Agglomerator(Supervoxels.from_labels(labels), (), None)


def test_two_specs_of_one_name_are_refused():
    labels = np.ones((3, 3, 3), dtype=np.uint64)
    spec = sample_spec("same", "pairwise", (3, 3, 3), rng=np.random.default_rng(0))
    with pytest.raises(SpecError, match="same"):
        Agglomerator(Supervoxels.from_labels(labels), (spec, spec), None)


def put(value, where=slice(-1, None)):
    """Make a fault that overwrites some energies."""

    def fault(spec_index, energies):
        energies[where] = value
        return energies

    return fault


def fail(spec_index, energies):
    raise RuntimeError("the network broke")


FAULTS = {
    "one nan": (put(np.nan), EnergyError, "1 energies .* not finite"),
    "all inf": (put(np.inf, slice(None)), EnergyError, "not finite"),
    "-inf": (put(-np.inf), EnergyError, "not finite"),
    "too few": (lambda _, energies: energies[:-1], EnergyError, "one number per descriptor"),
    "a column": (lambda _, energies: energies[:, None], EnergyError, "one number per descriptor"),
    "raises": (fail, RuntimeError, "the network broke"),
}
faults = pytest.mark.parametrize("fault", FAULTS)
threads = pytest.mark.parametrize("n_threads", [1, 2])


class Bad(FaultyEnergy):
    """Faulty from the beginning."""

    def fault(self, spec_index, energies):
        energies[0] = np.nan
        return energies


@threads
def test_a_model_that_is_broken_from_the_beginning_leaves_no_thread_behind(n_threads):
    before = threading.active_count()
    with pytest.raises(EnergyError, match="not finite"):
        agglomerate(energy=Bad, threads=n_threads)
    assert threading.active_count() == before


@faults
@threads
@pytest.mark.parametrize("operation", ["step", "merge", "cut", "redo"])
def test_a_model_that_breaks_in_mid_run_changes_nothing_and_may_recover(operation, n_threads, fault):
    broken, kind, message = FAULTS[fault]
    with agglomerate(energy=FaultyEnergy, threads=n_threads, cache_entries=0) as agglomerator:
        for _ in range(2):
            agglomerator.step(np.inf)
        agglomerator.undo()
        first = agglomerator.history[0]
        arguments = {
            "step": (np.inf,),
            "merge": pair_of(agglomerator, agglomerator.best_action()),
            "cut": (first.u_id, first.v_id),
            "redo": (),
        }[operation]
        energy, before = agglomerator.specs[0].energy, snapshot(agglomerator)
        energy.fault = broken
        with pytest.raises(kind, match=message):
            getattr(agglomerator, operation)(*arguments)
        assert snapshot(agglomerator) == before
        energy.fault = None
        getattr(agglomerator, operation)(*arguments)
        assert_exact(agglomerator, reference_of(agglomerator))


@pytest.mark.parametrize("broken_spec", [0, 1])
@threads
def test_one_broken_spec_spoils_nothing_in_the_other(broken_spec, n_threads):
    with agglomerate(energy=FaultyEnergy, threads=n_threads, cache_entries=0) as agglomerator:
        before, energy = snapshot(agglomerator), agglomerator.specs[0].energy
        energy.fault = lambda spec_index, energies: energies * (np.nan if spec_index == broken_spec else 1)
        with pytest.raises(EnergyError, match=f"spec {broken_spec}"):
            agglomerator.step(np.inf)
        assert snapshot(agglomerator) == before
        energy.fault = None
        agglomerator.step(np.inf)
        assert_exact(agglomerator, reference_of(agglomerator))


def test_a_slow_spec_writes_nothing_after_the_error_of_a_fast_one(monkeypatch):
    discarded = threading.Event()

    def fault(spec_index, energies):
        if spec_index == 0:
            raise RuntimeError("the network broke")
        discarded.wait(0.5)
        return energies

    with agglomerate(energy=FaultyEnergy, threads=2, cache_entries=0) as agglomerator:
        before, energy = snapshot(agglomerator), agglomerator.specs[0].energy
        discard = type(agglomerator.specs[1]).discard

        def note(scores):
            discard(scores)
            discarded.set()

        monkeypatch.setattr(type(agglomerator.specs[1]), "discard", note)
        energy.fault = fault
        with pytest.raises(RuntimeError, match="the network broke"):
            agglomerator.step(np.inf)
        # Whatever still runs in the pool comes to its end before these two do.
        barrier = threading.Barrier(2, timeout=30)
        list(agglomerator._state.pool.map(lambda _: barrier.wait(), range(2)))
        assert snapshot(agglomerator) == before
        energy.fault = None
        agglomerator.step(np.inf)
        assert_exact(agglomerator, reference_of(agglomerator))


def test_errors_end_a_generator_but_not_the_agglomerator():
    with agglomerate(energy=FaultyEnergy, cache_entries=0) as agglomerator:
        energy, steps = agglomerator.specs[0].energy, agglomerator.steps(np.inf)
        seen = [next(steps)]
        energy.fault = put(np.nan)
        with pytest.raises(EnergyError, match="not finite"):
            next(steps)
        energy.fault = None
        assert list(steps) == []
        assert agglomerator.history == tuple(seen)
        seen += agglomerator.steps(np.inf)
        with agglomerate(cache_entries=0) as other:
            assert list(other.steps(np.inf)) == seen


def test_scoring_by_centre_of_a_broken_model_changes_nothing():
    with agglomerate(energy=FaultyEnergy) as agglomerator:
        before = snapshot(agglomerator)
        agglomerator.specs[0].energy.fault = put(np.nan)
        with pytest.raises(EnergyError, match="not finite"):
            agglomerator.scoring.by_centre(agglomerator.best_action())
        assert snapshot(agglomerator) == before


@pytest.mark.parametrize("n_steps", [-1, 99])
def test_a_step_that_never_was_has_no_segmentation(row, n_steps):
    with pytest.raises(CelisError, match=str(n_steps)):
        row.segment_ids(n_steps)


@pytest.mark.parametrize("action", [-1, 5, 10**6])
def test_an_action_that_does_not_exist_has_no_scores(row, action):
    with pytest.raises(CelisError, match=str(action)):
        row.scoring.by_spec(action)
    with pytest.raises(CelisError, match=str(action)):
        row.scoring.by_centre(action)


def test_what_was_computed_stays_readable_after_closing():
    agglomerator = agglomerate(threads=2)
    agglomerator.step(np.inf)
    before = snapshot(agglomerator)
    agglomerator.close()
    agglomerator.close()
    assert agglomerator.labels().shape == agglomerator.supervoxels.dense.shape
    assert len(agglomerator.scoring.by_centre(agglomerator.best_action())) == len(two_specs())
    assert snapshot(agglomerator) == before

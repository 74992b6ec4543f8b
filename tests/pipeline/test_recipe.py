"""The recipe: what it makes, what it tells, and that it ends where it is told to."""

from __future__ import annotations

import threading
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from gui.conftest import SHAPE, VOXEL_NM, small_volumes
from models.small import small_model
from napari_celis.core.actions import ActionTable
from napari_celis.core.errors import ModelError
from napari_celis.core.supervoxels import Supervoxels
from napari_celis.core.volume import Volume
from napari_celis.io.affinities import AffinityVolume
from napari_celis.models.apply import affinities_of
from napari_celis.pipeline.agglomeration import agglomerator_of
from napari_celis.pipeline.checks import check
from napari_celis.pipeline.choice import Choice, Decided
from napari_celis.pipeline.recipe import prepare, prepare_inputs


def choice(**changes):
    """Choose the small volumes and the small model."""
    return replace(Choice(**small_volumes(), model=small_model()), **changes)


class Unreadable:
    """An image that nobody may look into."""

    shape, dtype = SHAPE, np.dtype(np.uint8)

    def __getitem__(self, key):
        pytest.fail("the image was read")


def test_it_makes_what_its_parts_make():
    prepared = prepare(choice())
    model, volumes = small_model(), small_volumes()
    affinities = affinities_of(model, volumes["image"].read())
    supervoxels = Supervoxels.from_labels(volumes["supervoxels"].read())
    with prepared.agglomerator as ours, agglomerator_of(model, supervoxels, affinities) as theirs:
        assert_array_equal(ours.scores(), theirs.scores())
        assert ours.actions is prepared.inputs.atoms.actions
    assert_array_equal(prepared.inputs.affinities, affinities)
    assert prepared.inputs.made_labels is None
    assert (prepared.policy, prepared.threshold) == ("energy", -0.5)
    assert prepared.overlaps.n_voxels == np.prod(SHAPE)


def test_a_run_begins_with_what_is_decided():
    prepared = prepare(choice())
    with prepared.agglomerator as first:
        ids, actions = first.supervoxels.ids, first.actions
        pairs = [(int(ids[u]), int(ids[v])) for u, v in zip(actions.u, actions.v, strict=True)]
    decided = Decided(merges=tuple(pairs[:9:2]), apart=(pairs[-1],))
    with (
        prepare(choice(decided=decided)).agglomerator as ours,
        agglomerator_of(
            small_model(),
            prepared.inputs.atoms.supervoxels,
            prepared.inputs.affinities,
            merges=decided.merges,
        ) as theirs,
    ):
        assert ours.constraints == (pairs[-1],)
        assert [step.kind for step in ours.history] == ["keep-apart"]
        assert_array_equal(ours.segment_ids(), theirs.segment_ids())
        assert ours.n_segments < first.n_segments
        ours.undo()
        assert_array_equal(ours.scores(), theirs.scores())


def test_the_table_of_actions_is_built_once(monkeypatch):
    calls, original = [], ActionTable.from_supervoxels
    monkeypatch.setattr(ActionTable, "from_supervoxels", lambda own: calls.append(1) or original(own))
    prepare(choice()).agglomerator.close()
    assert len(calls) == 1


def test_given_affinities_are_as_good_as_the_models_own_and_the_image_is_not_read():
    with prepare(choice()).agglomerator as agglomerator:
        own = agglomerator.scores()
    affinities = affinities_of(small_model(), small_volumes()["image"].read())
    ready = AffinityVolume(affinities, voxel_size_nm=VOXEL_NM)
    for image in (None, Volume(Unreadable(), VOXEL_NM, name="image")):
        with prepare(choice(image=image, affinities=ready, truth=None)).agglomerator as agglomerator:
            assert_array_equal(agglomerator.scores(), own)


def test_affinities_in_bytes_stay_bytes():
    affinities = np.random.default_rng(0).integers(0, 256, (3, *SHAPE), dtype=np.uint8)
    inputs = prepare_inputs(choice(affinities=AffinityVolume(affinities), supervoxels=None))
    assert_array_equal(inputs.affinities, affinities)
    assert inputs.affinities.dtype == np.uint8
    assert len(np.unique(inputs.made_labels)) == inputs.atoms.supervoxels.n


def test_what_is_known_already_is_not_made_again(monkeypatch):
    first = prepare_inputs(choice())
    known = choice(known_affinities=first.affinities, atoms=first.atoms)
    stages = []
    again = prepare_inputs(known, lambda stage, share: stages.append(stage))
    assert again.affinities is first.affinities
    assert again.atoms is first.atoms
    assert stages == []


COUNTING = ["counting supervoxels", "counting contacts", "first scores"]
STAGES = ["reading image", "affinities", "watershed", *COUNTING]


def names(stages):
    """Without what is said where loops have to be compiled."""
    return list(dict.fromkeys(stage.split(" (")[0] for stage in stages))


def test_stages_are_told_in_order():
    told = []

    def report(stage, share):
        told.append(stage)

    prepare(choice(supervoxels=None, truth=None), report).agglomerator.close()
    assert names(told) == STAGES
    told.clear()
    affinities = AffinityVolume(np.full((3, *SHAPE), 0.5, np.float32))
    prepare(choice(affinities=affinities), report).agglomerator.close()
    assert names(told) == ["reading affinities", "reading supervoxels", *COUNTING]


@pytest.mark.parametrize("last", STAGES)
def test_it_ends_where_a_report_raises(last):
    told = []

    def report(stage, share):
        told.append(stage)
        if stage.startswith(last) and (share > 0 or last != "first scores"):
            raise KeyboardInterrupt

    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        prepare(choice(supervoxels=None, truth=None), report)
    assert names(told)[-1] == last
    assert threading.active_count() <= before


def test_place_comes_from_the_first_volume_that_says_so():
    unknown = Volume(np.zeros(SHAPE, np.uint8), name="image")
    moved = replace(small_volumes()["supervoxels"], offset_nm=(50.0, 0.0, 0.0))
    one = choice(image=unknown, supervoxels=moved, truth=None, any_voxel_size=True)
    check(one)
    assert (one.voxel_size_nm, one.offset_nm) == (VOXEL_NM, (50.0, 0.0, 0.0))
    with pytest.raises(ModelError, match="unknown size"):
        check(replace(one, any_voxel_size=False))


def test_a_policy_that_the_model_does_not_know_is_refused():
    with pytest.raises(ModelError, match=r"does not know the policy `magic`, only energy, learned\. Choose"):
        check(choice(policy="magic"))


def test_without_a_classifier_the_mean_affinity_orders_merges_and_learns():
    with prepare(choice(policy="learned")).agglomerator as agglomerator:
        free = np.flatnonzero(agglomerator.available())
        features, scores = agglomerator.scoring.features(free), agglomerator.scores()[free]
        np.testing.assert_allclose(scores, -2.0 * (features[:, 0] - 0.5) / 0.25, atol=1e-6)
        agglomerator.learn(choice().known_model.learner())
        ids, actions = agglomerator.supervoxels.ids, agglomerator.actions
        best = agglomerator.best_action()
        before = agglomerator.score(best)
        agglomerator.not_here(int(ids[actions.u[best]]), int(ids[actions.v[best]]))
        assert agglomerator.score(best) > before

"""Learning where affinities are unsure: the state that it starts from, and a model that comes of it."""

import numpy as np
import pytest

from models.small import cut_into_pieces
from napari_celis.core.symmetry import Symmetry
from napari_celis.models.model_file import load_model, save_model
from napari_celis.models.policy import FOREST_ALONE
from napari_celis.synthetic.phantom import PhantomSettings, make_phantom
from napari_celis.training import energy_stage
from napari_celis.training.folds import Slab
from napari_celis.training.pipeline import AnnotatedVolume, TrainSettings, train_model
from napari_celis.training.unsure import SURE, sure_merges

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def slab():
    """A row of five blocks; affinities are sure of the first two contacts, unsure of the others."""
    labels = np.repeat(np.arange(1, 6, dtype=np.uint64), 4)[None, None, :] * np.ones((8, 8, 1), np.uint64)
    affinities = np.ones((3, *labels.shape), np.float32)
    for place, affinity in zip((4, 8, 12, 16), (0.9, 0.6, 0.4, 0.1), strict=True):
        affinities[2, :, :, place] = affinity
    return Slab(labels, np.ones_like(labels), affinities)


def test_sure_merges_are_those_above_the_limit_best_first(slab):
    actions = slab.upright.actions
    order = sure_merges(slab)
    assert [(actions.u[one], actions.v[one]) for one in order] == [(1, 2), (2, 3)]
    assert SURE == 0.5


def test_they_are_the_same_actions_in_every_orientation(slab):
    upright, turned = slab.upright, slab.transformed(Symmetry((2, 0, 1), (True, False, True)))
    np.testing.assert_array_equal(upright.actions.u, turned.actions.u)
    np.testing.assert_array_equal(upright.actions.v, turned.actions.v)


def test_a_training_learns_from_that_state_and_its_model_can_be_read(tmp_path, monkeypatch):
    phantom = make_phantom(PhantomSettings(shape_zyx=(40, 36, 36), seed=3))
    states = []
    sample = energy_stage.sample_examples

    def sampled(*arguments, **options):
        states.append(len(arguments[-1]))
        return sample(*arguments, **options)

    monkeypatch.setattr(energy_stage, "sample_examples", sampled)
    volume = AnnotatedVolume(phantom.image, phantom.truth, cut_into_pieces(phantom.truth, size=10))
    training = train_model([volume], (10.0, 10.0, 10.0), TrainSettings(minutes=1e-4, unsure=True))
    try:
        while True:
            next(training)
    except StopIteration as end:
        model = end.value.model
    assert set(states) == {1}
    read = load_model(save_model(model, tmp_path / "model.safetensors")).classifier
    assert tuple(read.shares) == FOREST_ALONE
    rng = np.random.default_rng(0)
    features = rng.normal(size=(20, read.n_features)).astype(np.float32)
    odds = rng.normal(size=20)
    np.testing.assert_array_equal(read.scores(features, odds), model.classifier.scores(features, odds))

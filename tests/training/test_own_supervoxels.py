"""Supervoxels that training makes itself may leave nothing to learn: that too is said, with a way out."""

from dataclasses import replace

import numpy as np
import pytest

from core.problems import random_labels
from napari_celis.core.errors import TrainingError
from napari_celis.training import pipeline, slab_stage
from napari_celis.training.pipeline import AnnotatedVolume, TrainSettings, train_model

SHAPE = (24, 20, 20)


def refuse(monkeypatch, truth, supervoxels, match):
    """Train with affinities from which the watershed would make these supervoxels."""

    def affinities(volumes, *_, **__):
        return [np.ones((3, *one.image.shape), np.float32) for one in volumes], []
        yield

    monkeypatch.setattr(pipeline, "cross_fitted_affinities", affinities)
    cuts = iter([supervoxels[: SHAPE[0] // 2], supervoxels[SHAPE[0] // 2 :]])
    monkeypatch.setattr(slab_stage, "cut_again", lambda slab, *_: replace(slab, labels=next(cuts)))
    image = np.random.default_rng(0).integers(0, 255, SHAPE, dtype=np.uint8)
    with pytest.raises(TrainingError, match=match) as refused:
        list(train_model([AnnotatedVolume(image, truth)], (10.0, 10.0, 10.0), TrainSettings(minutes=0.01)))
    assert "\n" not in str(refused.value)


def test_supervoxels_that_are_the_objects(monkeypatch):
    labels = random_labels(np.random.default_rng(0), SHAPE, 30, 0.0)
    refuse(monkeypatch, labels, labels, "no merge is right.*Give finer supervoxels")


def test_supervoxels_of_different_objects_that_never_touch(monkeypatch):
    labels = random_labels(np.random.default_rng(0), SHAPE, 60, 0.0)
    column = np.arange(SHAPE[2])
    truth = np.broadcast_to(np.where(column < 10, 1, 2), SHAPE).astype(np.uint64)
    apart = np.where(abs(column - 10) < 3, 0, labels + np.where(column < 10, 0, 1000).astype(np.uint64))
    refuse(monkeypatch, truth, apart, "no merge is wrong.*larger volume")

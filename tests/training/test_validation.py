"""What nothing can be learned from is refused before the long work, in one sentence with a way out."""

import numpy as np
import pytest

from core.problems import random_labels
from napari_celis.core.errors import CelisError, TrainingError
from napari_celis.training import pipeline
from napari_celis.training.checkpoint import Checkpoint
from napari_celis.training.pipeline import AnnotatedVolume, TrainSettings, train_model

SHAPE = (70, 36, 36)
NM = (10.0, 10.0, 10.0)


def volumes():
    rng = np.random.default_rng(0)
    supervoxels = random_labels(rng, SHAPE, 60, 0.0)
    truth = (supervoxels % 4 + 1).astype(np.uint64)
    return rng.integers(0, 255, SHAPE, dtype=np.uint8), truth, supervoxels


def refuse(image, truth, supervoxels, match, preset="fast"):
    with pytest.raises(CelisError, match=match) as refused:
        next(
            train_model([AnnotatedVolume(image, truth, supervoxels)], NM, TrainSettings(preset, minutes=0.1))
        )
    assert "\n" not in str(refused.value)


def test_no_truth_at_all():
    image, truth, supervoxels = volumes()
    refuse(image, np.zeros_like(truth), None, "labels no voxel at all")
    beside = np.where(np.arange(SHAPE[2]) < 18, truth, 0)
    refuse(image, beside, np.where(np.arange(SHAPE[2]) >= 18, supervoxels, 0), "belongs to a supervoxel")


def test_one_object():
    image, truth, supervoxels = volumes()
    refuse(image, np.ones_like(truth), supervoxels, r"single object \(1\)")


def test_a_part_of_the_volume_with_one_object():
    image, truth, supervoxels = volumes()
    first = np.arange(SHAPE[0])[:, None, None] < 35
    refuse(image, np.where(first, truth, 7), supervoxels, r"sections 35 to 69\) holds a single object \(7\)")


def test_labels_in_one_section():
    image, truth, _ = volumes()
    refuse(image[:1], truth[:1], None, "has one section")


def test_one_of_several_volumes_has_one_object():
    image, truth, _ = volumes()
    pair = [AnnotatedVolume(image, own, name=name) for own, name in ((truth, "a"), (truth * 0 + 3, "b"))]
    with pytest.raises(TrainingError, match=r"The truth of b holds a single object \(3\)"):
        next(train_model(pair, NM, TrainSettings(minutes=0.1)))


def test_only_right_or_only_wrong_merges():
    image, _, supervoxels = volumes()
    refuse(image, supervoxels, supervoxels, "no merge is right")
    # A sheet of nothing lies between the two objects, so that no supervoxels of both touch.
    column = np.arange(SHAPE[2])
    apart = np.where(abs(column - 17) < 3, 0, supervoxels + np.where(column < 17, 0, 1000).astype(np.uint64))
    sides = np.broadcast_to(np.where(column < 17, 1, 2), SHAPE).astype(np.uint64)
    refuse(image, sides, apart, "no merge is wrong")


def test_too_little_room():
    image, truth, supervoxels = volumes()
    parts = image[:40], truth[:40], supervoxels[:40]
    refuse(*parts, "20 × 36 × 36 voxels, .*too small for .* `pairwise33`", preset="paper")
    parts = image[:16], truth[:16], supervoxels[:16]
    refuse(*parts, "8 × 36 × 36 voxels, .*too small for .* `pairwise9`")


def test_shapes_that_differ():
    image, truth, supervoxels = volumes()
    refuse(image[1:], truth, supervoxels, "shape")
    refuse(image, truth, supervoxels[1:], "shape")


def test_the_refusal_of_a_foreign_checkpoint(tmp_path):
    (tmp_path / "training.json").write_text('{"identity": "other"}')
    with pytest.raises(TrainingError, match="other data or settings"):
        next(
            train_model(
                [AnnotatedVolume(*volumes())], NM, TrainSettings(minutes=0.1), folder=tmp_path, resume=True
            )
        )


def test_another_processor_may_go_on_and_another_seed_may_not(monkeypatch):
    identities = []

    def checkpoint(folder, identity, *, resume):
        identities.append(identity)
        return Checkpoint(None, identity, resume=resume)

    monkeypatch.setattr(pipeline, "Checkpoint", checkpoint)
    for settings in (TrainSettings(), TrainSettings(device="cpu"), TrainSettings(seed=1)):
        next(train_model([AnnotatedVolume(*volumes())], NM, settings))
    assert identities[0] == identities[1] != identities[2]

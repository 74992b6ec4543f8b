"""Parts of a training run survive an interruption, and only with the data they belong to."""

import numpy as np
import pytest
import torch

from napari_celis.core.errors import TrainingError
from napari_celis.training.checkpoint import Checkpoint, fingerprint


def test_parts_come_back(tmp_path):
    folder = tmp_path / "model.training"
    checkpoint = Checkpoint(folder, "same", resume=False)
    assert checkpoint.load("energy of a") is None
    checkpoint.keep("energy of a", {"w": torch.arange(6.0).reshape(2, 3)}, {"auc": [0.5, 0.75]})
    checkpoint.keep("nothing", {}, {"n": 1})
    again = Checkpoint(folder, "same", resume=True)
    tensors, facts = again.load("energy of a")
    torch.testing.assert_close(tensors["w"], torch.arange(6.0).reshape(2, 3))
    assert facts == {"auc": [0.5, 0.75]}
    assert again.load("nothing")[1] == {"n": 1}
    again.drop("nothing")
    assert again.load("nothing") is None
    again.clear()
    assert not folder.exists()


def test_another_training_is_not_taken_up(tmp_path):
    folder = tmp_path / "model.training"
    Checkpoint(folder, "one", resume=False).keep("part", {}, {})
    with pytest.raises(TrainingError, match="other data or settings"):
        Checkpoint(folder, "two", resume=True)
    assert Checkpoint(folder, "two", resume=False).load("part") is None
    assert not folder.exists()


def test_a_damaged_part_is_an_error(tmp_path):
    folder = tmp_path / "model.training"
    checkpoint = Checkpoint(folder, "same", resume=False)
    checkpoint.keep("part", {"w": torch.zeros(50)}, {})
    path = folder / "part.safetensors"
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(TrainingError, match="damaged"):
        checkpoint.load("part")
    (folder / "training.json").write_text("{")
    with pytest.raises(TrainingError, match="is damaged"):
        Checkpoint(folder, "same", resume=True)


def test_without_a_folder_nothing_is_kept():
    checkpoint = Checkpoint(None, "same", resume=True)
    checkpoint.keep("part", {"w": torch.zeros(2)}, {})
    assert checkpoint.load("part") is None
    checkpoint.drop("part")
    checkpoint.clear()


def test_fingerprints_tell_data_and_settings_apart():
    a = np.arange(8, dtype=np.uint8).reshape(2, 2, 2)
    found = {
        fingerprint({"minutes": 3}, a, None),
        fingerprint({"minutes": 4}, a, None),
        fingerprint({"minutes": 3}, a, a),
        fingerprint({"minutes": 3}, a.astype(np.int16), None),
        fingerprint({"minutes": 3}, a.reshape(1, 2, 4), None),
        fingerprint({"minutes": 3}, a[::-1], None),
    }
    assert len(found) == 6
    assert fingerprint({"minutes": 3}, a.copy(), None) in found

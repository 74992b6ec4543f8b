"""Files as layers, without a window."""

from __future__ import annotations

import h5py
import numpy as np

from napari_celis.gui.layers.opening import open_layers


def test_labels_lie_above_the_image_whatever_they_are_called(tmp_path):
    with h5py.File(tmp_path / "both.h5", "w") as file:
        for name, dtype in (("a_truth", "uint64"), ("image", "uint8"), ("labels", "uint64")):
            file[name] = np.zeros((4, 5, 6), dtype)
    opened = open_layers(str(tmp_path / "both.h5"))
    assert [(kind, settings["name"]) for _, settings, kind in opened] == [
        ("image", "both:image"),
        ("labels", "both:a_truth"),
        ("labels", "both:labels"),
    ]

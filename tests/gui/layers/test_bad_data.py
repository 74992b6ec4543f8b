"""Data that cannot be used is explained in one sentence with a way out."""

from __future__ import annotations

import numpy as np
import pytest
from napari.layers import Image, Labels

from gui.conftest import SHAPE, add
from models.small import small_model
from napari_celis.gui.layers.volume_layers import KINDS
from napari_celis.gui.session.command_line import agglomerate_command
from napari_celis.gui.session.messages import Message
from napari_celis.io import memory


def test_nothing_chosen_is_a_hint(workspace):
    assert not workspace.data.check()
    assert workspace.messages.current.text.startswith("There is no image yet, and there are no affinities.")
    assert workspace.messages.current.severity == ""


BAD = {
    "flat": ("image", Image(np.zeros((20, 20), np.uint8)), "The image layer “Image” has 2 axes"),
    "film": ("image", Image(np.zeros((2, *SHAPE), np.uint8)), "4 axes"),
    "colours": ("image", Image(np.zeros((20, 20, 3), np.uint8), rgb=True), "“Image” is a colour image"),
    "labels as image": (
        "image",
        Labels(np.ones(SHAPE, np.uint8)),
        "The image layer “Labels” is of type labels, but must be of type image",
    ),
    "image as labels": (
        "supervoxels",
        Image(np.ones(SHAPE, np.uint8)),
        "The supervoxels layer “Image” is of type image, but must be of type labels",
    ),
    "floats": (
        "supervoxels",
        Image(np.ones(SHAPE)),
        "The supervoxels volume “Image” holds float64 values, but labels must be integers",
    ),
    "shape": (
        "supervoxels",
        Labels(np.ones((3, 4, 5), np.uint8)),
        "The supervoxels volume “Labels” has the shape 3 × 4 × 5",
    ),
    "scale": (
        "truth",
        Labels(np.ones(SHAPE, np.uint8), scale=(40, 4, 4)),
        "The truth volume “Labels” has voxels of 40 × 4 × 4 nm, but the image volume “image” has",
    ),
    "place": (
        "truth",
        Labels(np.ones(SHAPE, np.uint8), scale=(10, 10, 10), translate=(5, 0, 0)),
        "the position 5 × 0 × 0 nm",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_data_that_cannot_be_used_is_explained(workspace, case):
    role, layer, words = BAD[case]
    add(workspace.viewer, "image")
    workspace.data.use_model(small_model())
    workspace.viewer.add_layer(layer)
    workspace.data.choose(role, layer)
    message = workspace.messages.current
    assert words in message.text
    assert message.text.count(". ") == 1
    assert message.severity == "error"
    workspace.preparation.prepare()
    assert not workspace.preparation.is_busy
    workspace.data.choose(role, None if role != "image" else workspace.viewer.layers["image"])
    assert workspace.messages.current == Message()


def test_model_of_another_voxel_size_is_refused_until_allowed(workspace):
    add(workspace.viewer, "image", voxel_size_nm=(40.0, 4.0, 4.0))
    workspace.data.use_model(small_model())
    assert "with “Use the model anyway”" in workspace.messages.current.text
    workspace.data.allow_any_voxel_size(True)
    assert workspace.messages.current == Message()
    assert "--any-voxel-size" in agglomerate_command(workspace)


def test_volume_larger_than_memory_is_refused_with_the_gigabytes(workspace, monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: 100_000)
    add(workspace.viewer, *KINDS)
    workspace.data.use_model(small_model())
    assert "GB of memory, but 0.0001 GB are free" in workspace.messages.current.text
    assert "celis convert --resample" in workspace.messages.current.text
    workspace.preparation.prepare()
    assert not workspace.preparation.is_busy

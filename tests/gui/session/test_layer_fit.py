"""A file that does not fit is opened, but nothing is made of it; one that fits is chosen."""

from __future__ import annotations

import numpy as np
from napari.layers import Labels

from gui.conftest import SHAPE, VOXEL_NM, add


def test_a_truth_that_does_not_fit_is_refused_in_a_sentence(workspace):
    add(workspace.viewer, "image", "supervoxels")
    for name, shape, scale in (("gt wide", (12, 20, 21), VOXEL_NM), ("gt fine", SHAPE, (5.0, 5.0, 5.0))):
        workspace.viewer.add_layer(Labels(np.ones(shape, np.uint32), name=name, scale=scale))
        assert workspace.data.truth_layer is None
        message = workspace.messages.current
        assert message.text.startswith(f"“{name}” was opened, but not chosen as truth. The truth volume")
        assert message.severity == "warning"
    add(workspace.viewer, "truth")
    assert workspace.data.truth_layer.name == "truth"


def test_the_first_volume_fits_whatever_it_is_and_what_was_wrong_stays_said(workspace):
    add(workspace.viewer, "truth")
    assert workspace.data.truth_layer is not None
    workspace.viewer.add_image(np.zeros((3, 4, 5), np.uint8), scale=VOXEL_NM)
    assert "has the shape" in workspace.messages.current.text
    add(workspace.viewer, "supervoxels")
    assert workspace.data.supervoxels_layer is not None

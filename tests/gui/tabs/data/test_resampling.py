"""Where voxel sizes differ, a button shows and uses the volumes at that of the model."""

from __future__ import annotations

import numpy as np
import pytest
from napari.components import ViewerModel

from gui.conftest import VOXEL_NM, add
from gui.patience import be_patient
from models.small import small_model
from napari_celis.gui.session.workspace import Workspace
from napari_celis.gui.tabs.data.data_tab import DataTab


@pytest.fixture
def tab(qtbot):
    be_patient(qtbot)
    workspace = Workspace.of(ViewerModel())
    tab = DataTab(workspace)
    qtbot.addWidget(tab)
    tab.workspace = workspace
    workspace.data.use_model(small_model())
    yield tab
    workspace.dispose()


def test_the_button_resamples_image_supervoxels_and_truth(qtbot, tab):
    data = tab.workspace.data
    add(tab.workspace.viewer, "image", "supervoxels", "truth", voxel_size_nm=(10.0, 5.0, 5.0))
    assert not tab.resample.isHidden()
    tab.resample.click()
    assert tab.resample.isHidden()
    assert tab.any_size.isHidden()
    assert data.image_layer.name == "image at 10 × 10 × 10 nm"
    assert {layer.visible for layer in tab.workspace.viewer.layers if " at " not in layer.name} == {False}
    for role in ("image", "supervoxels", "truth"):
        layer = data.layer(role)
        assert layer.data.shape == (12, 10, 10)
        np.testing.assert_allclose(layer.scale, VOXEL_NM)
    assert "celis convert IN OUT --resample 10 10 10" in tab.workspace.messages.current.text
    qtbot.waitUntil(lambda: not tab.workspace.preparation.is_busy)
    tab.workspace.preparation.prepare()
    qtbot.waitUntil(lambda: tab.workspace.run.engine is not None)
    # A session about them must not claim to be about the files that they came from.
    assert data.sources().volumes["image"] == ""


def test_nothing_is_offered_where_the_voxel_size_is_right_or_unknown(tab):
    add(tab.workspace.viewer, "image")
    assert tab.resample.isHidden()
    tab.workspace.data.choose("image", None)
    add(tab.workspace.viewer, "image", voxel_size_nm=(1.0, 1.0, 1.0))
    assert not tab.any_size.isHidden()
    assert tab.resample.isHidden()

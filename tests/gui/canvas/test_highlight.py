"""The layers that light up are there before they are needed, in the colours that the panel names."""

from __future__ import annotations

import numpy as np
from napari.components import ViewerModel
from napari.layers import Labels
from napari.utils.colormaps.standardize_color import transform_color

from gui.conftest import block_labels, small_agglomerator
from gui.patience import be_patient
from napari_celis.gui.canvas.canvas import Canvas
from napari_celis.gui.canvas.highlight import COLOURS
from napari_celis.gui.session.engine.engine import Engine
from napari_celis.gui.session.workspace import Workspace


def test_layers_are_made_with_the_engine_and_only_shown_when_something_is_selected(qtbot):
    be_patient(qtbot)
    viewer = ViewerModel()
    viewer.add_layer(Labels(block_labels(), name="supervoxels"))
    workspace = Workspace.of(viewer)
    highlight, agglomerator = Canvas.of(workspace).highlight, small_agglomerator()
    workspace.use_engine(Engine(agglomerator, -0.5, parent=workspace))
    qtbot.waitUntil(lambda: workspace.decisions.pair.geometry is not None and len(viewer.layers) == 3)
    names = [layer.name for layer in viewer.layers]
    assert names == ["supervoxels", "segmentation", "selection"]
    assert not highlight.segments.visible

    workspace.selection.select(22, 23)
    assert highlight.segments.visible
    assert len(viewer.layers) == len(names)
    values = np.array(sorted(COLOURS), dtype=np.uint8)
    wanted = transform_color([COLOURS[value] for value in values])
    np.testing.assert_allclose(highlight.segments.colormap.map(values), wanted, atol=1e-6)
    workspace.selection.select()
    assert not highlight.segments.visible
    workspace.dispose()

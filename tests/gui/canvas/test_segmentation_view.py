"""The layer of the run: recoloured without touching a voxel, and there again when it is wanted."""

from __future__ import annotations

import numpy as np
import pytest
from napari.layers import Labels

from gui.conftest import block_labels, small_agglomerator
from napari_celis.gui.canvas.canvas import Canvas
from napari_celis.gui.session.engine.engine import Engine


@pytest.fixture
def shown(workspace):
    """A canvas that shows a run on supervoxels with a scale."""
    workspace.viewer.add_layer(Labels(block_labels(), name="supervoxels", scale=(2, 1, 1)))
    canvas = Canvas.of(workspace)
    workspace.use_engine(Engine(small_agglomerator(), -0.5, parent=workspace))
    return canvas


def test_preview_of_an_earlier_step_does_not_follow_the_run(qtbot, shown):
    workspace, engine = shown.workspace, shown.workspace.run.engine
    engine.step(4)
    qtbot.waitUntil(lambda: len(engine.snapshot.steps) == 4)
    live = shown.segmentation.layer.data
    workspace.preview.show(1)
    qtbot.waitUntil(lambda: len(np.unique(live.lut[1:])) == 47)
    engine.step()
    qtbot.waitUntil(lambda: len(engine.snapshot.steps) == 5)
    assert len(np.unique(live.lut[1:])) == 47
    workspace.preview.show(None)
    np.testing.assert_array_equal(live.lut, engine.snapshot.segment_ids)


def test_the_segmentation_comes_back_where_it_was_when_nothing_else_is_left(shown):
    shown.workspace.viewer.layers.clear()
    shown.segmentation.show()
    assert shown.segmentation.layer in shown.workspace.viewer.layers
    assert tuple(shown.segmentation.layer.scale) == (2, 1, 1)


def test_positions_refer_to_the_first_layer_that_there_is(shown):
    viewer, segmentation = shown.workspace.viewer, shown.segmentation
    assert segmentation.reference_layer() is segmentation.layer
    viewer.layers.remove(segmentation.layer)
    assert segmentation.layer is None
    assert "“Show segmentation”" in shown.workspace.messages.current.text
    assert segmentation.reference_layer() is viewer.layers["supervoxels"]
    viewer.layers.clear()
    assert segmentation.reference_layer() is None
    assert tuple(segmentation.placement["scale"]) == (2, 1, 1), "what was known last"

"""Shape tabs on viewers without a window, and how to wait for what they show."""

from __future__ import annotations

import pytest
from napari.components import ViewerModel
from napari.layers import Labels

from gui.conftest import block_labels, small_agglomerator
from gui.patience import PATIENCE_MS
from napari_celis.gui.session.engine.engine import Engine
from napari_celis.gui.session.workspace import Workspace
from napari_celis.gui.tabs.shape.shape_tab import ShapeTab

SCALES = [(1, 1, 1), (4, 1, 1), (40, 4, 4)]
FIRST_ID = 1 << 33
"""Id of the supervoxel with dense index 0, if there were one."""


def add_supervoxels(viewer, data=None, **settings):
    layer = Labels(block_labels() if data is None else data, name="supervoxels", **settings)
    return viewer.add_layer(layer)


@pytest.fixture
def make_tab(qtbot):
    """Make tabs on viewers without a window."""
    # Kept until the end: a window that nobody refers to may be deleted while it is painted.
    tabs = []

    def make(*, is_scored=False, **settings):
        viewer = ViewerModel()
        add_supervoxels(viewer, **settings)
        workspace = Workspace.of(viewer)
        tab = ShapeTab(workspace)
        tabs.append(tab)
        qtbot.addWidget(tab)
        if is_scored:
            agglomerator = small_agglomerator()
            workspace.use_engine(Engine(agglomerator, 0.0, parent=workspace))
            # The layers of the canvas come a little later.
            qtbot.waitUntil(lambda: "selection" in viewer.layers)
        tab.resize(400, 900)
        tab.show()
        wait_for_answer(qtbot, tab)
        return tab

    yield make
    for tab in tabs:
        tab.workspace.dispose()


def wait_for_answer(qtbot, tab):
    """Wait until what is shown is what was asked for."""

    def is_shown():
        if tab.answer is None or (tab.workspace.run.engine is not None and tab.form.spec.name != "small"):
            return False
        request = tab.answer.request
        with_zones = tab.form.overlays["zones"].isChecked()
        is_asked = (request.lattice, request.centre, request.pair, request.with_zones)
        return is_asked == (tab.lattice, tab.centre, tab.pair, with_zones)

    qtbot.waitUntil(is_shown, timeout=PATIENCE_MS)
    return tab.answer.view


def go(qtbot, tab, position):
    tab.go_to(position)
    return wait_for_answer(qtbot, tab)


def ours(tab):
    """List our layers that are shown."""
    layers = [layer for layer in tab.workspace.viewer.layers if layer.name.startswith("celis: ")]
    return {layer.name: layer for layer in layers if layer.visible}


def show_only(tab, *keys):
    for key, check in tab.form.overlays.items():
        check.setChecked(key in keys)


def colours_of(layer):
    return ["#" + "".join(f"{round(255 * c):02X}" for c in row[:3]) for row in layer.edge_color]

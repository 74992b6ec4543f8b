"""A corner of the sample, from the layers to a decision, in a real window; run by test_bindings.py."""

from __future__ import annotations

from dataclasses import replace

import qtpy
from napari.layers import Layer
from qtpy.QtCore import Qt
from qtpy.QtTest import QTest

from gui.patience import be_patient
from napari_celis.gui.layers.samples import phantom_model
from napari_celis.gui.layers.volume_layers import KINDS, volume_to_layer
from napari_celis.io.samples import sample_volumes


def test_from_the_layers_to_a_decision(our_plugin, make_napari_viewer, qtbot):
    assert qtpy.API_NAME == "PySide6"
    be_patient(qtbot)
    viewer = make_napari_viewer(show=True)
    for role, volume in sample_volumes().items():
        corner = replace(volume, data=volume.read()[:32, :64, :64])
        viewer.add_layer(Layer.create(*volume_to_layer(corner, KINDS[role])))
    _, panel = viewer.window.add_plugin_dock_widget("napari-celis")
    workspace, canvas = panel.workspace, viewer.window._qt_viewer.canvas.native
    qtbot.waitUntil(panel.isVisible)
    for index in range(panel.tabs.count()):
        panel.tabs.setCurrentIndex(index)
        assert panel.tabs.currentWidget().isVisible()

    workspace.preparation.load_model(phantom_model())
    qtbot.waitUntil(lambda: workspace.data.model is not None and not workspace.preparation.is_busy)
    panel.show_tab("Agglomerate")
    run_or_pause = (Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    QTest.keyClick(canvas, *run_or_pause)
    qtbot.waitUntil(lambda: workspace.run.engine is not None)
    engine = workspace.run.engine
    qtbot.waitUntil(lambda: len(engine.snapshot.steps) > 5)
    QTest.keyClick(canvas, *run_or_pause)
    qtbot.waitUntil(lambda: not engine.snapshot.is_running)
    n_merged = len(engine.snapshot.steps)

    panel.show_tab("Decisions")
    QTest.keyClick(canvas, Qt.Key.Key_N)
    qtbot.waitUntil(lambda: len(workspace.selection.supervoxels) == 2)
    QTest.keyClick(canvas, Qt.Key.Key_R)
    qtbot.waitUntil(lambda: len(engine.snapshot.steps) == n_merged + 1)
    assert workspace.run.session_path.exists()
    QTest.keyClick(canvas, Qt.Key.Key_U)
    qtbot.waitUntil(lambda: len(engine.snapshot.steps) == n_merged)
    assert viewer.screenshot(canvas_only=False, flash=False).std() > 0
    viewer.close()

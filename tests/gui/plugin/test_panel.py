"""The panel in a real window: tabs, keys, problems, and a clean end."""

from __future__ import annotations

import threading

from napari.layers import Layer
from qtpy.QtCore import Qt
from qtpy.QtTest import QTest

from gui.conftest import small_volumes
from gui.patience import be_patient
from models.small import small_model
from napari_celis.gui.canvas.canvas import Canvas
from napari_celis.gui.layers.volume_layers import KINDS, volume_to_layer
from napari_celis.gui.qt.progress import Progress
from napari_celis.gui.session.workspace import Workspace


def our_threads():
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("celis")]


def test_panel_from_the_menu_until_the_window_closes(our_plugin, make_napari_viewer, qtbot):
    be_patient(qtbot)
    # One window for everything: each takes seconds to open.
    viewer = make_napari_viewer(show=True)
    _, panel = viewer.window.add_plugin_dock_widget("napari-celis")
    workspace = panel.workspace
    assert workspace is Workspace.of(viewer)
    titles = [panel.tabs.tabText(index) for index in range(panel.tabs.count())]
    assert titles == ["Data", "Agglomerate", "Decisions", "Shape", "Train", "Blocks", "Export"]
    assert panel.status.text().startswith("There is no image yet, and there are no affinities.")

    for role, volume in small_volumes().items():
        viewer.add_layer(Layer.create(*volume_to_layer(volume, KINDS[role])))
    workspace.data.use_model(small_model())
    assert panel.status.isHidden()
    # Sentences and progress have their place: nothing moves under the mouse when they come.
    qtbot.waitUntil(lambda: panel.isVisible() and panel.width() < 500)
    panel.layout().activate()
    place = panel.tabs.geometry()
    for sentence in ("Short.", "A sentence that goes on and on. " * 12):
        workspace.messages.say(sentence)
        panel.progress.show_progress(Progress("a stage with a long name, too long for its line", 0.5))
        panel.layout().activate()
        assert panel.tabs.geometry() == place
        assert panel.help.isHidden()
        assert panel.session.name.isHidden()
    panel.progress.hide_progress()
    workspace.messages.clear()
    assert not panel.help.isHidden()
    assert not panel.session.name.isHidden()
    workspace.messages.say("Something is wrong. Do this.", "error")
    assert panel.status.text() == "Something is wrong. Do this."
    assert panel.status.severity == "error"
    Canvas.of(workspace).mouse_mode.set_help("Click a segment.")
    assert panel.help.text() == "Click a segment."

    panel.show_tab("Agglomerate")
    canvas = viewer.window._qt_viewer.canvas.native
    with qtbot.waitSignal(workspace.run.changed):
        QTest.keyClick(canvas, Qt.Key.Key_Period)
        qtbot.waitUntil(lambda: not panel.progress.isHidden())
    engine = workspace.run.engine
    qtbot.waitUntil(lambda: len(engine.snapshot.steps) == 1)
    assert panel.progress.isHidden()
    engine.set_threshold(1000.0)
    engine.set_speed(5)
    QTest.keyClick(canvas, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: engine.snapshot.is_running)
    QTest.keyClick(canvas, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: not engine.snapshot.is_running)

    # So it does while a number is being typed.
    speed = panel.tab("Agglomerate").form.speed
    viewer.window._qt_window.activateWindow()
    speed.setFocus()
    qtbot.waitUntil(speed.hasFocus)
    for is_running in (True, False):
        QTest.keyClick(speed, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
        qtbot.waitUntil(lambda wanted=is_running: engine.snapshot.is_running == wanted)

    engine.run()
    qtbot.waitUntil(lambda: engine.snapshot.is_running)
    assert our_threads()
    viewer.close()
    assert our_threads() == []
    assert viewer not in Workspace._all


def test_progress_can_be_cancelled_in_the_panel(our_plugin, make_napari_viewer, qtbot):
    viewer = make_napari_viewer()
    _, panel = viewer.window.add_plugin_dock_widget("napari-celis")
    workspace, is_open = panel.workspace, threading.Event()

    def work(report):
        report("waiting", 0.5)
        is_open.wait(20)
        report("waiting", 0.6)

    workspace.preparation.jobs.start(work, lambda result: None)
    qtbot.waitUntil(lambda: panel.progress.stage.text() == "Waiting …")
    assert panel.progress.bar.value() == 500
    panel.progress.cancel.click()
    is_open.set()
    qtbot.waitUntil(lambda: panel.progress.isHidden())
    assert panel.status.text() == "Cancelled; nothing was changed."
    viewer.close()

"""The panel leaves its dock and comes back: nothing is lost, nothing is there twice."""

from __future__ import annotations

import gc

import psutil
from napari.layers import Image, Labels
from qtpy.QtCore import QCoreApplication, QEvent
from qtpy.QtWidgets import QDockWidget, QMessageBox

from gui.conftest import small_volumes
from gui.patience import be_patient
from napari_celis.gui.plugin.viewer_window import dock_panel
from napari_celis.gui.session.background import celis_process

SLOW = """
import time
print("half of it is done", flush=True)
time.sleep(600)
"""


def close_dock(panel):
    """Press the cross of the dock, and let Qt and Python clean up."""
    panel.parentWidget().destroyOnClose()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
    gc.collect()


def test_a_training_goes_on_while_the_dock_is_closed(
    our_plugin, make_napari_viewer, qtbot, tmp_path, monkeypatch
):
    be_patient(qtbot)
    (tmp_path / "slow.py").write_text(SLOW)
    monkeypatch.setattr(celis_process, "PROGRAM", str(tmp_path / "slow.py"))
    monkeypatch.setattr(QMessageBox, "question", lambda *args: QMessageBox.StandardButton.Yes)
    viewer = make_napari_viewer(show=True)
    volumes = small_volumes()
    viewer.add_layer(Image(volumes["image"].data, name="image", scale=(10, 10, 10)))
    viewer.add_layer(Labels(volumes["truth"].data, name="truth", scale=(10, 10, 10)))
    dock, panel = viewer.window.add_plugin_dock_widget("napari-celis")
    panel.show_tab("Train")
    train = panel.tab("Train")
    train.form.output.value = tmp_path / "new.safetensors"
    train.start.click()
    qtbot.waitUntil(lambda: "half of it is done" in train.log.toPlainText())
    pid = train.process.pid

    close_dock(panel)
    assert psutil.pid_exists(pid)
    viewer.layers.remove("truth")
    dock, again = viewer.window.add_plugin_dock_widget("napari-celis")
    assert again is panel
    assert dock.widget() is panel
    qtbot.waitUntil(panel.isVisible)
    assert panel.tab("Train") is train
    assert train.is_busy
    assert train.progress.isVisible()

    # Another way to open it moves it; there is no second one, and no empty dock.
    moved = dock_panel(viewer)
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
    assert moved is panel
    docks = viewer.window._qt_window.findChildren(QDockWidget)
    assert [one.widget() for one in docks if one.widget() is None or one.widget() is panel] == [panel]

    # A window that closes without its dock ends everything too.
    close_dock(panel)
    viewer.close()
    assert not psutil.pid_exists(pid)

"""The tab Agglomerate: every button, the plots, the timeline."""

from __future__ import annotations

import numpy as np
import pytest
from napari.components import ViewerModel
from napari.layers import Layer
from qtpy.QtCore import QEvent, QPoint, QPointF, Qt
from qtpy.QtGui import QMouseEvent
from qtpy.QtTest import QTest
from qtpy.QtWidgets import QApplication, QMessageBox

from gui.conftest import small_volumes
from gui.patience import be_patient
from models.small import small_model
from napari_celis.gui.canvas.canvas import Canvas
from napari_celis.gui.layers.volume_layers import KINDS, volume_to_layer
from napari_celis.gui.session.command_line import agglomerate_command
from napari_celis.gui.session.workspace import Workspace
from napari_celis.gui.tabs.agglomerate.agglomerate_form import ERRORS, NOTHING, number
from napari_celis.gui.tabs.agglomerate.agglomerate_tab import AgglomerateTab


@pytest.fixture
def tab(qtbot):
    """Give a tab with everything chosen and nothing prepared."""
    be_patient(qtbot)
    viewer = ViewerModel()
    for role, volume in small_volumes().items():
        viewer.add_layer(Layer.create(*volume_to_layer(volume, KINDS[role])))
    workspace = Workspace.of(viewer)
    workspace.data.use_model(small_model())
    tab = AgglomerateTab(workspace)
    qtbot.addWidget(tab)
    tab.workspace = workspace
    tab.show()
    yield tab
    workspace.dispose()


@pytest.fixture
def ready(qtbot, tab):
    """Prepare, and let runs go to the end."""
    qtbot.waitUntil(tab.form.prepare.isEnabled)
    with qtbot.waitSignal(tab.workspace.run.changed, timeout=15_000):
        tab.form.prepare.click()
    tab.workspace.run.engine.set_threshold(1000.0)
    qtbot.waitUntil(lambda: tab.form.figures.value("VI split") != NOTHING)
    return tab


def n_steps(tab):
    return len(tab.workspace.run.engine.snapshot.steps)


def wait_for_steps(qtbot, tab, n):
    qtbot.waitUntil(lambda: n_steps(tab) == n and not tab.workspace.run.engine.snapshot.is_running)


def test_before_anything_is_prepared(tab):
    assert tab.form.state.text().startswith("Nothing is prepared yet.")
    assert tab.form.run.isEnabled()
    assert not tab.form.undo.isEnabled()
    assert not tab.form.timeline.slider.isEnabled()
    assert not tab.form.threshold.isEnabled()
    assert tab.form.show_layer.isHidden()


def test_run_prepares_runs_and_says_why_it_ended(qtbot, tab):
    model = small_model()
    model.thresholds["energy"] = 1000.0
    tab.workspace.data.use_model(model)
    qtbot.waitUntil(tab.form.run.isEnabled)
    tab.form.run.click()
    qtbot.waitUntil(lambda: "nothing is left" in tab.form.state.text(), timeout=30_000)
    assert not tab.form.prepare.isEnabled()
    assert tab.form.figures.value("Segments") == "1"
    assert tab.form.figures.value("Next score") == NOTHING
    assert tab.form.figures.value("VI split") == "0.000"
    assert tab.form.figures.value("VI merge") == "1.000"
    assert not tab.form.legend.isVisible()
    tab.form.plot_choice.setCurrentText(ERRORS)
    assert tab.form.legend.isVisible()
    tab.form.plot_choice.setCurrentIndex(0)
    assert len(tab.form.energy.energies) == n_steps(tab) + 1
    assert tab.form.scores.n_shown == 0
    # Everything in one segment is no success, and that stays said until it is taken back.
    qtbot.waitUntil(lambda: "All 48 supervoxels became one segment" in tab.form.remark.text())
    tab.workspace.messages.clear()
    assert tab.form.remark.isVisible()
    tab.form.undo.click()
    qtbot.waitUntil(lambda: not tab.form.remark.isVisible())


def test_keys_prepare_once_however_often_they_are_pressed(qtbot, tab):
    workspace, engines = tab.workspace, []
    workspace.run.changed.connect(lambda: engines.append(workspace.run.engine))
    for _ in range(3):
        tab.toggle()
        tab.step_once()
    qtbot.waitUntil(lambda: bool(engines), timeout=30_000)
    wait_for_steps(qtbot, tab, 1)
    qtbot.waitUntil(lambda: not workspace.preparation.is_busy)
    assert len(engines) == 1, "and what was wanted last was done"

    # What fails or is cancelled can be asked for again.
    workspace.use_engine(None)
    tab.step_once()
    workspace.preparation.cancel()
    qtbot.waitUntil(lambda: not workspace.preparation.is_busy)
    tab.step_once()
    qtbot.waitUntil(lambda: workspace.run.engine is not None, timeout=30_000)
    wait_for_steps(qtbot, tab, 1)


def test_run_becomes_pause(qtbot, ready):
    ready.form.speed.setValue(5)
    ready.form.run.click()
    qtbot.waitUntil(lambda: ready.form.run.text().startswith("Pause") and n_steps(ready) >= 1)
    assert ready.form.state.text() == "Running."
    ready.form.run.click()
    qtbot.waitUntil(lambda: ready.form.run.text().startswith("Run"))
    assert ready.form.state.text() == "Paused."
    assert n_steps(ready) < 20
    ready.form.speed.setValue(0)
    ready.form.run.click()
    qtbot.waitUntil(lambda: "nothing is left" in ready.form.state.text())


def test_steps_undo_redo_and_reset(qtbot, ready):
    ready.form.step.click()
    wait_for_steps(qtbot, ready, 1)
    assert ready.form.figures.value("Merges") == "1"
    assert ready.form.figures.value("Last score").startswith("−")
    ready.form.n_steps.setValue(5)
    ready.form.many.click()
    wait_for_steps(qtbot, ready, 6)
    ready.form.undo.click()
    wait_for_steps(qtbot, ready, 5)
    ready.form.redo.click()
    wait_for_steps(qtbot, ready, 6)
    assert not ready.form.redo.isEnabled()
    ready.form.reset.click()
    wait_for_steps(qtbot, ready, 0)
    ready.form.redo.click()
    wait_for_steps(qtbot, ready, 6)
    ready.form.reset.click()
    wait_for_steps(qtbot, ready, 0)
    assert ready.form.figures.value("Segments") == "48"
    assert not ready.form.undo.isEnabled()
    assert ready.form.energy.energies == [ready.workspace.run.engine.snapshot.energy]


def test_threshold_is_dragged_or_typed_and_run_to(qtbot, ready):
    engine = ready.workspace.run.engine
    ready.form.run.click()
    qtbot.waitUntil(lambda: "nothing is left" in ready.form.state.text())
    n_all = n_steps(ready)
    middle = float(np.median([step.score for step in engine.snapshot.steps]))
    ready.form.scores.line.setValue(middle)
    ready.form.scores.line.sigDragged.emit(ready.form.scores.line)
    assert engine.threshold == middle
    assert ready.form.threshold.value() == pytest.approx(middle, abs=1e-3)
    ready.form.to_threshold.click()
    qtbot.waitUntil(lambda: "not below the threshold" in ready.form.state.text())
    assert 0 < n_steps(ready) < n_all
    ready.form.threshold.setValue(-0.5)
    assert ready.form.scores.line.value() == engine.threshold == -0.5
    assert "--threshold -0.5" in ready.form.command.text.text()


def test_threshold_counts_when_it_is_typed_to_the_end(qtbot, ready):
    engine, seen = ready.workspace.run.engine, []
    engine.threshold_changed.connect(seen.append)
    ready.form.threshold.selectAll()
    QTest.keyClicks(ready.form.threshold, "-1.5")
    assert seen == []
    QTest.keyClick(ready.form.threshold, Qt.Key.Key_Return)
    assert seen == [-1.5]


def test_run_without_a_merge_says_what_to_do(qtbot, ready):
    ready.form.threshold.setValue(-500)
    ready.form.run.click()
    qtbot.waitUntil(lambda: "No merge was made" in ready.workspace.messages.current.text)
    assert "the threshold −500.000" in ready.workspace.messages.current.text
    assert ready.workspace.messages.current.severity == "warning"


def test_timeline_shows_any_step_and_goes_back(qtbot, ready):
    ready.form.n_steps.setValue(10)
    ready.form.many.click()
    wait_for_steps(qtbot, ready, 10)
    timeline, live = ready.form.timeline, Canvas.of(ready.workspace).segmentation.layer.data
    assert timeline.slider.maximum() == timeline.slider.value() == 10
    timeline.slider.setValue(4)
    expected = []
    ready.workspace.run.engine.ask(lambda agglomerator: agglomerator.segment_ids(4), expected.append)
    qtbot.waitUntil(lambda: bool(expected) and np.array_equal(live.lut, expected[0]))
    assert timeline.step_text.text() == "preview of 4 of 10"
    timeline.latest.click()
    np.testing.assert_array_equal(live.lut, ready.workspace.run.engine.snapshot.segment_ids)
    assert not timeline.go_back.isEnabled()
    timeline.slider.setValue(3)
    timeline.go_back.click()
    wait_for_steps(qtbot, ready, 3)
    assert timeline.step_text.text() == "3 decisions"
    np.testing.assert_array_equal(live.lut, ready.workspace.run.engine.snapshot.segment_ids)
    assert ready.workspace.run.engine.snapshot.n_undone == 7


def test_undo_and_redo_show_the_present(qtbot, ready):
    workspace = ready.workspace
    live = Canvas.of(workspace).segmentation.layer.data
    ready.form.many.click()
    wait_for_steps(qtbot, ready, 10)
    for button, n_left in ((ready.form.undo, 9), (ready.form.redo, 10)):
        workspace.preview.show(4)
        button.click()
        wait_for_steps(qtbot, ready, n_left)
        assert workspace.preview.step is None
        np.testing.assert_array_equal(live.lut, workspace.run.engine.snapshot.segment_ids)

    # A state that is no longer in the past is the present, also where nobody sees the timeline.
    ready.hide()
    workspace.preview.show(7)
    workspace.run.engine.undo(5)
    wait_for_steps(qtbot, ready, 5)
    assert workspace.preview.step is None
    np.testing.assert_array_equal(live.lut, workspace.run.engine.snapshot.segment_ids)


def test_camera_follows_the_merges(qtbot, ready):
    ready.form.step.click()
    wait_for_steps(qtbot, ready, 1)
    engine, viewer = ready.workspace.run.engine, ready.workspace.viewer
    viewer.scene.camera.zoom = 1000
    ready.form.follow.click()
    ready.form.step.click()
    wait_for_steps(qtbot, ready, 2)
    action = engine.snapshot.steps[-1].action_index
    where = Canvas.of(ready.workspace).segmentation.layer.data_to_world(
        engine.tables.actions.centroid[action]
    )
    assert viewer.scene.camera.center[1:] == pytest.approx(where[1:])


def test_hidden_tab_does_nothing_until_it_is_seen(qtbot, ready):
    ready.hide()
    ready.form.step.click()
    wait_for_steps(qtbot, ready, 1)
    assert len(ready.form.energy.energies) == 1
    assert ready.form.figures.value("Merges") == "0"
    assert not ready.form.undo.isEnabled()
    ready.show()
    assert len(ready.form.energy.energies) == 2
    assert ready.form.figures.value("Merges") == "1"
    assert ready.form.undo.isEnabled()


def test_removed_segmentation_can_be_shown_again(qtbot, ready):
    workspace = ready.workspace
    workspace.viewer.layers.remove(Canvas.of(workspace).segmentation.layer)
    assert not ready.form.show_layer.isHidden()
    ready.form.show_layer.click()
    assert Canvas.of(workspace).segmentation.layer in workspace.viewer.layers
    assert ready.form.show_layer.isHidden()


def test_painting_on_the_supervoxels_offers_to_prepare_again(ready):
    assert not ready.form.prepare.isEnabled()
    ready.layout().activate()
    places = {name: getattr(ready.form, name).geometry() for name in ("run", "undo", "follow")}
    assert ready.form.state.text() == "Ready."
    assert "--threshold 1000" in agglomerate_command(ready.workspace)
    layer = ready.workspace.data.supervoxels_layer
    layer.data_setitem((np.array([0]), np.array([0]), np.array([0])), 1)
    assert ready.form.prepare.isEnabled()
    assert ready.form.prepare.text() == "Prepare again"
    ready.form.layout().activate()
    assert places == {name: getattr(ready.form, name).geometry() for name in places}, "nothing jumps"
    assert "this run goes on with the old" in ready.form.state.text()
    assert "--threshold" not in agglomerate_command(ready.workspace), "it is that of the old run"


def test_line_of_the_threshold_is_dragged_with_the_mouse(qtbot, ready):
    ready.resize(420, 800)
    engine, plot = ready.workspace.run.engine, ready.form.scores
    engine.set_threshold(0.0)
    qtbot.wait(50)
    place, box = plot.viewport(), plot.getPlotItem().getViewBox()
    range_before = box.viewRange()[0]
    start = plot.mapFromScene(box.mapViewToScene(plot.line.pos()))
    start.setY(place.height() // 3)
    button = Qt.MouseButton.LeftButton
    QTest.mouseMove(place, start)
    QTest.mousePress(place, button, pos=start)
    for shift in (8, 24, 40):
        # Qt sends moves without a button, which would not be a drag.
        at = start + QPoint(shift, 0)
        event = QMouseEvent(
            QEvent.Type.MouseMove,
            QPointF(at),
            QPointF(place.mapToGlobal(at)),
            Qt.MouseButton.NoButton,
            button,
            Qt.KeyboardModifier.NoModifier,
        )
        QApplication.sendEvent(place, event)
        # pyqtgraph drops moves that come faster than a hundred a second.
        qtbot.wait(20)
    assert box.viewRange()[0] == range_before, "the scale stays under the mouse"
    QTest.mouseRelease(place, button, pos=start + QPoint(40, 0))
    assert engine.threshold > 0
    assert ready.form.threshold.value() == pytest.approx(engine.threshold, abs=1e-3)


def test_plots_grow_with_the_window_and_fit_a_small_one(qtbot, ready):
    # What is left for the tab in a window of 1280 × 800.
    ready.resize(380, 620)
    assert ready.heightForWidth(380) <= 620
    small = ready.form.energy.height()
    ready.resize(480, 1000)
    qtbot.waitUntil(lambda: ready.form.energy.height() > small)


def test_preparing_again_asks_before_decisions_are_lost(qtbot, ready, monkeypatch):
    ready.form.step.click()
    wait_for_steps(qtbot, ready, 1)
    first = ready.workspace.run.engine
    ready.workspace.data.use_model(small_model())
    assert ready.form.prepare.text() == "Prepare again"
    assert ready.form.prepare.isEnabled()
    monkeypatch.setattr(QMessageBox, "question", lambda *args: QMessageBox.StandardButton.No)
    ready.form.prepare.click()
    assert not ready.workspace.preparation.is_busy
    monkeypatch.setattr(QMessageBox, "question", lambda *args: QMessageBox.StandardButton.Yes)
    with qtbot.waitSignal(ready.workspace.run.changed, timeout=30_000):
        ready.form.prepare.click()
    assert ready.workspace.run.engine is not first
    assert n_steps(ready) == 0


def test_theme_changes_the_plots(ready):
    ready.workspace.viewer.theme = "light"
    dark_on_light = ready.form.energy.getAxis("left").textPen().color().lightness()
    ready.workspace.viewer.theme = "dark"
    assert dark_on_light < 100 < ready.form.energy.getAxis("left").textPen().color().lightness()


def test_figures_and_marks_follow_the_preview(qtbot, ready):
    engine, form = ready.workspace.run.engine, ready.form
    start = {name: form.figures.value(name) for name in ("Segments", "Energy", "VI split", "VI merge")}
    engine.step(6)
    wait_for_steps(qtbot, ready, 6)
    engine.step(4)
    wait_for_steps(qtbot, ready, 10)
    steps = engine.snapshot.steps
    now = {name: form.figures.value(name) for name in start}
    form.timeline.slider.setValue(6)
    qtbot.waitUntil(lambda: form.figures.value("Segments") == f"{steps[5].n_segments:,}")
    assert form.figures.value("Merges") == "6"
    assert form.figures.value("Last score") == number(steps[5].score)
    assert form.figures.value("Next score") == number(steps[6].score)
    form.timeline.slider.setValue(0)
    qtbot.waitUntil(lambda: {name: form.figures.value(name) for name in start} == start)
    form.timeline.latest.click()
    assert {name: form.figures.value(name) for name in start} == now


def test_errors_over_the_run_are_a_curve_where_there_is_a_truth(qtbot, ready):
    engine, form = ready.workspace.run.engine, ready.form
    assert form.plot_choice.isVisible()
    assert not form.errors.isVisible()
    engine.run()
    qtbot.waitUntil(lambda: "Done" in form.state.text())
    form.plot_choice.setCurrentText(ERRORS)
    qtbot.waitUntil(lambda: form.errors.curve is not None)
    assert form.errors.isVisible()
    assert not form.energy.isVisible()
    curve, snapshot = form.errors.curve, engine.snapshot
    assert curve.n_steps[-1] == len(snapshot.steps)
    assert (curve.split[-1], curve.merge[-1]) == pytest.approx((snapshot.vi_split, snapshot.vi_merge))
    engine.undo(3)
    qtbot.waitUntil(lambda: form.errors.curve.n_steps[-1] == len(snapshot.steps) - 3)


def test_the_curve_of_errors_goes_on_while_a_run_does(qtbot, ready):
    engine, form = ready.workspace.run.engine, ready.form
    form.plot_choice.setCurrentText(ERRORS)
    qtbot.waitUntil(lambda: form.errors.curve is not None)
    engine.set_speed(10)
    lengths = []

    def note(snapshot):
        if snapshot.is_running:
            lengths.append(form.errors.curve.n_steps[-1])

    engine.advanced.connect(note)
    engine.run(1000.0)
    qtbot.waitUntil(lambda: bool(lengths) and lengths[-1] > lengths[0])
    engine.pause()
    qtbot.waitUntil(lambda: not engine.snapshot.is_running)
    snapshot = engine.snapshot
    qtbot.waitUntil(lambda: form.errors.curve.n_steps[-1] == len(snapshot.steps))
    curve = form.errors.curve
    assert (curve.split[-1], curve.merge[-1]) == pytest.approx((snapshot.vi_split, snapshot.vi_merge))


def test_sentences_do_not_outlive_what_they_tell(qtbot, ready):
    engine, form = ready.workspace.run.engine, ready.form
    engine.set_threshold(-1e6)
    form.run.click()
    qtbot.waitUntil(lambda: "No merge was made" in form.remark.text())
    assert form.state.text().startswith("Done")
    form.threshold.setValue(1000.0)
    assert form.remark.text() == ""
    assert form.state.text() == "Ready."
    assert ready.workspace.messages.current.text == ""
    form.run.click()
    qtbot.waitUntil(lambda: "nothing is left" in form.state.text())
    form.undo.click()
    qtbot.waitUntil(lambda: form.state.text() == f"Ready: {n_steps(ready)} decisions stand.")
    form.reset.click()
    qtbot.waitUntil(lambda: form.state.text() == "Ready.")


def test_the_last_score_is_none_after_a_cut(qtbot, ready):
    engine, form = ready.workspace.run.engine, ready.form
    engine.step(1)
    wait_for_steps(qtbot, ready, 1)
    step = engine.snapshot.steps[0]
    qtbot.waitUntil(lambda: form.figures.value("Last score") == number(step.score))
    engine.ask(lambda a: a.cut(step.u_id, step.v_id), lambda cut: None)
    engine.pause()
    qtbot.waitUntil(lambda: form.figures.value("Last score") == NOTHING)


def test_the_command_knows_of_decisions_by_hand(qtbot, ready):
    workspace, engine = ready.workspace, ready.workspace.run.engine
    assert "--session" not in agglomerate_command(workspace)
    engine.merge(*engine.tables.ids_of(0))
    wait_for_steps(qtbot, ready, 1)
    command = agglomerate_command(workspace, "out.zarr")
    assert f"--session {workspace.run.session_path}" in command
    assert command.endswith("-o out.zarr")

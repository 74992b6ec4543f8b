"""A new window goes on with exactly what stood, and a second one does not disturb the first."""

from __future__ import annotations

import numpy as np
from napari.components import ViewerModel
from napari.layers import Image, Labels

from gui.conftest import VOXEL_NM, kept, small_volumes
from gui.patience import be_patient
from models.small import small_model
from napari_celis.gui.plugin.resume_bar import ResumeBar
from napari_celis.gui.session.decision_files import (
    read_decisions,
)
from napari_celis.gui.session.engine.commands import Redo
from napari_celis.gui.session.messages import Message
from napari_celis.gui.session.workspace import Workspace
from napari_celis.gui.tabs.agglomerate.agglomerate_tab import AgglomerateTab

FIRST = 1 << 33


def open_window(qtbot):
    """Open the small volumes with their model, as a person would the next day."""
    viewer, volumes = ViewerModel(), small_volumes()
    viewer.add_layer(Image(volumes["image"].read(), name="image", scale=VOXEL_NM))
    viewer.add_layer(Labels(volumes["supervoxels"].read(), name="supervoxels", scale=VOXEL_NM))
    workspace = Workspace.of(viewer)
    workspace.data.use_model(small_model())
    offer = ResumeBar(workspace)
    qtbot.addWidget(offer)
    workspace.preparation.count_supervoxels()
    qtbot.waitUntil(lambda: workspace.data.counted() is not None and not workspace.preparation.is_busy)
    return workspace, offer


def prepare(qtbot, workspace):
    workspace.preparation.prepare()
    qtbot.waitUntil(lambda: workspace.run.engine is not None and not workspace.preparation.is_busy)
    return workspace.run.engine


def decide(qtbot, workspace):
    """Step, keep apart, merge, cut, undo and redo; return what stands."""
    engine, decisions = workspace.run.engine, workspace.decisions
    engine.step(3)
    qtbot.waitUntil(lambda: len(engine.snapshot.steps) == 3)
    decisions.next_uncertain()
    decisions.reject()
    qtbot.waitUntil(lambda: len(engine.snapshot.steps) == 4)
    decisions.accept()
    qtbot.waitUntil(lambda: len(engine.snapshot.steps) == 5)
    engine.cut(engine.snapshot.steps[0].u_id, engine.snapshot.steps[0].v_id)
    qtbot.waitUntil(lambda: len(engine.snapshot.steps) == 6)
    engine.step(2)
    qtbot.waitUntil(lambda: len(engine.snapshot.steps) == 8)
    engine.undo(2)
    engine.redo()
    qtbot.waitUntil(lambda: isinstance(engine.snapshot.last_command, Redo))
    return engine.snapshot


def test_a_new_window_goes_on_with_exactly_what_stood(qtbot):
    be_patient(qtbot)
    workspace, offer = open_window(qtbot)
    prepare(qtbot, workspace)
    before = decide(qtbot, workspace)
    # What is shown is in the file already: nothing is written when the window closes.
    path = workspace.run.decisions_path
    assert kept(read_decisions(path)) == kept(before.steps)
    assert offer.isHidden()
    text = path.read_text()
    workspace.dispose()
    assert path.read_text() == text

    workspace, offer = open_window(qtbot)
    qtbot.waitUntil(lambda: bool(offer.runs))
    assert not offer.isHidden()
    assert f"{len(before.steps)} decisions, 3 by hand" in offer.sentence.text()
    offer.go.click()
    qtbot.waitUntil(lambda: workspace.run.engine is not None)
    qtbot.waitUntil(lambda: len(workspace.run.engine.snapshot.steps) == len(before.steps))
    qtbot.waitUntil(lambda: not workspace.run.engine.snapshot.is_running)
    after = workspace.run.engine.snapshot
    assert kept(after.steps) == kept(before.steps)
    np.testing.assert_array_equal(after.segment_ids, before.segment_ids)
    np.testing.assert_allclose(after.scores, before.scores)
    assert after.constraints == before.constraints
    assert not after.is_running
    assert offer.isHidden()

    # What is decided now goes to the same file.
    workspace.run.engine.undo()
    qtbot.waitUntil(lambda: len(workspace.run.engine.snapshot.steps) == len(before.steps) - 1)
    assert workspace.run.decisions_path == path
    assert kept(read_decisions(path)) == kept(before.steps[:-1])
    workspace.dispose()


def test_a_second_window_says_that_the_first_has_these_decisions(qtbot):
    be_patient(qtbot)
    first, _ = open_window(qtbot)
    engine = prepare(qtbot, first)
    engine.merge(FIRST + 1, FIRST + 2)
    qtbot.waitUntil(lambda: len(engine.snapshot.steps) == 1)
    path = first.run.decisions_path

    second, offer = open_window(qtbot)
    qtbot.waitUntil(lambda: bool(offer.runs))
    offer.go.click()
    sentence, severity = second.messages.current.text, second.messages.current.severity
    assert sentence.startswith("Another window has these decisions open")
    assert severity == "warning"
    assert not offer.isHidden()
    assert second.run.engine is None
    assert not second.preparation.is_busy

    # The first decides once more and closes: now the second goes on with all of it.
    engine.step()
    qtbot.waitUntil(lambda: len(engine.snapshot.steps) == 2)
    first.dispose()
    offer.go.click()
    qtbot.waitUntil(lambda: second.run.engine is not None and len(second.run.engine.snapshot.steps) == 2)
    assert second.run.decisions_path == path
    assert second.messages.current == Message()
    second.dispose()


def test_who_does_not_wait_for_the_first_window_begins_anew(qtbot):
    be_patient(qtbot)
    first, _ = open_window(qtbot)
    engine = prepare(qtbot, first)
    engine.step()
    qtbot.waitUntil(lambda: len(engine.snapshot.steps) == 1)
    second, offer = open_window(qtbot)
    qtbot.waitUntil(lambda: bool(offer.runs))
    offer.go.click()
    offer.later.click()
    assert second.messages.current == Message()
    prepare(qtbot, second)
    assert second.run.decisions_path != first.run.decisions_path
    first.dispose()
    second.dispose()


def test_the_tab_agglomerate_says_what_is_done_again(qtbot):
    be_patient(qtbot)
    workspace, _ = open_window(qtbot)
    engine = prepare(qtbot, workspace)
    engine.step(3)
    qtbot.waitUntil(lambda: len(engine.snapshot.steps) == 3)
    steps, path = engine.snapshot.steps, workspace.run.decisions_path
    workspace.dispose()

    workspace, offer = open_window(qtbot)
    tab = AgglomerateTab(workspace)
    qtbot.addWidget(tab)
    tab.show()
    qtbot.waitUntil(lambda: bool(offer.runs))
    offer.go.click()
    qtbot.waitUntil(lambda: tab.form.state.text() == "Ready: 3 decisions stand again.")
    assert tab.form.run.isEnabled()
    assert tab.form.figures.value("Merges") == "3"
    assert kept(read_decisions(path)) == kept(steps)
    workspace.dispose()


def test_who_begins_anew_loses_nothing_either(qtbot):
    be_patient(qtbot)
    workspace, offer = open_window(qtbot)
    engine = prepare(qtbot, workspace)
    engine.merge(FIRST + 1, FIRST + 2)
    qtbot.waitUntil(lambda: len(engine.snapshot.steps) == 1)
    workspace.dispose()

    workspace, offer = open_window(qtbot)
    qtbot.waitUntil(lambda: len(offer.runs) == 1)
    offer.later.click()
    assert offer.isHidden()
    engine = prepare(qtbot, workspace)
    engine.step(2)
    qtbot.waitUntil(lambda: len(engine.snapshot.steps) == 2)
    workspace.dispose()

    workspace, offer = open_window(qtbot)
    qtbot.waitUntil(lambda: len(offer.runs) == 2)
    assert "1 decision, 1 by hand" in offer.sentence.text()
    offer.choice.setCurrentIndex(1)
    assert "2 decisions, 0 by hand" in offer.sentence.text()
    offer.choice.setCurrentIndex(0)
    engine = prepare(qtbot, workspace)
    qtbot.waitUntil(lambda: len(offer.runs) == 2)
    offer.go.click()
    qtbot.waitUntil(lambda: len(engine.snapshot.steps) == 1)
    assert engine.snapshot.steps[0].kind == "manual"
    workspace.dispose()


def test_an_offer_goes_with_the_model(qtbot):
    be_patient(qtbot)
    workspace, offer = open_window(qtbot)
    engine = prepare(qtbot, workspace)
    engine.step()
    qtbot.waitUntil(lambda: len(engine.snapshot.steps) == 1)
    workspace.dispose()
    workspace, offer = open_window(qtbot)
    qtbot.waitUntil(lambda: bool(offer.runs))
    workspace.data.use_model(None)
    assert offer.isHidden()
    workspace.dispose()


def test_a_failed_look_for_earlier_decisions_is_said(qtbot, monkeypatch):
    be_patient(qtbot)

    def fail(key):
        raise PermissionError("not yours")

    monkeypatch.setattr("napari_celis.gui.session.run_resume.saved_runs", fail)
    workspace, offer = open_window(qtbot)
    qtbot.waitUntil(lambda: "not yours" in workspace.messages.current.text)
    assert workspace.messages.current.severity == "warning"
    assert offer.isHidden()
    workspace.dispose()

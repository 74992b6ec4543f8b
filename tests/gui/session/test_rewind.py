"""Work by hand is never thrown away without a question, and there is a way back even after another run."""

from __future__ import annotations

import pytest

from gui.conftest import kept
from gui.patience import be_patient
from gui.windows import in_file, open_window, prepare
from napari_celis.core.errors import CelisError
from napari_celis.gui.plugin.session_bar import SessionBar
from napari_celis.gui.qt import widgets
from napari_celis.gui.qt.progress import ProgressLine
from napari_celis.gui.session.rewind import copies_of
from napari_celis.gui.tabs.agglomerate.agglomerate_tab import AgglomerateTab
from napari_celis.gui.tabs.decisions.history_tab import HistoryTab


@pytest.fixture
def questions(monkeypatch):
    """What was asked; the answer is `questions.answer`."""

    class Questions(list):
        answer = True

    asked = Questions()

    def question(parent, title, text, *buttons):
        asked.append(text)
        yes, no = widgets.QMessageBox.StandardButton.Yes, widgets.QMessageBox.StandardButton.No
        return yes if asked.answer else no

    monkeypatch.setattr(widgets.QMessageBox, "question", question)
    return asked


@pytest.fixture
def window(qtbot):
    be_patient(qtbot)
    workspace, offer = open_window(qtbot)
    prepare(qtbot, workspace)
    workspace.tab, workspace.bar, workspace.offer = (
        AgglomerateTab(workspace),
        SessionBar(workspace, ProgressLine()),
        offer,
    )
    for widget in (workspace.tab, workspace.bar):
        qtbot.addWidget(widget)
    workspace.tab.show()
    yield workspace
    workspace.dispose()


def work(qtbot, workspace):
    """Take three merges, and answer two questions by hand."""
    engine, decisions = workspace.run.engine, workspace.decisions
    engine.step(3)
    qtbot.waitUntil(lambda: len(engine.snapshot.steps) == 3)
    decisions.next_uncertain()
    decisions.reject()
    qtbot.waitUntil(lambda: len(engine.snapshot.steps) == 4)
    decisions.accept()
    qtbot.waitUntil(lambda: len(engine.snapshot.steps) == 5)
    return engine.snapshot


def test_reset_asks_and_what_it_took_comes_back_after_a_run_and_in_the_next_window(qtbot, window, questions):
    before, engine, path = work(qtbot, window), window.run.engine, window.run.session_path
    questions.answer = False
    window.tab.form.reset.click()
    assert "2 decisions that you made by hand and 3 merges of the run" in questions[-1]
    assert kept(engine.snapshot.steps) == kept(before.steps)
    assert copies_of(path) == {}

    questions.answer = True
    window.tab.form.reset.click()
    qtbot.waitUntil(lambda: not engine.snapshot.steps)
    ((copy, title),) = copies_of(path).items()
    assert title.endswith("2 by hand")
    assert in_file(copy) == kept(before.steps)
    window.tab.form.run.click()
    qtbot.waitUntil(lambda: engine.snapshot.n_undone == 0 and not engine.snapshot.is_running)
    assert not window.tab.form.redo.isEnabled()

    # The menu brings everything back, to the bit.
    window.bar.menu.aboutToShow.emit()
    (entry,) = window.bar.bring_back.actions()
    assert entry.text() == title
    entry.trigger()
    qtbot.waitUntil(lambda: window.run.session_path == copy and not window.preparation.is_busy)
    after = window.run.engine.snapshot
    assert kept(after.steps) == kept(before.steps)
    assert (after.scores == before.scores).all()
    assert after.energy == before.energy
    assert after.constraints == before.constraints
    # A copy of the copy is one of the same session, which does not list itself.
    assert copies_of(copy) == {}
    window.dispose()

    workspace, offer = open_window(qtbot)
    qtbot.waitUntil(lambda: bool(offer.runs))
    assert "5 decisions, 2 by hand" in offer.sentence.text()
    workspace.dispose()


def test_going_back_on_timeline_and_history_asks_for_decisions_by_hand_only(qtbot, window, questions):
    work(qtbot, window)
    engine, timeline = window.run.engine, window.tab.form.timeline
    questions.answer = False
    qtbot.waitUntil(lambda: timeline.slider.maximum() == 5)
    timeline.slider.setValue(4)
    timeline.go_back.click()
    assert "1 decision that you made by hand." in questions[-1]
    history = HistoryTab(window)
    qtbot.addWidget(history)
    history.show()
    history.view.selectRow(2)
    history.go_back.click()
    assert "2 decisions that you made by hand." in questions[-1]
    assert len(engine.snapshot.steps) == 5

    engine.undo(2)
    qtbot.waitUntil(lambda: len(engine.snapshot.steps) == 3)
    window.tab.form.reset.click()
    qtbot.waitUntil(lambda: not engine.snapshot.steps)
    assert len(questions) == 2


def test_nothing_is_taken_back_where_no_copy_can_be_kept(qtbot, window, questions, monkeypatch):
    before = work(qtbot, window)

    def refuse(path):
        raise CelisError("The disk is full.")

    monkeypatch.setattr(window.run.recorder, "copy_to", refuse)
    window.tab.form.reset.click()
    qtbot.waitUntil(lambda: "The disk is full." in window.messages.current.text)
    assert kept(window.run.engine.snapshot.steps) == kept(before.steps)


def test_a_session_that_is_only_read_says_that_nothing_keeps_them(qtbot, window, questions):
    work(qtbot, window)
    window.run.recorder = None
    window.tab.form.reset.click()
    assert "no copy can be kept" in questions[-1]
    qtbot.waitUntil(lambda: not window.run.engine.snapshot.steps)

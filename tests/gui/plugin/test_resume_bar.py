"""A new window goes on with exactly what stood, and a second one does not disturb the first."""

from __future__ import annotations

import numpy as np

from gui.conftest import kept
from gui.patience import be_patient
from gui.windows import in_file, open_window, prepare
from napari_celis.gui.session.background.job import Job
from napari_celis.gui.session.engine.commands import Redo
from napari_celis.gui.session.messages import Message
from napari_celis.gui.session.session_run import SessionWish
from napari_celis.gui.session.session_store import old_folder, run_key
from napari_celis.gui.tabs.agglomerate.agglomerate_tab import AgglomerateTab

FIRST = 1 << 33


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
    # A cut also keeps its two sides apart.
    qtbot.waitUntil(lambda: len(engine.snapshot.steps) == 7)
    engine.step(2)
    qtbot.waitUntil(lambda: len(engine.snapshot.steps) == 9)
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
    path = workspace.run.session_path
    assert in_file(path) == kept(before.steps)
    assert offer.isHidden()
    workspace.dispose()
    assert in_file(path) == kept(before.steps)

    workspace, offer = open_window(qtbot)
    qtbot.waitUntil(lambda: bool(offer.runs))
    assert not offer.isHidden()
    assert f"{len(before.steps)} decisions, 4 by hand" in offer.sentence.text()
    offer.go.click()
    qtbot.waitUntil(lambda: workspace.run.engine is not None)
    qtbot.waitUntil(lambda: len(workspace.run.engine.snapshot.steps) == len(before.steps))
    qtbot.waitUntil(lambda: not workspace.run.engine.snapshot.is_running)
    after = workspace.run.engine.snapshot
    assert kept(after.steps) == kept(before.steps)
    np.testing.assert_array_equal(after.segment_ids, before.segment_ids)
    np.testing.assert_array_equal(after.scores, before.scores)
    assert after.energy == before.energy
    assert after.n_undone == before.n_undone
    assert after.constraints == before.constraints
    assert not after.is_running
    assert offer.isHidden()

    # What is decided now goes to the same file.
    workspace.run.engine.undo()
    qtbot.waitUntil(lambda: len(workspace.run.engine.snapshot.steps) == len(before.steps) - 1)
    assert workspace.run.session_path == path
    assert in_file(path) == kept(before.steps[:-1])
    workspace.dispose()


def test_the_threshold_is_kept_and_other_sessions_are_not_offered_to_who_goes_on(qtbot):
    be_patient(qtbot)
    workspace, _ = open_window(qtbot)
    engine = prepare(qtbot, workspace)
    engine.merge(FIRST + 1, FIRST + 2)
    qtbot.waitUntil(lambda: len(engine.snapshot.steps) == 1)
    workspace.dispose()

    workspace, _ = open_window(qtbot)
    engine = prepare(qtbot, workspace)
    engine.set_threshold(0.625)
    engine.step(2)
    qtbot.waitUntil(lambda: len(engine.snapshot.steps) == 2)
    engine.set_threshold(0.75)
    path = workspace.run.session_path
    workspace.dispose()

    workspace, offer = open_window(qtbot)
    qtbot.waitUntil(lambda: len(offer.runs) == 2)
    offer.choice.setCurrentIndex([saved.path for saved in offer.runs].index(path))
    offer.go.click()
    qtbot.waitUntil(lambda: workspace.run.engine is not None and not workspace.preparation.is_busy)
    assert workspace.run.engine.threshold == 0.75
    qtbot.waitUntil(lambda: not offer.resume.findChildren(Job))
    assert offer.isHidden()
    workspace.dispose()


def test_skipped_decisions_stay_at_the_end_of_the_queue(qtbot):
    be_patient(qtbot)
    workspace, _ = open_window(qtbot)
    engine = prepare(qtbot, workspace)
    decisions = workspace.decisions
    decisions.next_uncertain()
    skipped = decisions.pair.action
    decisions.unsure()
    assert decisions.order.queue.order()[-1] == skipped
    engine.merge(FIRST + 1, FIRST + 2)
    qtbot.waitUntil(lambda: len(engine.snapshot.steps) == 1)
    decisions.next_uncertain()
    decisions.unsure()
    both = list(decisions.order.queue.skipped)
    workspace.dispose()

    workspace, offer = open_window(qtbot)
    qtbot.waitUntil(lambda: bool(offer.runs))
    offer.go.click()
    qtbot.waitUntil(lambda: workspace.run.engine is not None)
    assert sorted(workspace.decisions.order.queue.skipped) == sorted(both)
    assert skipped in both
    workspace.dispose()


def test_a_second_window_is_told_and_reads_only(qtbot):
    be_patient(qtbot)
    first, _ = open_window(qtbot)
    engine = prepare(qtbot, first)
    engine.merge(FIRST + 1, FIRST + 2)
    qtbot.waitUntil(lambda: len(engine.snapshot.steps) == 1)
    path = first.run.session_path

    second, offer = open_window(qtbot)
    qtbot.waitUntil(lambda: bool(offer.runs))
    offer.go.click()
    qtbot.waitUntil(lambda: second.run.engine is not None and len(second.run.engine.snapshot.steps) == 1)
    assert "is open in another window" in second.messages.current.text
    assert second.messages.current.severity == "warning"
    assert second.run.recorder is None
    second.run.engine.step()
    qtbot.waitUntil(lambda: len(second.run.engine.snapshot.steps) == 2)
    assert len(in_file(path)) == 1

    # The first decides once more and closes: now the second can go on with all of it.
    engine.step()
    qtbot.waitUntil(lambda: len(engine.snapshot.steps) == 2)
    first.dispose()
    second.preparation.prepare(session=SessionWish(path, goes_on=True))
    qtbot.waitUntil(lambda: second.run.recorder is not None)
    assert len(second.run.engine.snapshot.steps) == 2
    second.run.engine.step()
    qtbot.waitUntil(lambda: len(second.run.engine.snapshot.steps) == 3)
    assert len(in_file(path)) == 3
    second.dispose()


def test_who_does_not_wait_for_the_first_window_begins_anew(qtbot):
    be_patient(qtbot)
    first, _ = open_window(qtbot)
    engine = prepare(qtbot, first)
    engine.step()
    qtbot.waitUntil(lambda: len(engine.snapshot.steps) == 1)
    second, offer = open_window(qtbot)
    qtbot.waitUntil(lambda: bool(offer.runs))
    offer.later.click()
    assert second.messages.current == Message()
    prepare(qtbot, second)
    assert second.run.session_path != first.run.session_path
    first.dispose()
    second.dispose()


def test_the_tab_agglomerate_shows_what_stood(qtbot):
    be_patient(qtbot)
    workspace, _ = open_window(qtbot)
    engine = prepare(qtbot, workspace)
    engine.step(3)
    qtbot.waitUntil(lambda: len(engine.snapshot.steps) == 3)
    steps, path = engine.snapshot.steps, workspace.run.session_path
    workspace.dispose()

    workspace, offer = open_window(qtbot)
    tab = AgglomerateTab(workspace)
    qtbot.addWidget(tab)
    tab.show()
    qtbot.waitUntil(lambda: bool(offer.runs))
    offer.go.click()
    qtbot.waitUntil(lambda: tab.form.run.isEnabled() and workspace.run.engine is not None)
    qtbot.waitUntil(lambda: tab.form.figures.value("Merges") == "3")
    assert in_file(path) == kept(steps)
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
    prepare(qtbot, workspace)
    qtbot.waitUntil(lambda: len(offer.runs) == 2)
    offer.go.click()
    qtbot.waitUntil(lambda: len(workspace.run.engine.snapshot.steps) == 1)
    assert workspace.run.engine.snapshot.steps[0].kind == "manual"
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

    def fail(*names):
        raise PermissionError("not yours")

    monkeypatch.setattr("napari_celis.gui.session.run_resume.saved_sessions", fail)
    workspace, offer = open_window(qtbot)
    qtbot.waitUntil(lambda: "not yours" in workspace.messages.current.text)
    assert workspace.messages.current.severity == "warning"
    assert offer.isHidden()
    workspace.dispose()


def test_decisions_of_earlier_versions_are_taken_over(qtbot):
    """One file that cannot be read hides no other."""
    be_patient(qtbot)
    workspace, offer = open_window(qtbot)
    folder = old_folder(run_key(workspace.data.counted().supervoxels, workspace.data.model))
    folder.mkdir(parents=True)
    line = '{{"index": {}, "kind": "{}", "u_id": {}, "v_id": {}, "score": -1.0, "energy": 1.0}}'
    lines = [
        line.format(0, "manual", FIRST + 1, FIRST + 2),
        line.format(1, "keep-apart", FIRST + 5, FIRST + 6),
    ]
    (folder / "good.jsonl").write_text("\n".join(lines))
    (folder / "infinite.jsonl").write_text('{"index": Infinity, "kind": "greedy"}')
    (folder / "deep.jsonl").write_text("[" * 100_000)
    (folder / "binary.jsonl").write_bytes(bytes(range(256)))
    offer.resume._searched_for = (None, None, None)
    offer.resume.search()
    qtbot.waitUntil(lambda: len(offer.runs) == 1)
    assert "2 decisions, 2 by hand" in offer.sentence.text()
    offer.go.click()
    qtbot.waitUntil(
        lambda: workspace.run.engine is not None and len(workspace.run.engine.snapshot.steps) == 2
    )
    path = workspace.run.session_path
    assert path.suffix == ".celis"
    assert in_file(path) == kept(workspace.run.engine.snapshot.steps)
    assert (folder / "good.jsonl.taken").exists()
    workspace.dispose()

    workspace, offer = open_window(qtbot)
    qtbot.waitUntil(lambda: [run.path for run in offer.runs] == [path])
    workspace.dispose()


def test_cancel_while_going_on_leaves_the_offer(qtbot, monkeypatch, state_folder):
    be_patient(qtbot)
    # As on a computer where nothing was ever prepared.
    state_folder.rmdir()
    workspace, _ = open_window(qtbot)
    engine = prepare(qtbot, workspace)
    engine.merge(FIRST + 1, FIRST + 2)
    qtbot.waitUntil(lambda: len(engine.snapshot.steps) == 1)
    workspace.dispose()

    workspace, offer = open_window(qtbot)
    qtbot.waitUntil(lambda: bool(offer.runs))
    sentence = offer.sentence.text()
    offer.go.click()
    workspace.preparation.cancel()
    qtbot.waitUntil(lambda: not workspace.preparation.is_busy)
    assert not offer.isHidden()
    assert offer.go.isEnabled()
    assert offer.sentence.text() == sentence
    # The second time nothing comes in between, and neither affinities nor contacts are computed again.
    for place in ("models.apply.affinities_of", "pipeline.recipe.read_atoms"):
        monkeypatch.setattr(f"napari_celis.{place}", None)
    offer.go.click()
    qtbot.waitUntil(lambda: workspace.run.engine is not None)
    assert len(workspace.run.engine.snapshot.steps) == 1
    assert offer.isHidden()
    workspace.dispose()

"""Sessions by name: new, open, save as, recent; volumes that moved are asked for."""

from __future__ import annotations

import shutil
from dataclasses import replace

import h5py
import numpy as np
import pytest
from napari.components import ViewerModel
from qtpy.QtWidgets import QFileDialog

from gui.patience import be_patient
from napari_celis.gui.plugin.session_bar import SessionBar
from napari_celis.gui.qt.progress import ProgressLine
from napari_celis.gui.session.workspace import Workspace
from napari_celis.io.session.file import Session
from pipeline.session_run import begin, work, write_data


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A session that a command made, and the agglomerator that did."""
    folder = tmp_path_factory.mktemp("made")
    session, agglomerator = begin(folder / "work.celis", write_data(folder / "data"))
    work(agglomerator)
    session.close()
    yield folder, agglomerator
    agglomerator.close()


@pytest.fixture
def bar(qtbot):
    be_patient(qtbot)
    workspace = Workspace.of(ViewerModel())
    bar = SessionBar(workspace, ProgressLine())
    qtbot.addWidget(bar)
    bar.workspace = workspace
    yield bar
    workspace.dispose()


def wait_for_run(qtbot, bar, path):
    qtbot.waitUntil(lambda: bar.files.path == path and not bar.workspace.preparation.is_busy)
    return bar.workspace.run.engine


def test_opening_brings_volumes_model_and_everything_that_stood(qtbot, bar, made, tmp_path):
    folder, agglomerator = made
    path = tmp_path / "work.celis"
    shutil.copy(folder / "work.celis", path)
    bar.files.open(path)
    engine = wait_for_run(qtbot, bar, path)
    assert [layer.name for layer in bar.workspace.viewer.layers][:2] == ["image", "supervoxels"]
    assert bar.workspace.data.model_path == folder / "data" / "model.safetensors"
    assert not bar.workspace.is_stale
    assert bar.name.text() == "Session: work"
    assert engine.snapshot.steps == agglomerator.history
    np.testing.assert_array_equal(engine.snapshot.segment_ids, agglomerator.segment_ids())
    np.testing.assert_array_equal(engine.snapshot.scores, agglomerator.scores())
    assert engine.snapshot.energy == agglomerator.energy
    assert engine.snapshot.n_undone == len(agglomerator.journal.undone)
    assert engine.tables.first_energy == pytest.approx(agglomerator.energy - agglomerator.energy_change)
    # Decisions of the other day can be undone, and what is undone is in the file.
    with qtbot.waitSignal(engine.carried_out):
        engine.undo()
    with Session.open(path, read_only=True) as session:
        assert [record.event.kind for record in session.events()][-1] == "undo"


def test_session_of_this_window_is_not_opened_again(qtbot, bar, made, tmp_path):
    path, link = tmp_path / "work.celis", tmp_path / "link.celis"
    shutil.copy(made[0] / "work.celis", path)
    link.symlink_to(path)
    bar.files.open(path)
    engine = wait_for_run(qtbot, bar, path)
    n_layers = len(bar.workspace.viewer.layers)
    for name in (path, link):
        bar.files.open(name)
        assert bar.workspace.messages.current.text == f"{name.name} is open in this window already."
        bar.workspace.messages.clear()
    assert bar.workspace.run.engine is engine
    assert not bar.workspace.preparation.is_busy
    assert bar.name.text() == "Session: work", "decisions are still kept"
    assert len(bar.workspace.viewer.layers) == n_layers


def test_new_save_as_and_recent(qtbot, bar, made, tmp_path, monkeypatch):
    first, second = tmp_path / "first.celis", tmp_path / "second"
    copy = tmp_path / "work.celis"
    shutil.copy(made[0] / "work.celis", copy)
    assert not bar.save_as.isEnabled()
    bar.files.open(copy)
    wait_for_run(qtbot, bar, copy)
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *a, **o: (str(first), ""))
    bar.new.trigger()
    engine = wait_for_run(qtbot, bar, first)
    assert first.exists()
    assert engine.snapshot.steps == ()
    with qtbot.waitSignal(engine.carried_out):
        engine.step(2)
    qtbot.waitUntil(lambda: len(engine.snapshot.steps) == 2)
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *a, **o: (str(second), ""))
    bar.save_as.trigger()
    named = second.with_name("second.celis")
    qtbot.waitUntil(lambda: bar.files.path == named)
    assert bar.name.text() == "Session: second"
    with qtbot.waitSignal(engine.carried_out):
        engine.undo()
    for path, n_events in ((first, 2), (named, 3)):
        with Session.open(path, read_only=True) as session:
            assert session.n_events == n_events
    bar.refresh()
    assert [action.text() for action in bar.recent.actions()] == ["first", "work"]
    bar.recent.actions()[0].trigger()
    assert len(wait_for_run(qtbot, bar, first).snapshot.steps) == 2
    bar.files.new(first)
    assert "exists already" in bar.workspace.messages.current.text


def test_volumes_that_moved_are_asked_for(qtbot, bar, made, tmp_path, monkeypatch):
    folder, path = tmp_path / "moved", tmp_path / "alone" / "work.celis"
    shutil.copytree(made[0] / "data", folder)
    path.parent.mkdir()
    shutil.copy(made[0] / "work.celis", path)
    with Session.open(path) as session:
        lost = [replace(v, path=f"/nowhere/{v.role}.h5", relative="") for v in session.head.volumes]
        session.change_head(volumes=tuple(lost), model_path="/nowhere/model.safetensors")
    asked = []

    def answer(parent, title, *arguments):
        asked.append(title)
        name = "model.safetensors" if "model" in title else f"{title.split()[3]}.h5"
        return str(folder / name), ""

    monkeypatch.setattr(QFileDialog, "getOpenFileName", answer)
    bar.files.open(path)
    engine = wait_for_run(qtbot, bar, path)
    assert engine.snapshot.steps == made[1].history
    assert [title.split()[3] for title in asked] == ["image", "supervoxels", "model"]


def test_what_cannot_be_opened_is_said_and_changes_nothing(qtbot, bar, made, tmp_path):
    (tmp_path / "words.celis").write_text("words")
    bar.files.open(tmp_path / "words.celis")
    qtbot.waitUntil(lambda: "not a session file" in bar.workspace.messages.current.text)
    # Volumes of another content are never used.
    shutil.copytree(made[0], tmp_path / "copy")
    image = tmp_path / "copy" / "data" / "image.h5"
    with h5py.File(image, "r+") as file:
        file["image"][0, 0, 0] += 1
    bar.files.open(tmp_path / "copy" / "work.celis", {"image": str(image)})
    qtbot.waitUntil(lambda: "is not that of this session" in bar.workspace.messages.current.text)
    assert bar.workspace.run.engine is None
    with Session.open(tmp_path / "copy" / "work.celis") as session:
        assert session.n_events == 21


def test_a_copy_of_a_session_that_another_window_has(qtbot, bar, made, tmp_path):
    path, copy = tmp_path / "work.celis", tmp_path / "copy.celis"
    shutil.copy(made[0] / "work.celis", path)
    with Session.open(path):
        bar.files.open(path)
        wait_for_run(qtbot, bar, path)
        assert bar.name.text() == "Session: work (reading only)"
        bar.files.save_as(copy)
        engine = wait_for_run(qtbot, bar, copy)
        assert bar.name.text() == "Session: copy"
        assert engine.snapshot.steps == made[1].history


def test_a_long_name_loses_its_middle_not_its_end(qtbot, bar):
    bar.show()
    bar.resize(240, 34)
    bar.name.setText("Session: fibsem-medulla-train-of-a-very-long-name-20261118-101500-12345-678")
    shown = bar.name.shown_text
    assert "…" in shown
    assert shown.startswith("Session: f")
    assert shown.endswith("78")
    bar.resize(1200, 34)
    qtbot.waitUntil(lambda: bar.name.shown_text == bar.name.text())

"""Where sessions are kept without asking, which are offered, and what was open lately."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from datetime import datetime, timedelta

import numpy as np
import torch

from gui.conftest import small_agglomerator, small_volumes
from models.small import small_model
from napari_celis.core.journal import Event, Step
from napari_celis.gui.session.session_store import (
    N_RECENT,
    new_path,
    note_recent,
    preparation_of,
    recent_sessions,
    run_key,
    saved_sessions,
    sessions_folder,
)
from napari_celis.io.session.file import Session
from napari_celis.io.session.kept_arrays import folder_beside
from napari_celis.io.session.records import SessionEvent, SessionHead, SessionVolume

HEAD = SessionHead(
    (SessionVolume("supervoxels", "", "", "sv", (1, 1, 1)),), "", "model", {"policy": "energy"}
)


def make(path, *kinds, head=HEAD, days=0):
    path.parent.mkdir(parents=True, exist_ok=True)
    with Session.create(path, head) as session:
        for kind in kinds:
            step = Step(0, kind, 1, 2, -1, 0.0, 0.0, False, 0)
            session.append([SessionEvent(Event("decide", step, 0.0), 0.0, "x")])
    then = (datetime.now() - timedelta(days=days)).timestamp()
    os.utime(path, (then, then))
    return path


def offered():
    return [saved.path.stem for saved in saved_sessions("sv", "model", "key")]


def test_sessions_with_decisions_by_hand_come_first_and_old_greedy_ones_go(state_folder):
    folder = sessions_folder()
    make(folder / "greedy.celis", "greedy", days=1)
    make(folder / "mine.celis", "greedy", "manual", days=3)
    make(folder / "second-greedy.celis", "greedy", days=2)
    old = make(folder / "old-greedy.celis", "greedy", days=40)
    make(folder / "old-mine.celis", "keep-apart", days=50)
    make(folder / "nothing.celis")
    make(folder / "other-volume.celis", "manual", head=replace(HEAD, model_checksum="other"))
    (folder / "damaged.celis").write_bytes(b"SQLite format 3\0damaged")
    (folder / "words.celis").write_text("words")
    assert offered() == ["mine", "old-mine", "greedy"]
    assert not old.exists()
    assert state_folder in folder.parents


def test_an_old_session_of_an_open_window_and_one_that_the_user_placed_stay(state_folder, tmp_path):
    path = make(sessions_folder() / "open.celis", "greedy")
    placed = make(tmp_path / "placed.celis", "greedy", days=50)
    note_recent(placed)
    with Session.open(path):
        os.utime(path, (1, 1))
        offered()
        assert path.exists()
    offered()
    assert placed.exists()


def test_sessions_that_the_user_placed_are_found_again(tmp_path):
    note_recent(make(tmp_path / "placed.celis", "manual"))
    assert offered() == ["placed"]


def test_recent_sessions(state_folder, tmp_path):
    paths = [make(tmp_path / f"{n}.celis") for n in range(N_RECENT + 3)]
    for path in [*paths, paths[5]]:
        note_recent(path)
    assert recent_sessions()[:2] == [paths[5], paths[-1]]
    assert len(recent_sessions()) == N_RECENT
    paths[5].unlink()
    assert paths[5] not in recent_sessions()
    for text in ("[", "{}", json.dumps([1, None, "a\0b"]), "[" * 60_000, "x" * 100_000):
        (state_folder / "recent.json").write_text(text)
        assert recent_sessions() == []


def test_names_and_places(state_folder, tmp_path):
    one, two = new_path("/data/my raw?.h5:volumes/raw"), new_path("/data/my raw?.h5:volumes/raw")
    assert one != two
    assert one.name.startswith("my-raw-")
    assert new_path("").name.startswith("session-")
    assert preparation_of(one).folder == state_folder / "prepared"
    assert preparation_of(tmp_path / "a.celis").folder == folder_beside(tmp_path / "a.celis")


def test_the_old_key_tells_supervoxels_and_models_apart():
    agglomerator, model = small_agglomerator(), small_model()
    key = run_key(agglomerator.supervoxels, model)
    assert key == run_key(small_agglomerator().supervoxels, small_model())
    other = small_model()
    with torch.no_grad():
        next(other.energies[0].parameters()).add_(1)
    assert key != run_key(agglomerator.supervoxels, other)
    labels = small_volumes()["supervoxels"].read().copy()
    labels[0, 0, 0] += np.uint64(1)
    assert key != run_key(type(agglomerator.supervoxels).from_labels(labels), model)

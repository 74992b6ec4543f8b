"""What is killed: programs that decide, export, train, copy and migrate, and say what they have finished.

Run as a process: `python -m napari_celis.bench.crash_worker ACTIVITY FOLDER SEED`. One line of JSON for each
thing that a user would take for done goes to a file; a kill does not take it back.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.errors import ActionError
from napari_celis.core.volume import Volume
from napari_celis.io.session.database import connect
from napari_celis.io.session.file import Session
from napari_celis.io.session.kept_arrays import KeptArrays, folder_beside
from napari_celis.io.session.schema import MIGRATIONS, migrate
from napari_celis.io.session.writer import SessionWriter
from napari_celis.io.volumes import write_volume

DONE = "done.jsonl"
"""What was finished, in the order in which it was."""
READY = "ready"
SESSION = "work.celis"
EXPORTS = ("out.zarr", "out.h5:labels", "out.tif", "out.npy")
SHAPE = (24, 48, 48)
AT_ONCE = 8
"""Merges of a greedy run that are written together."""
KEEP_SCORES = 0.05
"""How often scores are kept beside the session."""
EXPORT_SHAPE = (40, 96, 96)


def tell(folder: Path, **what: Any) -> None:
    """Say that something is finished."""
    handle = os.open(folder / DONE, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(handle, (json.dumps(what) + "\n").encode())
    os.close(handle)


def run(folder: Path, rng: np.random.Generator) -> None:
    """Merge greedily, over and over.

    Parameters
    ----------
    folder : Path
        Where it works.
    rng : Generator
        Decides what is done.
    """

    def decide(agglomerator: Agglomerator) -> None:
        for _ in range(AT_ONCE):
            if agglomerator.step(np.inf) is None:
                for _ in range(len(agglomerator.history) // 2):
                    agglomerator.undo()

    _work_on_session(folder, decide, rng)


def edit(folder: Path, rng: np.random.Generator) -> None:
    """Decide by hand: merge, keep apart, cut, undo, redo.

    Parameters
    ----------
    folder : Path
        Where it works.
    rng : Generator
        Decides what is done.
    """

    def decide(agglomerator: Agglomerator) -> None:
        table, ids = agglomerator.actions, agglomerator.supervoxels.ids
        row, word = (
            int(rng.integers(len(table))),
            rng.choice(["merge", "apart", "cut", "undo", "redo", "step"]),
        )
        pair = int(ids[table.u[row]]), int(ids[table.v[row]])
        try:
            if word == "cut" and agglomerator.journal.done:
                step = agglomerator.journal.done[int(rng.integers(len(agglomerator.journal.done)))].step
                agglomerator.cut(step.u_id, step.v_id)
            elif word == "step":
                agglomerator.step(np.inf)
            elif word in ("undo", "redo"):
                getattr(agglomerator, word)()
            else:
                (agglomerator.merge if word == "merge" else agglomerator.keep_apart)(*pair)
        except ActionError:
            return

    _work_on_session(folder, decide, rng)


def _work_on_session(folder: Path, decide: Callable[[Agglomerator], None], rng: np.random.Generator) -> None:
    """Go on with the session, and tell every event once it is written."""
    from napari_celis.pipeline.kept_preparation import keep_scores
    from napari_celis.pipeline.sessions import go_on

    with Session.open(folder / SESSION) as session:
        opened = go_on(session, say=lambda sentence: tell(folder, remark=sentence))
        writer = opened.agglomerator.journal.listener = SessionWriter(session, "crash")
        kept = KeptArrays(folder_beside(session.path))
        (folder / READY).touch()
        while True:
            n_before = session.n_events
            decide(opened.agglomerator)
            writer.flush()
            for number, record in enumerate(session.events(after=n_before), start=n_before + 1):
                step = record.event.step
                tell(
                    folder, number=number, event=record.event.kind, kind=step.kind, u=step.u_id, v=step.v_id,
                    score=step.score, energy=record.event.energy,
                )  # fmt: skip
            if rng.random() < KEEP_SCORES:
                keep_scores(session.head, kept, opened.agglomerator)


def export(folder: Path, rng: np.random.Generator) -> None:
    """Replace outputs of every format by complete ones of another value, over and over.

    Parameters
    ----------
    folder : Path
        Where it works.
    rng : Generator
        Decides what is done.
    """
    (folder / READY).touch()
    while True:
        value = int(rng.integers(1, 200))
        for name in EXPORTS:
            volume = Volume(np.full(EXPORT_SHAPE, value, np.uint16), (10.0, 10.0, 10.0))
            write_volume(volume, f"{folder}/{name}", kind="labels")
            tell(folder, export=name, value=value)


def save_as(folder: Path, rng: np.random.Generator) -> None:
    """Add an event and copy the session over its copy, over and over.

    Parameters
    ----------
    folder : Path
        Where it works.
    rng : Generator
        Decides what is done.
    """
    with Session.open(folder / SESSION) as session:
        record = next(iter(session.events()))
        (folder / READY).touch()
        while True:
            session.answer(_question(session.n_events + int(rng.integers(10**6))))
            session.save_as(folder / "copy.celis", replace_old=True)
            tell(folder, copied=session.n_events, of=record.who)


def _question(number: int) -> Any:
    from napari_celis.io.session.records import Question

    return Question(number + 1, number + 2, "skipped", "x" * 200)


def migration(folder: Path, rng: np.random.Generator) -> None:
    """Bring a session with many events to a version that changes every one of them.

    Parameters
    ----------
    folder : Path
        Where it works.
    rng : Generator
        Decides what is done.
    """
    (folder / READY).touch()
    connection = connect(folder / "old.celis", read_only=False)
    migrate(connection, len(MIGRATIONS), (*MIGRATIONS, next_version))
    tell(folder, migrated=True)
    connection.close()


def next_version(connection: Any) -> None:
    """Change every event, as a version to come may have to."""
    connection.execute("ALTER TABLE events ADD COLUMN place TEXT NOT NULL DEFAULT ''")
    for (number,) in connection.execute("SELECT number FROM events").fetchall():
        connection.execute("UPDATE events SET place = ? WHERE number = ?", (f"at {number}", number))


def training(folder: Path, rng: np.random.Generator) -> None:
    """Train for a few seconds, or go on with what was left; this process becomes the command.

    Parameters
    ----------
    folder : Path
        Where it works.
    rng : Generator
        Decides what is done.
    """
    unfinished = folder / "model.safetensors.training"
    arguments = [
        "train", "--image", f"{folder}/truth.h5:volumes/raw", "--truth",
        f"{folder}/truth.h5:volumes/labels/neuron_ids", "--supervoxels", f"{folder}/truth.h5:pieces",
        "-o", f"{folder}/model.safetensors", "--minutes", "0.1",
        *(["--resume"] if unfinished.exists() else []),
    ]  # fmt: skip
    (folder / READY).touch()
    os.execv(sys.executable, [sys.executable, "-m", "napari_celis", *arguments])


ACTIVITIES: dict[str, Callable[[Path, np.random.Generator], None]] = {
    "run": run,
    "edit": edit,
    "export": export,
    "save-as": save_as,
    "migration": migration,
    "training": training,
}


def main(activity: str, folder: str, seed: str) -> None:
    """Do one of the activities until somebody kills the process.

    Parameters
    ----------
    activity : str
        Name of the activity.
    folder : str
        Where it works.
    seed : str
        A number; the same one does the same again.
    """
    ACTIVITIES[activity](Path(folder), np.random.default_rng(int(seed)))


if __name__ == "__main__":
    main(*sys.argv[1:])

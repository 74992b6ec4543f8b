"""Kill programs at random moments, start them again, and count what is lost: nothing may be."""

from __future__ import annotations

import json
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from napari_celis.bench.agglomeration import Figures
from napari_celis.bench.crash_worker import DONE, EXPORTS, READY, SESSION, SHAPE
from napari_celis.bench.scale import Cells
from napari_celis.core.errors import CelisError
from napari_celis.core.volume import Volume
from napari_celis.io.session.file import Session
from napari_celis.io.session.records import SessionEvent
from napari_celis.io.session.schema import VERSION
from napari_celis.io.volumes import open_volume, write_volume

KILLS: Mapping[str, int] = {
    "run": 60, "edit": 60, "export": 30, "save-as": 20, "migration": 15, "training": 15,
}  # fmt: skip
"""How often each activity is killed: 200 times in all."""
LONGEST_START = 120.0
"""Seconds until a process is given up that does not say that it has begun."""
LONGEST = {"training": 9.0, "migration": 0.5}
"""Seconds after the beginning within which a process is killed."""
EARLY = 0.2
"""Share of the processes that are killed while they open what they work on."""
MOST_TRIES = 3
"""Processes that are started for each kill, at most."""
N_OLD_EVENTS = 20_000


@dataclass
class Losses:
    """What was found after the kills."""

    n_kills: int = 0
    n_done: int = 0
    """Things that had been told to be done."""
    lost: list[str] = field(default_factory=list)
    """Things that had been, and are not there."""
    incomplete: list[str] = field(default_factory=list)
    """Files that have their name and are not whole."""
    damaged: list[str] = field(default_factory=list)
    """Sessions that SQLite or we find something wrong with, remarks, and programs that failed."""

    def figures(self) -> Figures:
        """Return the counts."""
        return {
            "crash_kills": self.n_kills,
            "crash_done": self.n_done,
            "crash_lost": len(self.lost),
            "crash_incomplete": len(self.incomplete),
            "crash_damaged": len(self.damaged),
        }


def measure_crash(kills: Mapping[str, int] = KILLS, seed: int = 0) -> Figures:
    """Kill every activity as often as said, and check everything after every kill.

    Parameters
    ----------
    kills : mapping
        By activity, see `napari_celis.bench.crash_worker`.
    seed : int
        Of the moments and of what is decided.
    """
    begin, losses = time.monotonic(), Losses()
    with tempfile.TemporaryDirectory() as place:
        for activity, n_kills in kills.items():
            folder = Path(place, activity)
            folder.mkdir()
            _prepare(activity, folder)
            rng = np.random.default_rng([seed, len(activity)])
            wanted = losses.n_kills + n_kills
            # Some end by themselves before they are killed; they do not count.
            for number in range(MOST_TRIES * n_kills):
                if losses.n_kills < wanted:
                    _kill_once(activity, folder, rng, losses, number)
                    _check(activity, folder, losses)
            if activity in ("run", "edit") and n_kills:
                _replay(folder / SESSION, losses)
    for sentence in (*losses.lost, *losses.incomplete, *losses.damaged):
        sys.stderr.write(f"{sentence}\n")
    return {**losses.figures(), "crash_seconds": time.monotonic() - begin}


def _prepare(activity: str, folder: Path) -> None:
    """Make what an activity works on."""
    if activity in ("run", "edit", "save-as"):
        _begin_session(folder)
    elif activity == "migration":
        _begin_session(folder)
        with Session.open(folder / SESSION) as session:
            (record,) = session.events()
            session.append([record] * N_OLD_EVENTS)
        shutil.copy(folder / SESSION, folder / "template.celis")
    elif activity == "training":
        _make_phantom(folder)


def _begin_session(folder: Path) -> None:
    from napari_celis.io.samples import bundled_models
    from napari_celis.io.session.writer import SessionWriter
    from napari_celis.models.model_file import load_model
    from napari_celis.pipeline.choice import Choice
    from napari_celis.pipeline.recipe import prepare
    from napari_celis.pipeline.session_data import Sources
    from napari_celis.pipeline.sessions import begin_session

    cells, model = Cells.make(SHAPE), bundled_models()["phantom"]
    image = np.random.default_rng(0).integers(0, 255, SHAPE).astype(np.uint8)
    write_volume(Volume(image), f"{folder}/image.npy", kind="image")
    write_volume(Volume(cells.supervoxels.dense.astype(np.uint32)), f"{folder}/cells.npy", kind="labels")
    choice = Choice(
        image=open_volume(folder / "image.npy"),
        supervoxels=open_volume(folder / "cells.npy"),
        model=load_model(model),
        any_voxel_size=True,
    )
    prepared = prepare(choice)
    sources = Sources({"image": f"{folder}/image.npy", "supervoxels": f"{folder}/cells.npy"}, str(model))
    with (
        prepared.agglomerator as agglomerator,
        begin_session(folder / SESSION, choice, prepared, sources) as session,
    ):
        writer = agglomerator.journal.listener = SessionWriter(session, "crash")
        agglomerator.step(np.inf)
        writer.flush()


def _make_phantom(folder: Path) -> None:
    import h5py

    arguments = ["phantom", str(folder / "truth.h5"), "--shape", "80", "56", "56", "--seed", "3"]
    subprocess.run([sys.executable, "-m", "napari_celis", *arguments], check=True, capture_output=True)
    with h5py.File(folder / "truth.h5", "r+") as file:
        truth = file["volumes/labels/neuron_ids"][:].astype(np.int64)
        z, y, x = np.indices(truth.shape) // 14
        _, pieces = np.unique(truth * 1000 + z * 100 + y * 10 + x, return_inverse=True)
        file.create_dataset("pieces", data=(pieces.reshape(truth.shape) + 1).astype(np.uint64))
        file["pieces"].attrs["resolution"] = file["volumes/raw"].attrs["resolution"]


def _kill_once(activity: str, folder: Path, rng: np.random.Generator, losses: Losses, number: int) -> None:
    """Start the activity, and kill it at some moment."""
    (folder / READY).unlink(missing_ok=True)
    if activity == "migration":
        for left in folder.glob("old.celis*"):
            left.unlink()
        shutil.copy(folder / "template.celis", folder / "old.celis")
    arguments = [sys.executable, "-m", "napari_celis.bench.crash_worker", activity, str(folder), str(number)]
    with (folder / "stderr").open("w") as log:
        process = subprocess.Popen(arguments, stderr=log, stdout=subprocess.DEVNULL)
        end = time.monotonic() + LONGEST_START
        if rng.random() < EARLY:
            time.sleep(float(rng.uniform(0.5, 5.0)))
        else:
            while not (folder / READY).exists() and process.poll() is None and time.monotonic() < end:
                time.sleep(0.01)
            time.sleep(float(rng.uniform(0.0, LONGEST.get(activity, 1.0))))
        process.send_signal(signal.SIGKILL)
        code = process.wait()
    losses.n_kills += code == -signal.SIGKILL
    may_end = activity in ("training", "migration") and code == 0
    if activity == "training" and code == 0 and not (folder / "model.safetensors").exists():
        losses.lost.append("a model")
    if code != -signal.SIGKILL and not may_end:
        losses.damaged.append(
            f"{activity} ended by itself, code {code}: {(folder / 'stderr').read_text()[-500:]}"
        )


def _check(activity: str, folder: Path, losses: Losses) -> None:
    """Compare what was told to be done with what is there."""
    path = folder / DONE
    told = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    losses.damaged += [f"{activity}: {one['remark']}" for one in told if "remark" in one]
    if activity in ("run", "edit"):
        _check_events(folder / SESSION, told, losses)
    elif activity == "export":
        _check_exports(folder, told, losses)
    elif activity == "save-as":
        _check_copies(folder, told, losses)
    elif activity == "migration":
        _check_migration(folder / "old.celis", told, losses)
    else:
        _check_training(folder / "model.safetensors", losses)
    losses.n_done += len(told)
    path.unlink(missing_ok=True)


def _sessions_problems(path: Path, losses: Losses) -> list[SessionEvent]:
    """Read a session as anybody would; whatever is wrong is noted."""
    try:
        with Session.open(path) as session:
            losses.damaged += [f"{path.name}: {problem}" for problem in session.problems()]
            return list(session.events())
    except CelisError as error:
        losses.damaged.append(str(error))
        return []


def _check_events(path: Path, told: list[dict[str, object]], losses: Losses) -> None:
    events = _sessions_problems(path, losses)
    for one in told:
        number = one.get("number")
        if not isinstance(number, int):
            continue
        record = events[number - 1] if number <= len(events) else None
        step = None if record is None else record.event.step
        found = record and step and {
            "number": number, "event": record.event.kind, "kind": step.kind, "u": step.u_id, "v": step.v_id,
            "score": step.score, "energy": record.event.energy,
        }  # fmt: skip
        if found != one:
            losses.lost.append(f"event {number} of {path.name}: {one} is {found}")


def _check_exports(folder: Path, told: list[dict[str, object]], losses: Losses) -> None:
    last = {str(one["export"]): one["value"] for one in told}
    for name in EXPORTS:
        if not (folder / name.partition(":")[0]).exists():
            if name in last:
                losses.lost.append(f"export {name}")
            continue
        try:
            values = np.unique(open_volume(f"{folder}/{name}").read())
            if len(values) != 1:
                losses.incomplete.append(f"{name} holds {values[:5]}")
        except CelisError as error:
            losses.incomplete.append(str(error))


def _check_copies(folder: Path, told: list[dict[str, object]], losses: Losses) -> None:
    _sessions_problems(folder / SESSION, losses)
    copy = folder / "copy.celis"
    if copy.exists():
        _sessions_problems(copy, losses)
    elif told:
        losses.lost.append("the copy of a session")


def _check_migration(path: Path, told: list[dict[str, object]], losses: Losses) -> None:
    """A file is of the old version or of the new one, whole in both cases."""
    with closing(sqlite3.connect(path)) as connection:
        if connection.execute("PRAGMA integrity_check").fetchone() != ("ok",):
            losses.damaged.append("a session that was being migrated")
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        columns = [row[1] for row in connection.execute("PRAGMA table_info(events)")]
        (n_events,) = connection.execute("SELECT count(*) FROM events").fetchone()
        if n_events != N_OLD_EVENTS + 1:
            losses.lost.append(f"{N_OLD_EVENTS + 1 - n_events} events of a migration")
        is_new = version == VERSION + 1
        n_places = 0
        if "place" in columns:
            (n_places,) = connection.execute("SELECT count(*) FROM events WHERE place != ''").fetchone()
        if (is_new and n_places != n_events) or (not is_new and "place" in columns):
            losses.incomplete.append(f"a migration: version {version}, {n_places} of {n_events} events")
        if told and not is_new:
            losses.lost.append("a migration that was done")


def _check_training(path: Path, losses: Losses) -> None:
    from napari_celis.models.model_file import load_model

    if path.exists():
        try:
            load_model(path)
        except CelisError as error:
            losses.incomplete.append(str(error))


def _replay(path: Path, losses: Losses) -> None:
    """Make every event again at the end, after all the kills."""
    from napari_celis.pipeline.replay import prepare_replay, replay

    with Session.open(path, read_only=True) as session:
        divider = prepare_replay(session)
        with divider.agglomerator:
            for event in replay(session, divider, 0.0):
                losses.damaged += [f"replay: {difference}" for difference in event.differences]

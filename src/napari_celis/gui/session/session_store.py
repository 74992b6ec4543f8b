"""Where the window keeps sessions by itself, and how it finds those about the chosen data. No Qt here."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import time
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import platformdirs

from napari_celis.core.errors import CelisError
from napari_celis.core.supervoxels import Supervoxels
from napari_celis.gui.session.preferences import preferences
from napari_celis.io.atomic import atomic_file
from napari_celis.io.session.connection import hold
from napari_celis.io.session.database import remove_side_files
from napari_celis.io.session.file import SUFFIX, Session
from napari_celis.io.session.json_lines import read_json_lines
from napari_celis.io.session.kept_arrays import KeptArrays, folder_beside
from napari_celis.io.targets import split_target
from napari_celis.pipeline.session_identity import BEGINS_WITH
from napari_celis.pipeline.session_merge import standing

if TYPE_CHECKING:
    from napari_celis.models.model_file import CelisModel

logger = logging.getLogger(__name__)

KEPT_DAYS = 30
"""Sessions of ours without a decision by hand are removed after this time; greedy can make them again."""
N_RECENT = 10
MOST_LOOKED_AT = 200
"""Sessions that are opened to see what they are about, the newest first."""
MAX_RECENT_BYTES = 2**16
OLD_SUFFIX, TAKEN_SUFFIX = ".jsonl", ".taken"


@dataclass(frozen=True)
class SavedSession:
    """Earlier decisions about the chosen data."""

    path: Path
    n_decisions: int
    n_by_hand: int
    ended: datetime
    is_old: bool = False
    """Whether it is a file of lines, as versions before sessions kept."""


def state_folder() -> Path:
    """Return the folder that the system has for such things."""
    return platformdirs.user_state_path("napari-celis", appauthor=False)


def sessions_folder() -> Path:
    """Return where sessions are kept that nobody gave a place, unless the user chose another folder."""
    return state_folder() / "sessions"


def new_sessions_folder() -> Path:
    """Return where new sessions go that nobody gives a place."""
    return preferences().sessions_folder or sessions_folder()


def preparation_of(path: Path) -> KeptArrays:
    """Return where the preparation of a session is kept: beside it, or shared by all that nobody placed."""
    is_ours = path.parent == sessions_folder()
    return KeptArrays(state_folder() / "prepared" if is_ours else folder_beside(path))


def new_path(name: str) -> Path:
    """Name a session that does not exist yet.

    Parameters
    ----------
    name : str
        The volume that it is about, `path[:dataset]`; letters that no file can have are left out.
    """
    try:
        stem = split_target(name).path.stem
    except CelisError:
        stem = ""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", stem).strip("-.")[:60] or "session"
    moment = f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}-{time.monotonic_ns() % 10**6}"
    return new_sessions_folder() / f"{plain}-{moment}{SUFFIX}"


def saved_sessions(supervoxels: str, model: str, old_key: str, start: str = "") -> list[SavedSession]:
    """Find earlier decisions, the newest first: all with some by hand, and one without.

    Parameters
    ----------
    supervoxels, model : str
        Checksums of the chosen ones.
    old_key : str
        From `run_key`.
    start : str
        Digest of what is decided before a run begins; nothing by default.
    """
    found = []
    places = sorted(_ours() | set(recent_sessions()), key=_changed_at, reverse=True)
    for path in places[:MOST_LOOKED_AT]:
        try:
            saved = _look_at(path, supervoxels, model, start)
            if saved is not None and not _is_outdated(saved):
                found.append(saved)
        except (OSError, CelisError) as error:
            logger.info("%s is not offered: %s", path, error)
    found += [] if start else _old_files(old_key)
    found.sort(key=lambda one: (one.n_by_hand > 0, one.ended), reverse=True)
    n_mine = sum(one.n_by_hand > 0 for one in found)
    return found[: n_mine + 1]


def _ours() -> set[Path]:
    """List sessions that nobody gave a place; those in a folder that the user chose are never removed."""
    folders = {sessions_folder(), new_sessions_folder()}
    return {path for folder in folders for path in folder.glob(f"*{SUFFIX}")}


def _look_at(path: Path, supervoxels: str, model: str, start: str) -> SavedSession | None:
    """Open a session, and describe it if it is about these supervoxels and this model."""
    with Session.open(path, read_only=True) as session:
        own = session.head.volume("supervoxels")
        if own is None or own.checksum != supervoxels or session.head.model_checksum != model:
            return None
        if session.head.settings.get(BEGINS_WITH, "") != start:
            return None
        steps = [record.event.step for record in standing(session.events())]
    n_by_hand = sum(step.kind != "greedy" for step in steps)
    ended = datetime.fromtimestamp(_changed_at(path))
    return SavedSession(path, len(steps), n_by_hand, ended) if steps else None


def _is_outdated(saved: SavedSession) -> bool:
    """Remove a session of ours that nobody will miss; tell whether it is gone."""
    is_ours = saved.path.parent == sessions_folder()
    if saved.n_by_hand or not is_ours or (datetime.now() - saved.ended).days <= KEPT_DAYS:
        return False
    with hold(saved.path):
        saved.path.unlink()
        remove_side_files(saved.path)
    return True


def _changed_at(path: Path) -> float:
    """Return when a session was last written to; the log beside it is newer while it is open."""
    times = [0.0]
    for place in (path, path.with_name(f"{path.name}-wal")):
        try:
            times.append(place.stat().st_mtime)
        except OSError:
            continue
    return max(times)


# Files of earlier versions.


def run_key(supervoxels: Supervoxels, model: CelisModel) -> str:
    """Name the folder in which versions before sessions kept decisions about supervoxels and a model.

    Parameters
    ----------
    supervoxels : Supervoxels
        What is merged.
    model : CelisModel
        What gives the scores.
    """
    from napari_celis.models.affinity import to_tensors

    found = hashlib.blake2b(digest_size=12)
    found.update(repr(supervoxels.dense.shape).encode())
    for array in (supervoxels.dense, supervoxels.ids, *(spec.pairs for spec in model.specs)):
        found.update(np.ascontiguousarray(array).data)
    for tensors in (to_tensors(model.affinity)[0], *(net.state_dict() for net in model.energies)):
        for tensor in tensors.values():
            found.update(tensor.detach().cpu().contiguous().numpy().data)
    return found.hexdigest()


def old_folder(key: str) -> Path:
    """Return where old decisions of one key lie."""
    return state_folder() / "decisions" / key


def _old_files(key: str) -> list[SavedSession]:
    found = []
    for path in old_folder(key).glob(f"*{OLD_SUFFIX}"):
        try:
            steps = read_json_lines(path).steps
            ended = datetime.fromtimestamp(path.stat().st_mtime)
        except (OSError, CelisError) as error:
            logger.info("%s is not offered: %s", path, error)
            continue
        n_by_hand = sum(step.kind != "greedy" for step in steps)
        if steps:
            found.append(SavedSession(path, len(steps), n_by_hand, ended, is_old=True))
    return found


def set_aside(path: Path) -> None:
    """Offer an old file no more, because a session holds its decisions now; the file stays."""
    path.rename(path.with_name(path.name + TAKEN_SUFFIX))


# What was open lately.


def recent_sessions() -> list[Path]:
    """List sessions that were opened or saved lately and are still there, the newest first."""
    path = state_folder() / "recent.json"
    try:
        if path.stat().st_size > MAX_RECENT_BYTES:
            return []
        names = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return []
    if not isinstance(names, list):
        return []
    places = [Path(name) for name in names[:N_RECENT] if isinstance(name, str) and "\x00" not in name]
    return [place for place in places if place.is_file()]


def note_recent(path: Path) -> None:
    """Remember that a session was used; a folder that cannot be written does no harm."""
    names = [str(path.absolute()), *(str(one) for one in recent_sessions() if one != path.absolute())]
    try:
        with atomic_file(state_folder() / "recent.json") as temporary:
            temporary.write_text(json.dumps(names[:N_RECENT]), encoding="utf-8")
    except (OSError, CelisError) as error:
        logger.info("recent sessions were not kept: %s", error)

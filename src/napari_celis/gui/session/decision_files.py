"""Files that keep decisions as they are made: a window that closes or is killed loses none of them."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import platformdirs
from filelock import FileLock, Timeout

from napari_celis.core.errors import CelisError
from napari_celis.core.journal import Step
from napari_celis.core.supervoxels import Supervoxels
from napari_celis.pipeline.choice import Decided

if TYPE_CHECKING:
    from napari_celis.models.model_file import CelisModel

logger = logging.getLogger(__name__)

SUFFIX, LOCK_SUFFIX = ".jsonl", ".lock"
UNDONE = "undo"
"""Kind of a line that takes back all decisions from its index on."""
NOTHING_DECIDED = Decided()
KEPT_DAYS = 30
"""Files without a decision by hand are removed after this time; greedy can make them again."""


class FileInUseError(CelisError):
    """Another window writes to the same file."""


@dataclass(frozen=True, eq=False)
class SavedRun:
    """The decisions of an earlier run that stood when it ended."""

    path: Path
    steps: tuple[Step, ...]
    ended: datetime

    @property
    def n_by_hand(self) -> int:
        """How many of the decisions were made by hand."""
        return sum(step.kind != "greedy" for step in self.steps)


class DecisionFile:
    """Writes decisions to a file while they are made: the lines of a decision log, and a line per undo.

    Parameters
    ----------
    path : Path
        Made with the first decision.
    steps : sequence of Step
        What the file says already; decisions that only do this again are not written again.
    """

    def __init__(self, path: Path, steps: Sequence[Step] = ()) -> None:
        self.path = path
        self._written = list(steps)
        self._stood: list[Step] = []
        self._file: IO[str] | None = None
        # The system frees it when the process ends, however it ends. Two threads use it: no thread owns it.
        self._lock = FileLock(_lock_of(path), timeout=0, thread_local=False)

    def hold(self) -> None:
        """Keep all other windows from writing to the file, until it is closed.

        Raises
        ------
        FileInUseError
            When another window has it.
        """
        if self._lock.is_locked:
            return
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._lock.acquire()
        except Timeout as error:
            raise FileInUseError(
                "Another window has these decisions open: close it to go on here, "
                "or choose “Not now” to start a new run."
            ) from error
        except OSError as error:
            # Some network drives know no locks. Whether the file itself can be written shows when it is.
            logger.info("decisions are kept without a lock", exc_info=error)

    def expect(self, steps: Sequence[Step]) -> None:
        """Know what the file says already, so that it is not written again."""
        self._written = list(steps)

    def keep(self, steps: Sequence[Step]) -> None:
        """Write what has changed since the last call, and hand it to the system at once.

        Parameters
        ----------
        steps : sequence of Step
            The decisions that stand, oldest first; those that stood before are the same objects.
        """
        n_same = min(len(steps), len(self._stood))
        while n_same and steps[n_same - 1] is not self._stood[n_same - 1]:
            n_same -= 1
        if n_same < len(self._stood):
            self._write({"index": n_same, "kind": UNDONE})
            del self._written[n_same:], self._stood[n_same:]
        for step in steps[n_same:]:
            if not self._is_written(step):
                self._write(asdict(step))
                self._written[step.index :] = [step]
            self._stood.append(step)

    def close(self) -> None:
        """Let go of the file, and let other windows have it."""
        if self._file is not None:
            self._file.close()
            self._file = None
        self._lock.release()

    def _is_written(self, step: Step) -> bool:
        """Tell whether the file has the same decision at the same index."""
        if step.index >= len(self._written):
            return False
        other = self._written[step.index]
        return (step.kind, step.u_id, step.v_id) == (other.kind, other.u_id, other.v_id)

    def _write(self, row: dict[str, Any]) -> None:
        if self._file is None:
            self.hold()
            self.path.parent.mkdir(parents=True, exist_ok=True)
            is_new = not self.path.exists()
            self._file = self.path.open("a", encoding="utf-8")
            # The last line may be half written.
            self._file.write("" if is_new else "\n")
        try:
            self._file.write(json.dumps(row) + "\n")
            self._file.flush()
        except OSError:
            self._file = None
            raise


def run_key(supervoxels: Supervoxels, model: CelisModel, decided: Decided = NOTHING_DECIDED) -> str:
    """Name what decisions are about: the same for the same supervoxels, model and beginning.

    Parameters
    ----------
    supervoxels : Supervoxels
        What is merged.
    model : CelisModel
        What gives the scores.
    decided : Decided
        What the run begins with.
    """
    from napari_celis.models.affinity import to_tensors

    found = hashlib.blake2b(digest_size=12)
    found.update(repr(supervoxels.dense.shape).encode())
    for array in (supervoxels.dense, supervoxels.ids, *(spec.pairs for spec in model.specs)):
        found.update(np.ascontiguousarray(array).data)
    for tensors in (to_tensors(model.affinity)[0], *(net.state_dict() for net in model.energies)):
        for tensor in tensors.values():
            found.update(tensor.detach().cpu().contiguous().numpy())
    if decided != NOTHING_DECIDED:
        found.update(repr(decided).encode())
    return found.hexdigest()


def folder_of(key: str) -> Path:
    """Return where the decisions of one key lie, in the folder that the system has for such things."""
    return platformdirs.user_state_path("napari-celis", appauthor=False) / "decisions" / key


def new_file(key: str) -> DecisionFile:
    """Begin a file that no other window writes to."""
    return DecisionFile(
        folder_of(key) / f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}-{time.monotonic_ns()}{SUFFIX}"
    )


def saved_runs(key: str) -> list[SavedRun]:
    """Find earlier runs in which decisions stand, the newest first: all with some by hand, and one without.

    Old files without any by hand are removed.
    """
    found = []
    for path in folder_of(key).glob(f"*{SUFFIX}"):
        try:
            run = SavedRun(path, tuple(read_decisions(path)), _changed_at(path))
            if not run.n_by_hand and (datetime.now() - run.ended).days > KEPT_DAYS:
                _remove(path)
            elif run.steps:
                found.append(run)
        except (OSError, FileInUseError):
            continue
    found.sort(key=lambda run: (run.n_by_hand > 0, run.ended), reverse=True)
    n_mine = sum(run.n_by_hand > 0 for run in found)
    return found[: n_mine + 1]


def reopen(run: SavedRun) -> tuple[DecisionFile, tuple[Step, ...]]:
    """Open an earlier run to go on with it.

    Returns
    -------
    file : DecisionFile
        Held: no other window can take it up.
    steps : tuple of Step
        What stands in it now; another window may have gone on with it since `run` was read.

    Raises
    ------
    FileInUseError
        When another window has it.
    """
    file = DecisionFile(run.path)
    file.hold()
    try:
        has_changed = _changed_at(run.path) != run.ended
        steps = tuple(read_decisions(run.path)) if has_changed else run.steps
    except OSError:
        file.close()
        raise
    file.expect(steps)
    return file, steps


def _remove(path: Path) -> None:
    """Remove a file that no window has open, and its lock."""
    file = DecisionFile(path)
    file.hold()
    path.unlink()
    file.close()
    _lock_of(path).unlink(missing_ok=True)


def _lock_of(path: Path) -> Path:
    """Name the file whose lock says that a window writes to `path`."""
    return path.with_name(path.name + LOCK_SUFFIX)


def _changed_at(path: Path) -> datetime:
    return datetime.fromtimestamp(path.stat().st_mtime)


def read_decisions(path: Path) -> list[Step]:
    """Read the decisions that stand at the end of a file; lines that were half written do not count."""
    steps: list[Step] = []
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            row = json.loads(line)
            index, is_undone = int(row["index"]), row["kind"] == UNDONE
            step = None if is_undone else Step(**row)
        except (ValueError, KeyError, TypeError):
            continue
        if index > len(steps):
            break
        steps[index:] = [] if step is None else [step]
    return steps

"""What a worker does: one stage of one block, and a note that it is done or why it cannot be."""

from __future__ import annotations

import os
import sys
import time
import traceback
from typing import Any, NamedTuple

from napari_celis import __version__
from napari_celis.core.errors import CelisError
from napari_celis.io.failures import FULL, short_reason
from napari_celis.scale.grid import Block
from napari_celis.scale.run import BlockRun, open_run
from napari_celis.scale.settings import BlockwiseError
from napari_celis.scale.stages.listing import find_stage, stages_of


class Task(NamedTuple):
    """One block of one stage."""

    url: str
    run: str
    """Checksum of the run."""
    stage: str
    block: int
    digest: str
    is_tainted: bool
    """Whether something that it reads could not be computed."""
    version: str = __version__


class Done(NamedTuple):
    """What came of it; small, for it goes back to the driver."""

    block: int
    seconds: float
    error: str | None = None


class CancelledBlockError(CelisError):
    """Nobody waits for this block any more."""


class StoppedRunError(BlockwiseError):
    """Nothing can be done before somebody has put something right: a full disk, other versions."""


def run_task(task: Task) -> Done:
    """Do the work of one block; called on a worker.

    Parameters
    ----------
    task : Task
        What to do.

    Returns
    -------
    done : Done
        With an error if the block cannot be computed; it is noted in the run, too.

    Raises
    ------
    StoppedRunError
        If the whole run cannot go on.
    """
    if task.version != __version__:
        raise StoppedRunError(
            f"A worker has napari-celis {__version__}, but the run was started with {task.version}. "
            "Install the same version everywhere."
        )
    _use_one_thread()
    begin, cpu = time.perf_counter(), time.process_time()
    run = open_run(task.url, task.run)
    stage = find_stage(run, task.stage)
    block = stage.grid(run).block(task.block)
    # A worker of an earlier attempt may have finished it meanwhile, or been killed just after.
    flag = run.flag(task.stage, block.name)
    if flag is not None and flag.get("digest") == task.digest:
        return Done(task.block, 0.0)
    try:
        figures = stage.work(run, block, _raise_if_cancelled)
    except CancelledBlockError:
        raise
    except Exception as error:
        _raise_if_full(error)
        return _note_failure(run, task, block, error, time.perf_counter() - begin)
    seconds = time.perf_counter() - begin
    run.set_flag(
        task.stage,
        block,
        {
            **figures,
            "digest": task.digest,
            "tainted": task.is_tainted,
            "seconds": round(seconds, 3),
            "cpu_seconds": round(time.process_time() - cpu, 3),
            "peak_mb": peak_mb(),
            "process": os.getpid(),
        },
    )
    return Done(task.block, seconds)


def finish_stage(url: str, checksum: str, stage: str) -> None:
    """Add up what all blocks of a stage noted; called on a worker.

    Parameters
    ----------
    url, checksum : str
        Of the run.
    stage : str
        Name of the stage.
    """
    run = open_run(url, checksum)
    names = [one.name for one in stages_of(run)]
    found = find_stage(run, stage)
    values = found.finish(run)
    if not found.total:
        return
    before = run.store.read_json(found.total)
    if before is not None and before != values:
        # Blocks that failed before count now: what was computed without them is computed again.
        for later in names[names.index(stage) + 1 :]:
            for block in run.finished(later):
                run.clear_flag(later, block)
    run.store.write_json(found.total, values)


def peak_mb() -> float:
    """Return the most memory that this process has had, in MB."""
    try:
        import resource
    except ImportError:
        import psutil

        return float(psutil.Process().memory_info().rss / 1e6)
    kilo = 1e6 if sys.platform == "darwin" else 1e3
    return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / kilo)


def _use_one_thread() -> None:
    """Leave the other processors to other workers."""
    import torch

    from napari_celis.core.parallel import limit_threads

    limit_threads(1)
    torch.set_num_threads(1)


def _note_failure(run: BlockRun, task: Task, block: Block, error: Exception, seconds: float) -> Done:
    """Write down why a block cannot be computed."""
    sentence = (
        str(error) if isinstance(error, CelisError) else f"{type(error).__name__}: {short_reason(error)}"
    )
    values: dict[str, Any] = {
        "error": sentence,
        "place": block.place,
        "traceback": "".join(traceback.format_exception(error)),
    }
    run.set_failure(task.stage, block, values)
    return Done(task.block, seconds, sentence)


def _raise_if_full(error: BaseException) -> None:
    """Tell a full disk from a fault of the block: there every other block would fail, too."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.errno in FULL:
            raise StoppedRunError(
                f"The disk is full ({short_reason(cause)}). Free some space, then give the same command "
                "again: finished blocks are kept."
            ) from error
        cause = cause.__cause__ or cause.__context__


def _raise_if_cancelled(stage: str, share: float) -> None:
    """Stop working for nobody: Dask lets a cancelled task run on."""
    from distributed import get_worker
    from distributed.worker import thread_state

    try:
        key = thread_state.key
        found = get_worker().state.tasks.get(key)
    except (AttributeError, ValueError):
        return
    if found is None or found.state in ("cancelled", "released", "forgotten"):
        raise CancelledBlockError("The block was cancelled.")

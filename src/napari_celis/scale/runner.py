"""Bring the stages of a run to workers, block by block, and go on where an earlier attempt ended."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

from napari_celis.scale.grid import Block, BlockGrid
from napari_celis.scale.run import BlockRun
from napari_celis.scale.settings import BlockwiseError
from napari_celis.scale.stages.listing import stages_of
from napari_celis.scale.stages.stage import Stage
from napari_celis.scale.task import Done, StoppedRunError, Task, finish_stage, run_task

if TYPE_CHECKING:
    from distributed import Client

AHEAD = 4
"""Blocks per worker that a scheduler knows of at a time; more would only fill its memory."""


@dataclass(frozen=True)
class Failure:
    """A block that could not be computed."""

    stage: str
    block: str
    place: str
    error: str


@dataclass(frozen=True)
class Progress:
    """How far a run is."""

    stage: str
    """Title of the stage."""
    done: int
    total: int
    failed: int
    share: float
    """Of the whole run, 0 to 1, about."""
    seconds_left: float | None
    """Until the end of the run, about; None while nothing is known."""


@dataclass(frozen=True)
class Outcome:
    """How a run ended."""

    computed: dict[str, int] = field(default_factory=dict)
    """Blocks computed by this attempt, by stage."""
    failures: tuple[Failure, ...] = ()
    lost: int = 0
    """Blocks whose workers died again and again; the same command tries them anew."""


def run_stages(
    run: BlockRun,
    client: Client,
    *,
    retry_failed: bool = False,
    on_progress: Callable[[Progress], None] = lambda progress: None,
) -> Outcome:
    """Do everything that is not done yet.

    Parameters
    ----------
    run : BlockRun
        The run.
    client : distributed.Client
        Whose workers compute.
    retry_failed : bool
        Take up blocks that failed before, and all that had to do without them.
    on_progress : callable
        Called after every block.

    Returns
    -------
    outcome : Outcome
        With the blocks that failed; everything else is done.

    Raises
    ------
    BlockwiseError
        If the run cannot go on: the scheduler is gone, the disk is full, all blocks of a stage failed.
    """
    stages = stages_of(run)
    if retry_failed:
        forget_failures(run, stages)
    work = _Work(run, client, _Clock(run, stages), on_progress)
    for stage in stages:
        work.do(stage)
        if work.lost:
            break
    else:
        run.store.clear_leftovers()
    return Outcome(work.computed, list_failures(run, stages), work.lost)


def list_failures(run: BlockRun, stages: list[Stage] | None = None) -> tuple[Failure, ...]:
    """List the blocks that could not be computed.

    Parameters
    ----------
    run : BlockRun
        The run.
    stages : list of Stage, optional
        Where to look; all stages by default.
    """
    return tuple(
        Failure(stage.title, name, str(values.get("place")), str(values.get("error")))
        for stage in stages or stages_of(run)
        for name, values in run.failures(stage.name).items()
    )


def forget_failures(run: BlockRun, stages: list[Stage]) -> None:
    """Let failed blocks be computed again, and those that read nothing where these should have been.

    Parameters
    ----------
    run : BlockRun
        The run.
    stages : list of Stage
        The stages of the run.
    """
    if not any(run.failures(stage.name) for stage in stages):
        return
    for stage in stages:
        run.set_added_up(stage.name, False)
        for name in run.finished(stage.name):
            if (run.flag(stage.name, name) or {}).get("tainted"):
                run.clear_flag(stage.name, name)
    # Last, so that whoever is killed here finds them again.
    for stage in stages:
        for name in run.failures(stage.name):
            run.clear_failure(stage.name, name)


class _Clock:
    """Estimates the time that is left from the stages that are done."""

    def __init__(self, run: BlockRun, stages: list[Stage]) -> None:
        self._weights = {stage.name: max(stage.weight, 1e-4) for stage in stages}
        self._done = dict.fromkeys(self._weights, 0.0)
        self._begin, self._at_begin = time.monotonic(), 0.0

    def skip(self, stage: Stage, share: float) -> None:
        """Count what an earlier attempt did."""
        self._at_begin += self._weights[stage.name] * (share - self._done[stage.name])
        self._done[stage.name] = share

    def update(self, stage: Stage, share: float) -> tuple[float, float | None]:
        """Return the finished share of the run, and the seconds that are left."""
        self._done[stage.name] = share
        total = sum(self._weights.values())
        done = sum(self._weights[name] * part for name, part in self._done.items())
        elapsed, gained = time.monotonic() - self._begin, done - self._at_begin
        left = None if gained <= 0 or elapsed < 1 else elapsed * (total - done) / gained
        return done / total, left


class _Work:
    """Goes through the blocks of one stage after the other."""

    def __init__(
        self, run: BlockRun, client: Client, clock: _Clock, on_progress: Callable[[Progress], None]
    ) -> None:
        self.computed: dict[str, int] = {}
        self.lost = 0
        self._run, self._client, self._clock, self._on_progress = run, client, clock, on_progress
        self._bad: dict[str, set[int]] = {}
        """Blocks per stage that failed, or read where one had failed."""
        self._empty: dict[str, set[int]] = {}
        """Blocks per stage that failed, or were left out because they had failed before."""
        self._grids: dict[str, BlockGrid] = {}

    def do(self, stage: Stage) -> None:
        """Compute the blocks of a stage that are not done, then add up."""
        run, grid = self._run, stage.grid(self._run)
        failed = {int(name) for name in run.failures(stage.name)}
        left_out = self._left_out(stage)
        self._empty[stage.name] = failed | left_out
        bad = self._bad[stage.name] = failed | left_out
        self._grids[stage.name] = grid
        tasks = []
        finished = run.finished(stage.name)
        for block in grid:
            is_tainted = self._is_tainted(stage, block)
            if is_tainted:
                bad.add(block.index)
            if block.index in failed or block.index in left_out:
                continue
            digest = stage.digest(run, block)
            if block.name in finished and (not digest or self._has_digest(stage, block.name, digest)):
                continue
            tasks.append(Task(run.store.url, run.checksum, stage.name, block.index, digest, is_tainted))
        n_before = len(grid) - len(tasks)
        self._clock.skip(stage, n_before / len(grid))
        if tasks:
            stage.prepare(run)
            run.set_added_up(stage.name, False)
            self._compute(stage, tasks, len(grid), len(failed))
        if self.lost:
            return
        self._require_some(stage, len(grid))
        if not run.is_added_up(stage.name):
            self._call(finish_stage, run.store.url, run.checksum, stage.name)
            run.set_added_up(stage.name, True)

    def _has_digest(self, stage: Stage, name: str, digest: str) -> bool:
        return (self._run.flag(stage.name, name) or {}).get("digest") == digest

    def _left_out(self, stage: Stage) -> set[int]:
        """List the blocks that have nothing to work on, because they failed at a stage that they need."""
        if stage.fills_gaps:
            return set()
        grid = stage.grid(self._run)
        same = [need for need in stage.needs if self._grids.get(need) == grid]
        return set().union(*(self._empty[need] for need in same))

    def _is_tainted(self, stage: Stage, block: Block) -> bool:
        """Tell whether a block reads where earlier stages could not compute."""
        return any(
            not self._bad[need].isdisjoint(self._grids[need].touching(stage.reads(self._run, block)))
            for need in stage.needs
            if self._bad.get(need)
        )

    def _compute(self, stage: Stage, tasks: list[Task], total: int, n_failed: int) -> None:
        """Keep the workers busy until all tasks came back."""
        n_done = total - len(tasks)
        self._tell(stage, n_done, total, n_failed)
        for done in self._results(tasks):
            n_done += 1
            if done is None:
                self.lost += 1
                continue
            if done.error is None:
                self.computed[stage.name] = self.computed.get(stage.name, 0) + 1
            else:
                n_failed += 1
                self._bad[stage.name].add(done.block)
                self._empty[stage.name].add(done.block)
            self._tell(stage, n_done, total, n_failed)

    def _results(self, tasks: list[Task]) -> Iterator[Done | None]:
        """Submit some tasks at a time, and yield what comes back; None for a block whose workers died."""
        from distributed import as_completed

        waiting = iter(tasks)
        n_ahead = max(AHEAD * len(self._client.scheduler_info(n_workers=-1)["workers"]), AHEAD)
        submitted = [self._submit(task) for task in islice(waiting, n_ahead)]
        futures = as_completed(submitted, loop=self._client.loop)
        try:
            for future in futures:
                yield self._result(future)
                for task in islice(waiting, 1):
                    futures.add(self._submit(task))
        finally:
            self._client.cancel(list(futures.futures), force=True)

    def _submit(self, task: Task) -> Any:
        return self._client.submit(run_task, task, pure=False, retries=0)

    def _result(self, future: Any) -> Done | None:
        """Take one result, and tell a lost worker from a lost scheduler."""
        from distributed import CancelledError, KilledWorker

        try:
            done: Done = future.result()
            return done
        except StoppedRunError:
            raise
        except KilledWorker:
            return None
        except (CancelledError, OSError, TimeoutError) as error:
            raise BlockwiseError(
                "The scheduler is gone. Start it again and give the same command: finished blocks are kept."
            ) from error

    def _call(self, function: Callable[..., None], *arguments: Any) -> None:
        """Run something on a worker, and wait for it."""
        from distributed import CancelledError, KilledWorker

        try:
            self._client.submit(function, *arguments, pure=False).result()
        except (CancelledError, KilledWorker, OSError, TimeoutError) as error:
            raise BlockwiseError(
                "The workers or their scheduler are gone. Start them again and give the same command: "
                "finished blocks are kept."
            ) from error

    def _require_some(self, stage: Stage, total: int) -> None:
        """Stop where every block of a stage failed: the rest would be about nothing."""
        if len(self._empty[stage.name]) == total:
            first = list_failures(self._run)[0]
            raise BlockwiseError(
                f"All {total} blocks failed up to the stage “{stage.title}”, the first with: {first.error} "
                "Put that right, then give the same command with --retry-failed."
            )

    def _tell(self, stage: Stage, n_done: int, total: int, n_failed: int) -> None:
        share, left = self._clock.update(stage, n_done / total)
        self._on_progress(Progress(stage.title, n_done, total, n_failed, share, left))

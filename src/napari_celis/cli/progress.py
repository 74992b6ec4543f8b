"""Progress bars on stderr, and the same as records for other programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from napari_celis.scale.runner import Progress

STAGE = "{desc}: {percentage:3.0f}%|{bar}| {elapsed}"

_records: ContextVar[TextIO | None] = ContextVar("records", default=None)


@contextmanager
def recorded(path: Path | None) -> Iterator[None]:
    """Append what bars show to a file too, one JSON object with `stage` and `done` per line."""
    if path is None:
        yield
        return
    with path.open("a", encoding="utf-8") as file:
        token = _records.set(file)
        try:
            yield
        finally:
            _records.reset(token)


def _record(stage: str, done: float, figures: dict[str, float] | None = None) -> None:
    file = _records.get()
    if file is not None:
        more = {} if figures is None else {"figures": figures}
        file.write(dumps({"stage": stage, "done": done, **more}) + "\n")
        file.flush()


@contextmanager
def bar(title: str, *, unit: str = "", delay: float = 0.0) -> Iterator[Callable[[int, int], None]]:
    """Yield a function that takes how much is done, and of how much; its first call shows the bar.

    Parameters
    ----------
    title : str
        What is being done.
    unit : str
        Of the counts.
    delay : float
        Seconds before the bar appears.
    """
    from tqdm import tqdm

    shown: list[tqdm] = []

    def update(done: int, total: int) -> None:
        if not shown:
            shown.append(tqdm(desc=title, unit=unit, unit_scale=True, delay=delay, total=total))
        shown[0].update(done - shown[0].n)
        _record(title, done / total if total else 0.0)

    try:
        yield update
    finally:
        for one in shown:
            one.close()


@contextmanager
def stage_bars(prefix: str = "", *, delay: float = 0.0) -> Iterator[Callable[[str, float], None]]:
    """Show a bar per stage of the work, and yield a function that takes the stage and its finished share.

    Parameters
    ----------
    prefix : str
        Stands before the name of every stage.
    delay : float
        Seconds before a bar appears; such bars vanish when their stage is done.
    """
    from tqdm import tqdm

    shown: list[tqdm] = []
    titles: list[str] = []

    def report(stage: str, share: float) -> None:
        title = prefix + stage
        # A bar that is switched off knows no title.
        if titles[-1:] != [title]:
            finish()
            titles.append(title)
            shown.append(
                tqdm(desc=title, total=100, unit="%", bar_format=STAGE, delay=delay, leave=not delay)
            )
        shown[-1].update(round(100 * share) - shown[-1].n)
        _record(title, share)

    def finish() -> None:
        if shown:
            shown[-1].update(100 - shown[-1].n)
            shown.pop().close()

    try:
        yield report
        finish()
    finally:
        for one in shown:
            one.close()


@contextmanager
def block_bars() -> Iterator[Callable[[Progress], None]]:
    """Show a bar per stage of a block-wise run with the time that is left of the whole run."""
    from tqdm import tqdm

    shown: list[tqdm] = []
    titles: list[str] = []

    def show(progress: Progress) -> None:
        # A bar that is switched off knows no title.
        if titles[-1:] != [progress.stage]:
            for one in shown:
                one.close()
            titles.append(progress.stage)
            shown[:] = [tqdm(desc=progress.stage, total=progress.total, unit="block")]
        left = "" if progress.seconds_left is None else f", {_duration(progress.seconds_left)} left"
        failed = f", {progress.failed} failed" if progress.failed else ""
        shown[-1].set_postfix_str(f"{progress.share:.0%} of all{left}{failed}", refresh=False)
        shown[-1].update(progress.done - shown[-1].n)
        figures: dict[str, float] = {
            "blocks": progress.done,
            "total": progress.total,
            "failed": progress.failed,
        }
        if progress.seconds_left is not None:
            figures["seconds_left"] = progress.seconds_left
        _record(progress.stage, progress.share, figures)

    try:
        yield show
    finally:
        for one in shown:
            one.close()


def _duration(seconds: float) -> str:
    """Write a time as people say it."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"

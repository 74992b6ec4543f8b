"""Progress bars on stderr."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from json import dumps
from pathlib import Path
from typing import TextIO

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


def _record(stage: str, done: float) -> None:
    file = _records.get()
    if file is not None:
        file.write(dumps({"stage": stage, "done": done}) + "\n")
        file.flush()


@contextmanager
def bar(title: str) -> Iterator[Callable[[int, int], None]]:
    """Show a bar and yield a function that takes how much is done, and of how much."""
    from tqdm import tqdm

    with tqdm(desc=title, unit_scale=True) as shown:

        def update(done: int, total: int) -> None:
            shown.total = total
            shown.update(done - shown.n)
            _record(title, done / total if total else 0.0)

        yield update


@contextmanager
def stage_bars(prefix: str = "") -> Iterator[Callable[[str, float], None]]:
    """Show a bar per stage of the work, and yield a function that takes the stage and its finished share."""
    from tqdm import tqdm

    shown: list[tqdm] = []

    def report(stage: str, share: float) -> None:
        title = prefix + stage
        if not shown or shown[-1].desc != title:
            finish()
            shown.append(tqdm(desc=title, total=100, unit="%", bar_format=STAGE))
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

"""Progress on stderr: bars for people, lines of JSON for programs.

With `CELIS_PROGRESS=records` in the environment, each line is one record, such as
`{"stage": "affinities", "done": 0.25}`.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

SETTING = "CELIS_PROGRESS"
STAGE = "{desc}: {percentage:3.0f}%|{bar}| {elapsed}"


def wants_records() -> bool:
    """Tell whether a program reads the progress."""
    return os.environ.get(SETTING) == "records"


def write_record(stage: str, done: float) -> None:
    """Write one record to stderr.

    Parameters
    ----------
    stage : str
        What is being done.
    done : float
        Finished share, 0 to 1.
    """
    print(json.dumps({"stage": stage, "done": round(done, 4)}), file=sys.stderr, flush=True)


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

    if wants_records():
        yield lambda done, total: write_record(title, done / max(1, total))
        return
    shown: list[tqdm] = []

    def update(done: int, total: int) -> None:
        if not shown:
            shown.append(tqdm(desc=title, unit=unit, unit_scale=True, delay=delay, total=total))
        shown[0].update(done - shown[0].n)

    try:
        yield update
    finally:
        for one in shown:
            one.close()


@contextmanager
def stage_bars(*, delay: float = 0.0) -> Iterator[Callable[[str, float], None]]:
    """Show a bar per stage of the work, and yield a function that takes the stage and its finished share.

    Parameters
    ----------
    delay : float
        Seconds before a bar appears; such bars vanish when their stage is done.
    """
    from tqdm import tqdm

    if wants_records():
        yield write_record
        return
    shown: list[tqdm] = []

    def report(stage: str, share: float) -> None:
        if not shown or shown[-1].desc != stage:
            finish()
            shown.append(
                tqdm(desc=stage, total=100, unit="%", bar_format=STAGE, delay=delay, leave=not delay)
            )
        shown[-1].update(round(100 * share) - shown[-1].n)

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

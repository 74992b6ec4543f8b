"""What a training run tells while it goes on."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

Result = TypeVar("Result")


@dataclass(frozen=True)
class TrainRecord:
    """Something that training has to tell."""

    stage: str
    done: float
    """Share of the whole that is done, 0 to 1."""
    figures: Mapping[str, Any] = field(default_factory=dict)
    network: str = ""
    """Which network of the stage is trained, such as "2 of 3"; empty where there is only one."""


Records = Generator[TrainRecord, None, Result]


def within(records: Records[Result], begin: float, end: float) -> Records[Result]:
    """Pass the records of a part on, as a part of the whole.

    Parameters
    ----------
    records : generator of TrainRecord
        They count from 0 to 1.
    begin, end : float
        Where the part begins and ends in the whole, 0 to 1.
    """
    while True:
        try:
            record = next(records)
        except StopIteration as stop:
            result: Result = stop.value
            return result
        yield replace(record, done=begin + (end - begin) * min(1.0, max(0.0, record.done)))

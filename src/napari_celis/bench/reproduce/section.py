"""A section of the report: numbers that are measured once, and words, tables and pictures about them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from napari_celis.pipeline.stages import Report

if TYPE_CHECKING:
    from napari_celis.bench.reproduce.experiment import Experiment

Numbers = dict[str, Any]
"""What a section measured, as JSON holds it; the report is made from these alone."""


@dataclass(frozen=True)
class Paragraph:
    """Some sentences; `**bold**` and `` `code` `` are marked as in Markdown."""

    text: str


@dataclass(frozen=True)
class Table:
    """Rows of text under a heading."""

    heading: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str = ""
    best: Sequence[tuple[int, int]] = ()
    """Row and column of what is set in bold."""
    groups: Sequence[tuple[str, int]] = ()
    """A line above the heading: text, and over how many columns it goes."""


@dataclass(frozen=True)
class Picture:
    """A drawing as SVG, and what it shows in words."""

    svg: bytes
    description: str


Block = Paragraph | Table | Picture


@dataclass(frozen=True)
class Finding:
    """One line of the summary: the paper's number and ours."""

    what: str
    paper: str
    here: str


@dataclass(frozen=True)
class Section:
    """One experiment."""

    name: str
    """How `--only` calls it."""
    title: str
    paper: str
    """Which table or figure of the paper it corresponds to."""
    measure: Callable[[Experiment, Report], Numbers]
    describe: Callable[[Numbers], Sequence[Block]]
    summarise: Callable[[Numbers], Sequence[Finding]]


def percent(share: float) -> str:
    """Write a share as people read it."""
    rounded = round(100 * share)
    return f"{'−' if rounded < 0 else ''}{abs(rounded)} %"

"""The sections of the report, in its order."""

from __future__ import annotations

from napari_celis.bench.reproduce import (
    accuracy,
    learning_curve,
    networks,
    proofreading_curve,
    pruning,
    subvolumes,
    time_shares,
)
from napari_celis.bench.reproduce.section import Section

SECTIONS: tuple[Section, ...] = (
    accuracy.SECTION,
    subvolumes.SECTION,
    pruning.SECTION,
    time_shares.SECTION,
    networks.SECTION,
    learning_curve.SECTION,
    proofreading_curve.SECTION,
)

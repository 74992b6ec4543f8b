"""Waiting for a window on a busy machine."""

from __future__ import annotations

from functools import partial

PATIENCE_MS = 60_000


def be_patient(qtbot) -> None:
    """Let all further waits of a test last longer: they end as soon as what they wait for has happened."""
    qtbot.waitUntil = partial(qtbot.waitUntil, timeout=PATIENCE_MS)
    qtbot.waitSignal = partial(qtbot.waitSignal, timeout=PATIENCE_MS)

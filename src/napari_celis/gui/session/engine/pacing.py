"""When the engine's thread takes the next step, and when it reports."""

from __future__ import annotations

import time

SNAPSHOT_SECONDS = 1 / 15
"""Time between two snapshots of a run, at least."""
SMOOTHING = 0.3
"""Weight of the newest measurement in the speed that is shown."""


class SpeedLimit:
    """Spaces the steps of a run."""

    def __init__(self) -> None:
        self._seconds_per_step = 0.0
        self.next_at = 0.0
        """Time of the next step, as `time.monotonic` tells it."""

    def set_speed(self, steps_per_second: float | None) -> None:
        """Change the speed; None is as fast as possible."""
        self._seconds_per_step = 1 / steps_per_second if steps_per_second else 0.0
        self.next_at = 0.0

    def allow_now(self) -> None:
        """Let the next step come at once."""
        self.next_at = 0.0

    def after_step(self) -> None:
        """Space the next step from this one."""
        self.next_at = time.monotonic() + self._seconds_per_step


class SnapshotPacer:
    """Sends a snapshot when there is news, the last one was drawn, and some time has passed.

    Only the time is waived for urgent news. The caller guards it against use by two threads at once.
    """

    def __init__(self) -> None:
        self._is_due = self._is_urgent = False
        self._is_drawn = True
        self._reported_at = time.monotonic()
        self._reported_steps = 0
        self._rate = 0.0

    def request(self, *, is_urgent: bool = False) -> None:
        """Ask for a snapshot as soon as it may come."""
        self._is_due = True
        self._is_urgent = self._is_urgent or is_urgent

    def on_drawn(self) -> None:
        """Allow the next snapshot: the window is done with the last one."""
        self._is_drawn = True

    def may_report(self) -> bool:
        """Tell whether a snapshot is to be sent now."""
        is_time = self._is_urgent or time.monotonic() >= self._reported_at + SNAPSHOT_SECONDS
        return self._is_due and self._is_drawn and is_time

    def next_at(self) -> float | None:
        """Return when a snapshot is to be sent; None while nothing is due or the window is not ready."""
        return self._reported_at + SNAPSHOT_SECONDS if self._is_due and self._is_drawn else None

    def begin_report(self) -> None:
        """Count the snapshot that is about to be sent."""
        self._is_due = self._is_urgent = self._is_drawn = False

    def steps_per_second(self, n_done: int, *, is_running: bool) -> float:
        """Measure the speed since the last call, given all steps so far.

        Parameters
        ----------
        n_done : int
            All steps so far.
        is_running : bool
            Whether more will come; else the speed is 0.
        """
        now = time.monotonic()
        seconds, n_steps = now - self._reported_at, n_done - self._reported_steps
        self._reported_at, self._reported_steps = now, n_done
        if n_steps and seconds > 0:
            newest = n_steps / seconds
            self._rate = newest if not self._rate else (1 - SMOOTHING) * self._rate + SMOOTHING * newest
        if not is_running:
            self._rate = 0.0
        return self._rate

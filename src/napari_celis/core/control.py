"""Run, pause, step and stop an agglomeration from another thread."""

from __future__ import annotations

import threading

from napari_celis.core.errors import ActionError


class RunControl:
    """A gate that the working thread passes before every step; every method may be called from any thread."""

    def __init__(self, *, is_running: bool = False) -> None:
        self._condition = threading.Condition()
        self._allowed: float = float("inf") if is_running else 0
        self._is_stopped = False

    @property
    def is_running(self) -> bool:
        """Whether the next step may begin at once."""
        with self._condition:
            return self._allowed > 0 and not self._is_stopped

    @property
    def is_stopped(self) -> bool:
        """Whether the run was ended for good."""
        with self._condition:
            return self._is_stopped

    def run(self) -> None:
        """Let steps pass until further notice."""
        self._allow(float("inf"))

    def pause(self) -> None:
        """Hold the working thread before its next step."""
        self._allow(0)

    def step(self, n: int = 1) -> None:
        """Let `n` more steps pass, at least 1, then hold."""
        if n < 1:
            raise ActionError(f"`n` is {n}, but a run goes forward by whole steps. Give 1 or more.")
        with self._condition:
            already = self._allowed if self._allowed != float("inf") else 0
            self._allowed = already + n
            self._condition.notify_all()

    def stop(self) -> None:
        """End the run; it cannot be continued."""
        with self._condition:
            self._is_stopped = True
            self._condition.notify_all()

    def wait(self) -> bool:
        """Block the working thread until it may do a step; False means that it must end."""
        with self._condition:
            self._condition.wait_for(lambda: self._allowed > 0 or self._is_stopped)
            self._allowed -= 1
            return not self._is_stopped

    def _allow(self, steps: float) -> None:
        with self._condition:
            self._allowed = steps
            self._condition.notify_all()

"""A small pool of threads for kernels that release the interpreter lock."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


_most_threads: list[int] = []


def limit_threads(n_threads: int) -> None:
    """Let pools of this process have this many threads, where nobody says otherwise."""
    _most_threads[:] = [n_threads]


def default_threads() -> int:
    """Count the processors this process may use."""
    if _most_threads:
        return _most_threads[0]
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Pool:
    """Runs a function over items on `n_threads` threads; results come in the order of the items."""

    def __init__(self, n_threads: int | None = None) -> None:
        self.n_threads = n_threads or default_threads()
        self._executor = ThreadPoolExecutor(self.n_threads, "celis") if self.n_threads > 1 else None

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Apply `function` to every item; the first error is raised here once the other threads ended.

        Parameters
        ----------
        function : callable
            Called in any thread.
        items : sequence of Item
            One call each.
        """
        if self._executor is None:
            yield from map(function, items)
            return
        futures = deque(self._executor.submit(function, item) for item in items)
        try:
            while futures:
                yield futures[0].result()
                futures.popleft()
        finally:
            # Whoever handles an error may touch what other threads write, so these have to end first.
            wait([future for future in futures if not future.cancel()])

    def close(self) -> None:
        """End the threads; further work runs on the thread that asks for it."""
        if self._executor is not None:
            self._executor.shutdown(cancel_futures=True)
            self._executor = None

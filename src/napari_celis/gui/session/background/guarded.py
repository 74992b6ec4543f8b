"""Run a program as a child that ends with its window: `python -m` this module, then the program.

The window holds the other end of standard input. When it closes that end, or dies, the child is interrupted
the way Ctrl+C would, so that it can remove half-written files; if that takes too long, it is ended. What it
started ends with it in any case. Nothing here needs Qt.
"""

from __future__ import annotations

import _thread
import atexit
import os
import runpy
import signal
import sys
import threading
import time

GRACE_SECONDS = 5.0


def main() -> None:
    """Run a module, or a script by its path, with the remaining arguments."""
    program, *sys.argv = sys.argv[1:]
    if os.name == "posix":
        # Its own group: Ctrl+C in the window's terminal reaches the window alone, and the group ends as one.
        os.setpgrp()
        # Registered before anything else, so that it comes last.
        atexit.register(_end_what_was_started)
    # Inherited as ignored where the window was started in the background of a shell.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Thread(target=_end_with_the_window, name="guard", daemon=True).start()
    sys.argv.insert(0, program)
    if program.endswith(".py"):
        runpy.run_path(program, run_name="__main__")
    else:
        runpy.run_module(program, run_name="__main__", alter_sys=True)


def _end_what_was_started() -> None:
    """Leave nobody of the group behind."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.killpg(0, signal.SIGTERM)


def _end_with_the_window() -> None:
    """Wait until nobody holds the other end of standard input any more."""
    # Not sys.stdin: a thread that waits inside its buffer would crash the interpreter when it ends.
    while os.read(0, 1024):
        pass
    if os.name == "posix":
        os.kill(os.getpid(), signal.SIGINT)
    else:
        _thread.interrupt_main()
    time.sleep(GRACE_SECONDS)
    if os.name == "posix":
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


if __name__ == "__main__":
    main()

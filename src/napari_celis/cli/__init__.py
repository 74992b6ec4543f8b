"""The `celis` command: the same work as the viewer, without one."""

from __future__ import annotations

import os
import sys

from napari_celis.cli import (  # noqa: F401, each adds its command to the app
    agglomerate,
    bench,
    blockwise,
    compare,
    demo,
    evaluate,
    phantom,
    plan,
    predict,
    pruning_report,
    queue,
    replay,
    reproduce,
    sessions,
    train,
    view,
    volumes,
    watershed,
)
from napari_celis.cli.app import app

INTERRUPTED = 130
"""What typer makes of Ctrl+C, without a word."""


def main() -> None:
    """Run `celis`; a mistake ends in one sentence and exit code 1, wrong usage in 2."""
    from napari_celis.core.errors import CelisError

    # Threads of torch that wait for each other would keep the processor busy: beside another program, such as
    # a viewer, training would take four times as long. It is read when torch is loaded.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    arguments = sys.argv[1:]
    debug = "--debug" in arguments
    try:
        app([argument for argument in arguments if argument != "--debug"])
    except SystemExit as end:
        if end.code != INTERRUPTED:
            raise
        print("celis: stopped.", file=sys.stderr)
        sys.exit(1)
    except (CelisError, OSError, MemoryError) as error:
        if debug:
            raise
        print(f"celis: {str(error) or 'not enough memory.'}", file=sys.stderr)
        sys.exit(1)
    except Exception as error:
        if debug:
            raise
        print(
            f"celis: this should not have happened ({type(error).__name__}: {error}). "
            "Run the same command with --debug and report what it prints.",
            file=sys.stderr,
        )
        sys.exit(1)

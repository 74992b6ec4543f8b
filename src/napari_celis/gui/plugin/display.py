"""Is there a screen, and what to draw on when there is none."""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from napari_celis.core.errors import CelisError, MissingExtraError

START_SECONDS = 30.0


def has_display() -> bool:
    """Tell whether a window can be opened here."""
    if sys.platform in ("darwin", "win32"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def require_qt() -> None:
    """Check that the toolkit that draws windows is there; it is no base dependency."""
    try:
        from qtpy import QtWidgets  # noqa: F401
    except ImportError as error:
        raise MissingExtraError(
            f"No window can be opened: Qt cannot be loaded ({error}). "
            'Install it with: pip install "napari-celis[all]".'
        ) from error


@contextmanager
def virtual_display(width: int, height: int) -> Iterator[None]:
    """Draw on a screen in memory, with the settings of a first start and nothing kept, as long as it lasts.

    napari must not be imported yet: it reads where its settings are when it is.

    Parameters
    ----------
    width, height : int
        Size of the screen in pixels.
    """
    before = dict(os.environ)
    with tempfile.TemporaryDirectory(prefix="celis-") as folder, _x_server(width, height, folder) as display:
        os.environ.pop("WAYLAND_DISPLAY", None)
        os.environ["DISPLAY"] = display
        os.environ["QT_QPA_PLATFORM"] = "xcb"
        os.environ["NAPARI_CONFIG"] = str(Path(folder, "napari.yaml"))
        os.environ["XDG_STATE_HOME"] = str(Path(folder, "state"))
        try:
            yield
        finally:
            os.environ.clear()
            os.environ.update(before)


@contextmanager
def _x_server(width: int, height: int, folder: str) -> Iterator[str]:
    """Run Xvfb on a display that it finds free itself."""
    program = shutil.which("Xvfb")
    if program is None:
        raise CelisError(
            "There is no display here, and Xvfb, which draws without one, is not installed. "
            "Install it (Debian: sudo apt-get install xvfb xauth), or run this where there is a screen."
        )
    log = Path(folder, "xvfb.log")
    read_end, write_end = os.pipe()
    # -terminate: it ends with its last window, even when this program is killed and cannot end it.
    command = [program, "-displayfd", str(write_end), "-screen", "0", f"{width}x{height}x24"]
    command += ["-nolisten", "tcp", "-terminate"]
    with log.open("wb") as messages:
        server = subprocess.Popen(command, pass_fds=[write_end], stdout=messages, stderr=messages)
    os.close(write_end)
    # A request to end must pass through here too; without a handler it would end this program at once.
    before = signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    try:
        yield f":{_display_number(read_end, log)}"
    finally:
        signal.signal(signal.SIGTERM, before)
        os.close(read_end)
        server.terminate()
        server.wait()


def _display_number(read_end: int, log: Path) -> int:
    """Wait until Xvfb says which display it took."""
    answer = b""
    while not answer.endswith(b"\n"):
        is_ready, _, _ = select.select([read_end], [], [], START_SECONDS)
        part = os.read(read_end, 64) if is_ready else b""
        if not part:
            last_line = (log.read_text(errors="replace").strip().splitlines() or ["it said nothing"])[-1]
            raise CelisError(
                f"Xvfb, which draws without a display, did not start: {last_line.rstrip('.')}. "
                "Run this where there is a screen, or start Xvfb yourself and set DISPLAY."
            )
        answer += part
    return int(answer)

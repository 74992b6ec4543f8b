"""Turn whatever a file library raises into one sentence that a person can act on."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

from napari_celis.core.errors import CelisError, CorruptFileError, NotEnoughMemoryError, VolumeError

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""A full disk, a full share of it, and a file that may not become larger."""


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Translate failures while `name` is opened or read.

    Parameters
    ----------
    name : str
        The file or dataset, as messages call it.

    Raises
    ------
    CorruptFileError
        For everything a library complains about: these files come from anywhere, and a damaged one
        makes the libraries fail in ways that no list of exception classes covers.
    """
    try:
        yield
    except CelisError:
        raise
    except MemoryError as error:
        raise NotEnoughMemoryError(
            f"Reading {name} needs more memory than there is. Open a coarser level or a crop."
        ) from error
    except PermissionError as error:
        raise VolumeError(f"{name} may not be read: permission denied. Change its access rights.") from error
    except Exception as error:
        raise _corrupt(name, error) from error


@contextmanager
def writing(name: str) -> Iterator[None]:
    """Translate what the system says while `name` is written: a full disk, a folder without access."""
    try:
        yield
    except (OSError, RuntimeError) as error:
        if _is_full(error):
            way_out = "Free some space or write somewhere else."
        else:
            way_out = "Check the folder's access rights, or write somewhere else."
        raise VolumeError(f"{name} could not be written: {short_reason(error)}. {way_out}") from error


def _is_full(error: Exception) -> bool:
    """Tell a full disk, also where a library keeps the number of the error to itself."""
    text = str(error)
    return (
        getattr(error, "errno", None) in FULL
        or os.strerror(errno.ENOSPC) in text
        or re.search(r"\d+ requested and \d+ written", text) is not None
    )


def _corrupt(name: str, error: Exception) -> CorruptFileError:
    """Say that a file is damaged, with the library's reason in brackets."""
    return CorruptFileError(
        f"{name} cannot be read ({short_reason(error)}): it is damaged, incomplete, or not what its name "
        "says. Copy or export it again."
    )


def short_reason(error: BaseException) -> str:
    """Cut an exception down to its first line, without the full stop."""
    if isinstance(error, OSError) and error.strerror and error.errno:
        text = error.strerror
    else:
        text = str(error) or type(error).__name__
    line = " ".join(text.split())
    return (line if len(line) <= 160 else f"{line[:157]}...").rstrip(".")

"""Compiled kernels are kept on disk; where that does not work they are compiled again, and the work goes on.

numba lets a full disk or a damaged file under its cache fail the function that is being called. Importing
this module makes its cache forgiving, for the whole process.
"""

from __future__ import annotations

import glob
import logging
import os
from contextlib import suppress
from typing import Any

from numba.core import caching, dispatcher

logger = logging.getLogger(__name__)

_told: set[str] = set()
"""Folders that the user has been told about."""


def _load(self: Any, *arguments: Any) -> Any:
    """Load compiled code; None makes numba compile it."""
    try:
        return _load_strictly(self, *arguments)
    except Exception as error:
        _tell(
            self.cache_path,
            f"Compiled code in {self.cache_path} is damaged ({_short(error)}): it is made again.",
        )
        _forget(self)
        return None


def _save(self: Any, *arguments: Any) -> None:
    """Keep compiled code, if that is possible."""
    try:
        _save_strictly(self, *arguments)
    except Exception as error:
        _tell(
            self.cache_path,
            f"Compiled code cannot be kept in {self.cache_path} ({_short(error)}), so every start takes "
            "longer. Free some space there, or name another folder in NUMBA_CACHE_DIR.",
        )
        _forget(self)


def _enable_caching(self: Any) -> None:
    """Use a cache, if there is a folder for it."""
    try:
        _enable_strictly(self)
    except RuntimeError as error:
        _tell("", f"There is no folder to keep compiled code in ({_short(error)}): every start takes longer.")


def _forget(cache: Any) -> None:
    """Remove the index of a function and then its code, so that no index names the code of another call."""
    index = str(cache._cache_file._index_path)
    for path in (index, *glob.glob(f"{glob.escape(index.removesuffix('.nbi'))}.*.nbc")):
        with suppress(OSError):
            os.unlink(path)


def _tell(folder: str, sentence: str) -> None:
    """Say a sentence once for each folder."""
    if folder not in _told:
        _told.add(folder)
        logger.warning(sentence)


def _short(error: Exception) -> str:
    """Cut an exception down to its reason."""
    reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return " ".join(str(reason).split())[:120].rstrip(".")


_load_strictly, _save_strictly = caching.Cache._load_overload, caching.Cache._save_overload
_enable_strictly = dispatcher.Dispatcher.enable_caching
caching.Cache._load_overload, caching.Cache._save_overload = _load, _save
dispatcher.Dispatcher.enable_caching = _enable_caching  # type: ignore[method-assign, unused-ignore]

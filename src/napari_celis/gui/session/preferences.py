"""What the user chose for this plugin in napari's preferences; the manifest declares it. No Qt here."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from napari_celis.core.parallel import limit_threads

logger = logging.getLogger(__name__)

PLUGIN = "napari-celis"


@dataclass(frozen=True)
class Preferences:
    """The values of the manifest's `configurations`; the same defaults stand there."""

    threads: int = 0
    """For agglomeration; 0 means as many as there are processors."""
    sessions_folder: Path | None = None
    """Where sessions go that nobody gave a place; None for the folder that the system has for such things."""
    first_colour: str = "orange"
    """Of the first selected segment, by its name in the palette."""
    second_colour: str = "sky"
    """Of the second one."""


def preferences() -> Preferences:
    """Read what is chosen now; napari before 0.9 has no preferences for plugins, and the defaults hold."""
    try:
        from napari.settings import get_plugin_settings

        chosen = get_plugin_settings(PLUGIN)
        folder = str(chosen.work.sessions_folder).strip()
        return Preferences(
            threads=int(chosen.work.threads),
            sessions_folder=Path(folder).expanduser() if folder else None,
            first_colour=_name(chosen.colours.first),
            second_colour=_name(chosen.colours.second),
        )
    except (ImportError, KeyError, AttributeError, TypeError, ValueError) as error:
        logger.info("the defaults of all preferences are used: %s", error)
        return Preferences()


def apply_threads() -> None:
    """Let pools that are made from now on have as many threads as is chosen."""
    n_threads = preferences().threads
    if n_threads > 0:
        limit_threads(n_threads)


def _name(choice: Any) -> str:
    """Read a choice among several, which napari makes into members of an enumeration."""
    return str(getattr(choice, "value", choice))

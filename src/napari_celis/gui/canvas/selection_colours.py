"""Colours of the two selected segments, as the user prefers them."""

from __future__ import annotations

from qtpy.QtGui import QColor

from napari_celis.gui.qt.colours import OKABE_ITO
from napari_celis.gui.session.preferences import Preferences, preferences

PALER = 145
"""In per cent: a clicked supervoxel is lighter than its segment."""


def selection_colours() -> tuple[str, str]:
    """Look up the colours of the first and the second segment; unknown names count as the usual ones."""
    wanted, usual = preferences(), Preferences()
    return (
        OKABE_ITO.get(wanted.first_colour, OKABE_ITO[usual.first_colour]),
        OKABE_ITO.get(wanted.second_colour, OKABE_ITO[usual.second_colour]),
    )


def clicked_colour(colour: str) -> str:
    """Make the colour of the supervoxel that was clicked in a segment of some colour."""
    return str(QColor(colour).lighter(PALER).name())

"""Colours that everybody can tell apart, and that show up on both themes of napari."""

from __future__ import annotations

from napari.utils.theme import get_theme
from qtpy.QtGui import QColor

OKABE_ITO = {
    "orange": "#E69F00",
    "sky": "#56B4E9",
    "green": "#009E73",
    "yellow": "#F0E442",
    "blue": "#0072B2",
    "vermilion": "#D55E00",
    "purple": "#CC79A7",
    "grey": "#999999",
}
"""The palette of Okabe and Ito, which colour-blind people see too."""

ON_DARK = {"blue": OKABE_ITO["sky"], "ink": "#FFFFFF"}
ON_LIGHT = {
    "orange": "#9A5B00",
    "sky": OKABE_ITO["blue"],
    "green": "#00704F",
    "yellow": "#8F8500",
    "vermilion": "#B34700",
    "purple": "#A8537F",
    "grey": "#6E6E6E",
    "ink": "#222222",
}
"""Colours that are too faint for lines and letters on one of the backgrounds, and what stands in for them."""


def is_dark(theme: str) -> bool:
    """Tell whether a theme of napari, by its name, is a dark one."""
    return bool(get_theme(theme).type == "dark")


def readable(name: str, theme: str) -> QColor:
    """Find a colour for lines and letters by name: "ink", or one of Okabe and Ito.

    Parameters
    ----------
    name : str
        As in `OKABE_ITO`.
    theme : str
        The theme of napari whose background it must show up on.
    """
    instead = ON_DARK if is_dark(theme) else ON_LIGHT
    return QColor(instead.get(name) or OKABE_ITO[name])

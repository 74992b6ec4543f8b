"""What the pictures of the report have in common."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from typing import IO, Any

from napari_celis.bench.pruning_plot import GREEN, GREY, INK, ORANGE, PURPLE, SKY, VERMILION

COLOURS = (VERMILION, SKY, GREEN, ORANGE, PURPLE)
"""Okabe and Ito's, darkened: whoever does not see all colours can tell them apart."""
MARKERS = ("o", "s", "D", "^", "v")
WIDTH_IN, HEIGHT_IN = 8.6, 4.2


def new_figure(height_in: float = HEIGHT_IN) -> Any:
    """Make a figure that needs no window."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH_IN, height_in), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def dress(axes: Any, title: str, x: str, y: str) -> None:
    """Set titles and a light grid.

    Parameters
    ----------
    axes : any
        Where something was drawn.
    title, x, y : str
        Above, below and beside it.
    """
    axes.set_title(title, loc="left", fontsize=11, color=INK)
    axes.set_xlabel(x, fontsize=10)
    axes.set_ylabel(y, fontsize=10)
    axes.grid(axis="y", color="#e4e4e4", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(labelsize=9, color="#9a9a9a")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def level(axes: Any, height: float, label: str) -> None:
    """Draw a line that does not move, named at its right end.

    Parameters
    ----------
    axes : any
        Where to draw.
    height : float
        Where it lies.
    label : str
        Its name.
    """
    axes.axhline(height, color=GREY, linestyle=(0, (1, 1)), linewidth=1.6)
    axes.annotate(
        label, xy=(1.0, height), xycoords=("axes fraction", "data"), xytext=(0, 3),
        textcoords="offset points", ha="right", fontsize=9, color=GREY,
    )  # fmt: skip


def svg_of(figure: Any) -> bytes:
    """Write a figure as SVG."""
    return written(lambda file: figure.savefig(file, format="svg"))


def written(write: Callable[[IO[bytes]], None]) -> bytes:
    """Collect what a function writes to a file."""
    file = BytesIO()
    write(file)
    return file.getvalue()

"""The curves of `celis pruning-report`: the paper's last figure, with ours in it."""

from __future__ import annotations

from pathlib import Path
from typing import IO, Any

import numpy as np

INK, GREY, BLUE, SKY, GREEN, ORANGE, VERMILION, PURPLE = (
    "#222222",
    "#767676",
    "#0072b2",
    "#2a7fb0",
    "#00795a",
    "#b36b00",
    "#c44500",
    "#a8578a",
)
"""Okabe and Ito's colours, darkened where text in them would be hard to read on white."""

CURVES: tuple[tuple[str, str, str, Any, float], ...] = (
    ("non_incremental", "non-incremental", GREY, "-", 1.5),
    ("cr", "connectivity regions (CR)", INK, "-", 1.5),
    ("cr_visibility", "CR + visibility", SKY, "--", 1.5),
    ("cr_graph", "CR + graph", ORANGE, "-.", 1.5),
    ("cr_zone", "CR + zones", GREEN, ":", 2.0),
    ("all", "all four rules", PURPLE, "-", 1.8),
    ("lower_bound", "the paper's lower bound", INK, (0, (1, 1)), 1.8),
    ("ours_evaluations", "ours: energies evaluated", VERMILION, "--", 2.6),
    ("ours", "ours: descriptor passes", VERMILION, "-", 2.6),
)
"""Key, label, colour, line style and width of each curve, top to bottom."""

WIDTH_IN, HEIGHT_IN, DPI = 8.6, 5.4, 160


def draw(figures: dict[str, Any], path: Path | IO[bytes], kind: str) -> None:
    """Draw cumulative counts over merges, every curve named at its end.

    Parameters
    ----------
    figures : dict
        As `celis pruning-report --json` writes them.
    path : Path or file
        Written as it is; the caller takes care of renaming.
    kind : str
        Format: `png`, `pdf` or `svg`.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH_IN, HEIGHT_IN), dpi=DPI)
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0.085, 0.115, 0.595, 0.755))
    ends = []
    for key, label, colour, style, width in CURVES:
        values = np.array(figures["cumulative"][key], dtype=float)
        axes.plot(
            np.arange(len(values)), np.maximum(values, 1), color=colour, linestyle=style, linewidth=width
        )
        ends.append((label, colour, float(np.log10(max(values[-1], 1)))))
    axes.set_yscale("log")
    _dress(axes, figures)
    _name_curves(axes, ends, n_steps=figures["steps"])
    figure.savefig(path, format=kind)


def _dress(axes: Any, figures: dict[str, Any]) -> None:
    """Set titles, limits and a light grid."""
    shape = " × ".join(map(str, figures["shape_zyx"]))
    axes.figure.text(0.085, 0.945, "What one agglomeration costs", fontsize=13, fontweight="bold", color=INK)
    axes.figure.text(
        0.085,
        0.899,
        f"{shape} voxels, {figures['supervoxels']:,} supervoxels, centres every {figures['stride']} voxels, "
        f"{len(figures['specs'])} descriptor specs",
        fontsize=9.5,
        color=GREY,
    )
    axes.set_xlabel("Merges done (0 = the first scores)", fontsize=10.5)
    axes.set_ylabel("Descriptors computed so far", fontsize=10.5)
    axes.set_xlim(0, max(figures["steps"], 1))
    axes.grid(axis="y", which="major", color="#e4e4e4", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(which="both", labelsize=9.5, color="#9a9a9a")
    axes.minorticks_off()
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _name_curves(axes: Any, ends: list[tuple[str, str, float]], n_steps: int) -> None:
    """Write each curve's name behind its end, moved apart where two would overlap."""
    low, high = (float(np.log10(limit)) for limit in axes.get_ylim())
    wanted = np.array([(value - low) / (high - low) for _, _, value in ends])
    heights = spread_labels(wanted, gap=0.052)
    for (label, colour, _), own, height in zip(ends, wanted, heights, strict=True):
        axes.annotate(
            label,
            xy=(1.0, own),
            xytext=(1.045, height),
            xycoords="axes fraction",
            textcoords="axes fraction",
            va="center",
            color=colour,
            fontsize=10,
            fontweight="bold" if label.startswith("ours") else "normal",
            arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.8, "relpos": (0, 0.5)},
        )


def spread_labels(wanted: np.ndarray, gap: float) -> np.ndarray:
    """Move positions apart until neighbours are at least `gap` apart, as little as possible in order.

    Neighbours that are too close form a group, which is spread around the mean of what its members wanted.

    Parameters
    ----------
    wanted : ndarray
        Positions.
    gap : float
        Least distance.
    """
    groups: list[list[int]] = []

    def middle(group: list[int]) -> float:
        return float(wanted[group].mean())

    for index in np.argsort(-wanted, kind="stable"):
        groups.append([int(index)])
        while len(groups) > 1:
            above, below = groups[-2], groups[-1]
            room = middle(above) - middle(below)
            if room >= gap * (len(above) + len(below)) / 2:
                break
            groups[-2:] = [above + below]
    heights = np.empty_like(wanted)
    for group in groups:
        offsets = (len(group) - 1) / 2 - np.arange(len(group))
        heights[group] = middle(group) + gap * offsets
    return heights

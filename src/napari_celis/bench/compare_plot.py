"""The picture of `celis compare`: split against merge error of every method, over all thresholds."""

from __future__ import annotations

from pathlib import Path
from typing import IO, Any

import numpy as np

INK, GREY = "#222222", "#767676"
STYLES: dict[str, tuple[str, Any, str]] = {
    "none": ("#222222", "", "x"),
    "mean_affinity": ("#b36b00", "--", "s"),
    "watershed": ("#3a93c8", ":", "^"),
    "forest": ("#00795a", "-.", "D"),
    "forest_multicut": ("#a8578a", (0, (3, 1, 1, 1, 1, 1)), "v"),
    "oracle": ("#767676", (0, (1, 1)), "*"),
}
"""Colour (Okabe and Ito, darkened for white paper), line style (none for a single point) and marker."""
OTHER_STYLES = (("#c44500", "-", "o"), ("#0072b2", "-", "P"))
"""For methods that have no style of their own."""
PANELS = (("all", "All voxels"), ("ignore_boundary", "Without voxels near a true boundary"))
WIDTH_IN, HEIGHT_IN, DPI = 11.0, 5.6, 160
ROOM = 1.25
"""Axes reach this much further than the segmentations that were chosen."""


def draw(results: dict[str, dict[str, Any]], path: Path | IO[bytes], kind: str) -> None:
    """Draw the Pareto-optimal part of every curve, and the chosen threshold as a mark on it.

    Parameters
    ----------
    results : dict
        From `napari_celis.baselines.compare.compare`.
    path : Path or file
        Written as it is; the caller takes care of renaming.
    kind : str
        Format: `png`, `pdf` or `svg`.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH_IN, HEIGHT_IN), dpi=DPI)
    FigureCanvasAgg(figure)
    styles = styles_of(results)
    for column, (voxels, title) in enumerate(PANELS):
        axes = figure.add_axes((0.06 + 0.495 * column, 0.205, 0.425, 0.64))
        for name, result in results.items():
            draw_method(axes, name, result, voxels, styles[name])
        _dress(axes, title, results, voxels)
    figure.text(
        0.06, 0.945, "What agglomeration gets right and wrong", fontsize=13, fontweight="bold", color=INK
    )
    figure.text(
        0.06,
        0.905,
        "Curves run over all thresholds; the mark is the threshold that the training volume chose.",
        fontsize=9.5,
        color=GREY,
    )
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=min(len(results), 4), frameon=False, fontsize=10)
    figure.savefig(path, format=kind)


def styles_of(results: dict[str, dict[str, Any]]) -> dict[str, tuple[str, Any, str]]:
    """Give every method its own look."""
    others = iter(OTHER_STYLES * len(results))
    return {name: STYLES[name] if name in STYLES else next(others) for name in results}


def draw_method(
    axes: Any, name: str, result: dict[str, Any], voxels: str, style: tuple[str, Any, str]
) -> None:
    """Draw one curve and the chosen segmentation.

    Parameters
    ----------
    axes : any
        Where to draw.
    name : str
        Of the method.
    result : mapping of str to any
        Its figures.
    voxels : str
        Which set of voxels.
    style : tuple of str
        Colour and marker.
    """
    colour, line, marker = style
    curve = result["curve"][voxels]
    front = np.array(curve["front"], dtype=int)
    chosen = result if voxels == "all" else result[voxels]
    axes.plot(
        np.array(curve["split"])[front],
        np.array(curve["merge"])[front],
        color=colour,
        linestyle=line,
        linewidth=1.8,
    )
    axes.plot(
        [chosen["vi_split"]],
        [chosen["vi_merge"]],
        color=colour,
        linestyle=line,
        linewidth=1.8,
        marker=marker,
        markersize=13 if marker == "*" else 9,
        markeredgecolor="white" if marker != "x" else colour,
        label=name.replace("_", " "),
        zorder=3,
    )


def _dress(axes: Any, title: str, results: dict[str, dict[str, Any]], voxels: str) -> None:
    """Set titles, limits, and lines of equal VI in the background."""
    chosen = [result if voxels == "all" else result[voxels] for result in results.values()]
    right = ROOM * max(figures["vi_split"] for figures in chosen) or 1.0
    top = ROOM * max(figures["vi_merge"] for figures in chosen) or 1.0
    for vi in np.arange(0.5, right + top, 0.5):
        axes.plot([0, vi], [vi, 0], color="#e4e4e4", linewidth=0.8, zorder=0)
    axes.set_xlim(0, right)
    axes.set_ylim(0, top)
    axes.set_title(title, loc="left", fontsize=11, color=INK)
    axes.set_xlabel("Split error, H(segmentation | truth), bits", fontsize=10.5)
    axes.set_ylabel("Merge error, H(truth | segmentation), bits", fontsize=10.5)
    axes.tick_params(labelsize=9.5, color="#9a9a9a")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.text(
        0.99,
        0.985,
        "grey lines: equal VI, every half bit",
        transform=axes.transAxes,
        ha="right",
        va="top",
        fontsize=8.5,
        color=GREY,
    )

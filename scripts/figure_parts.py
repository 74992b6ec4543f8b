"""Colours and parts that the figures of the method have in common: sections, boxes, pairs, bits."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import ListedColormap
from matplotlib.patches import Rectangle

ORANGE, BLUE, GREEN, GREY, INK = "#e69f00", "#56b4e9", "#009e73", "#8a9099", "#22262d"
RED, DEEP_BLUE = "#d55e00", "#0072b2"
PAIR_COLOURS = (ORANGE, BLUE, GREEN, "#cc79a7", RED, DEEP_BLUE)
"""Colours that people with any kind of colour vision can tell apart (Okabe and Ito)."""


def shades(components: np.ndarray, *strong: int) -> np.ndarray:
    """Paint components in greys, and some of them orange, blue, …; background is dark."""
    rng = np.random.default_rng(1)
    greys = rng.uniform(0.72, 0.97, components.max() + 1)
    colours = np.stack([greys] * 3, axis=1)
    colours[0] = 0.25
    for index, colour in zip(strong, PAIR_COLOURS, strict=False):
        colours[index] = [int(colour[n : n + 2], 16) / 255 * 0.55 + 0.45 for n in (1, 3, 5)]
    return colours[components]


def show(axes: Axes, picture: np.ndarray, low: np.ndarray, title: str) -> None:
    """Show a section at its place in the volume."""
    height, width = picture.shape[:2]
    extent = (low[2] - 0.5, low[2] + width - 0.5, low[1] + height - 0.5, low[1] - 0.5)
    axes.imshow(picture, extent=extent, interpolation="nearest")
    axes.set_title(title, fontsize=10, color=INK)
    axes.set_xticks([])
    axes.set_yticks([])


def outline(axes: Axes, low: np.ndarray, high: np.ndarray, **style: Any) -> None:
    """Draw a box."""
    corner, size = (low[2] - 0.5, low[1] - 0.5), np.subtract(high, low)
    axes.add_patch(Rectangle(corner, size[2], size[1], fill=False, **style))


def lines(axes: Axes, ends: np.ndarray, colour: str, **style: Any) -> None:
    """Draw pairs as lines with round ends."""
    axes.add_collection(LineCollection(ends[:, :, :0:-1], colors=colour, **style))
    axes.plot(ends[..., 2].ravel(), ends[..., 1].ravel(), "o", ms=3, color=colour)


def strip(axes: Axes, bits: np.ndarray, changed: np.ndarray, title: str) -> None:
    """Draw the bits of a descriptor in a row."""
    colours = np.where(changed & bits, 2, bits.astype(int))[None]
    axes.imshow(colours, cmap=ListedColormap(["white", INK, ORANGE]), vmin=0, vmax=2, aspect="auto")
    axes.set_xticks(np.arange(-0.5, len(bits)), [])
    axes.grid(axis="x", color=GREY, lw=0.6)
    axes.tick_params(length=0)
    axes.set_yticks([])
    axes.set_xlabel(title, fontsize=9, color=INK)

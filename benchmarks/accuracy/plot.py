"""Draw split against merge error of every method over all thresholds, one panel per fold.

    python benchmarks/accuracy/plot.py FOLDER -o FILE.png [--seed 0] [--minutes 16] [--note TEXT]

FOLDER is the one that `run.py` worked in.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from folds import FOLDS
from napari_celis.bench.compare_plot import draw_method, styles_of

VOXELS = "ignore_boundary"
FURTHEST = 1.0
"""Bits at which the axes end."""


def main() -> None:
    """Draw the folds whose curves are there."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=16.0)
    parser.add_argument("--note", default="")
    arguments = parser.parse_args()
    run = f"{arguments.seed}-{arguments.minutes:g}{arguments.note}"
    paths = {fold: arguments.folder / f"{fold}-{run}.json" for fold in FOLDS}
    found = {fold: json.loads(path.read_text()) for fold, path in paths.items() if path.exists()}
    figure = Figure(figsize=(10, 5.0 * ((len(found) + 1) // 2)), dpi=100)
    FigureCanvasAgg(figure)
    grid = figure.subplots((len(found) + 1) // 2, 2, squeeze=False).ravel()
    for axes, (fold, results) in zip(grid, found.items(), strict=False):
        styles = styles_of(results)
        for vi in np.arange(0.25, 2 * FURTHEST, 0.25):
            axes.plot([0, vi], [vi, 0], color="#e4e4e4", linewidth=0.8, zorder=0)
        for name, result in results.items():
            draw_method(axes, name, result, VOXELS, styles[name])
        axes.set(xlim=(0, FURTHEST), ylim=(0, FURTHEST), title=fold)
        axes.set(xlabel="split error, bits", ylabel="merge error, bits")
    for axes in grid[len(found) :]:
        axes.set_visible(False)
    handles, labels = grid[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=4, frameon=False)
    figure.tight_layout(rect=(0, 0.08, 1, 1))
    figure.savefig(arguments.output)


if __name__ == "__main__":
    main()

"""Print the results of `run.py` as the table of docs/accuracy.md, and how far CELIS is below its peers.

    python benchmarks/accuracy/table.py [RESULTS.jsonl] [--note TEXT] [--minutes N] [--supervoxels own]

Per method and slab the median over seeds, then median and mean over slabs; below, what seeds make of it, in
how many runs CELIS is lower than its peers, and how well the contacts of the first state are told.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

PEERS = ("mean_affinity", "forest", "forest_multicut")
NAMES = {
    "none": "no merging",
    "mean_affinity": "mean affinity",
    "watershed": "watershed alone",
    "forest": "forest (after GALA)",
    "forest_multicut": "forest + multicut",
    "celis_energy": "CELIS, energy",
    "celis_learned": "CELIS, learned policy",
    "oracle": "oracle",
}
SLABS = {"z-high": "z ≥ 90", "z-low": "z < 35", "y-low": "y < 70", "y-high": "y ≥ 180"}
ALL, INSIDE, F1, SECONDS = range(4)
Rows = dict[str, dict[str, list[list[float]]]]
"""Per method and fold, the figures of every seed, in the order of the seeds."""
CONTACTS = {"auc": "AUC", "log_loss": "log loss", "calibration": "probabilities off by"}


def read(path: Path, wanted: dict[str, Any]) -> list[dict[str, Any]]:
    """Collect the matching lines, by seed."""
    lines = ({"supervoxels": "given"} | json.loads(line) for line in path.read_text().splitlines())
    found = [row for row in lines if all(row[key] == value for key, value in wanted.items())]
    return sorted(found, key=lambda row: row["seed"])


def by_method(lines: list[dict[str, Any]]) -> Rows:
    """Take the figures of the table out of lines."""
    rows: Rows = defaultdict(lambda: defaultdict(list))
    for row in lines:
        figures = [row["vi"], row["ignore_boundary"]["vi"], row["rand_f1"], row["seconds"]]
        rows[row["method"]][row["fold"]].append(figures)
    return rows


def count_wins(rows: Rows, name: str) -> str:
    """Say in how many runs a method has a lower error than its peers."""
    runs = {
        other: np.array([figures[ALL] for fold in sorted(own) for figures in own[fold]])
        for other, own in rows.items()
    }
    lower = {other: runs[name] < runs[other] for other in PEERS if other in runs}
    both = np.logical_and.reduce([lower[other] for other in PEERS[:2]])
    counts = ", ".join(f"{NAMES[other]} in {won.sum()}" for other, won in lower.items())
    return f"{NAMES[name]} of {len(both)} runs lower than {counts}, the first two in {both.sum()}"


def of_contacts(lines: list[dict[str, Any]], name: str) -> str:
    """Say how well a method tells the contacts of the first state, mean and range of all runs."""
    found = [row["contacts"] for row in lines if row["method"] == name]
    columns = {title: [own[key] for own in found] for key, title in CONTACTS.items()}
    return f"{NAMES[name]}, contacts: " + ", ".join(
        f"{title} {np.mean(values):.3f} ({min(values):.3f} to {max(values):.3f})"
        for title, values in columns.items()
    )


def at_best(lines: list[dict[str, Any]]) -> str:
    """Say what each method comes to at the best threshold of each judged slab, medians as in the table."""
    found: dict[str, dict[str, list[list[float]]]] = defaultdict(lambda: defaultdict(list))
    for row in lines:
        found[row["method"]][row["fold"]].append(row["best"])
    names = [name for name in NAMES if name in found]
    medians = [np.median([np.median(own, axis=0) for own in found[name].values()], axis=0) for name in names]
    return "at the best threshold of each slab: " + ", ".join(
        f"{NAMES[name]} {both(figures)}" for name, figures in zip(names, medians, strict=True)
    )


def both(figures: np.ndarray) -> str:
    """Write the error of all voxels, and that away from boundaries."""
    return f"{figures[ALL]:.3f} / {figures[INSIDE]:.3f}"


def main() -> None:
    """Print the table, then ratios."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("results", nargs="?", type=Path, default=Path(__file__).with_name("results.jsonl"))
    parser.add_argument("--note", default="")
    parser.add_argument("--minutes", type=float, default=16.0)
    parser.add_argument("--supervoxels", choices=("given", "own"), default="given")
    arguments = parser.parse_args()
    names = ("note", "minutes", "supervoxels")
    lines = read(arguments.results, {name: getattr(arguments, name) for name in names})
    rows = by_method(lines)
    folds = [fold for fold in SLABS if any(fold in own for own in rows.values())]
    table = {
        name: np.array([np.median(rows[name][fold], axis=0) for fold in folds])
        for name in NAMES
        if name in rows
    }
    titles = [
        "method",
        *(SLABS[fold] for fold in folds),
        "median",
        "mean",
        "Rand F1, median",
        "seconds, median",
    ]
    print(f"| {' | '.join(titles)} |\n{'|---' * len(titles)}|")
    for name, figures in table.items():
        median, mean = np.median(figures, axis=0), figures.mean(axis=0)
        cells = [NAMES[name], *map(both, figures), both(median), both(mean), f"{median[F1]:.3f}"]
        print(f"| {' | '.join([*cells, f'{median[SECONDS]:.2f}'])} |")
    best = np.min([np.median(table[name], axis=0) for name in PEERS if name in table], axis=0)
    print()
    for name, figures in table.items():
        ratio = np.median(figures, axis=0) / best
        seeds = len(rows[name][folds[0]])
        line = f"{NAMES[name]}: {ratio[ALL]:.2f} / {ratio[INSIDE]:.2f} of the best peer"
        if seeds > 1:
            spread = np.mean([np.ptp(rows[name][fold], axis=0)[ALL] for fold in folds])
            line += f"; {seeds} seeds, on one slab {spread:.3f} bits apart on average"
        print(line)
    for name in ("celis_energy", "celis_learned"):
        print(count_wins(rows, name))
    # Earlier results have neither best thresholds nor contacts.
    if later := [row for row in lines if "best" in row]:
        print(at_best(later))
    for name in sorted({row["method"] for row in lines if "contacts" in row}, reverse=True):
        print(of_contacts(lines, name))


if __name__ == "__main__":
    main()

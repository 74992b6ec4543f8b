"""Print the results of `run.py` as the tables of docs/proofreading.md.

    python benchmarks/proofreading/table.py [RESULTS.jsonl] [--trial TEXT]

First the error after so many answers, then the share of the reachable gap that is closed, then what was
expected to be left beside what was. Medians over seeds, then over slabs.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

SLABS = {"z-high": "z ≥ 90", "z-low": "z < 35", "y-low": "y < 70", "y-high": "y ≥ 180"}
MODELS = {"fitted": "fitted", "phantom": "of the phantom", "bare": "fitted, no policy"}
NAMES = {
    ("random", False): "random order",
    ("uncertainty", False): "near the threshold (as it was)",
    ("gain", False): "by expected gain",
    ("gain", True): "by expected gain, learning",
    ("best", False): "best order (knows the truth)",
}
Runs = dict[tuple[Any, ...], dict[str, list[dict[str, Any]]]]
"""Per model, mistakes and way of working: the runs of every slab."""


def read(path: Path, trial: str) -> Runs:
    """Collect the lines of a trial."""
    runs: Runs = defaultdict(lambda: defaultdict(list))
    for row in map(json.loads, path.read_text().splitlines()):
        if row["trial"] == trial:
            runs[row["model"], row["mistakes"], (row["order"], row["learns"])][row["fold"]].append(row)
    return runs


def over_slabs(slabs: dict[str, list[dict[str, Any]]], value: Any) -> list[np.ndarray]:
    """Median over seeds of what is told of every run, for each slab."""
    return [np.median([value(row) for row in slabs[fold]], axis=0) for fold in SLABS if fold in slabs]


def closed(row: dict[str, Any]) -> list[float]:
    """Share of the reachable gap that is closed."""
    vi = list(row["vi"].values())
    return [(vi[0] - one) / (vi[0] - row["oracle"]) for one in vi]


def print_table(title: str, counts: list[str], lines: list[tuple[str, list[str]]]) -> None:
    """Print one table."""
    print(f"\n| {title} | {' | '.join(counts)} |\n|---{'|---' * len(counts)}|")
    for name, cells in lines:
        print(f"| {name} | {' | '.join(cells)} |")


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("results", nargs="?", type=Path, default=Path(__file__).with_name("results.jsonl"))
    parser.add_argument("--trial", default="")
    arguments = parser.parse_args()
    runs = read(arguments.results, arguments.trial)
    for model, mistakes in sorted({(model, mistakes) for model, mistakes, _ in runs}):
        own = {way: runs[model, mistakes, way] for way in NAMES if (model, mistakes, way) in runs}
        first = next(iter(next(iter(own.values())).values()))[0]
        counts = list(first["vi"])
        slabs = ", ".join(SLABS[fold] for fold in SLABS if any(fold in one for one in own.values()))
        wrong = f", {mistakes:.0%} of the answers wrong" if mistakes else ""
        print(f"\nModel {MODELS[model]}{wrong}; slabs {slabs}")
        means, shares, spans = [], [], []
        for way, found in own.items():
            vi = over_slabs(found, lambda row: list(row["vi"].values()))
            share = over_slabs(found, closed)
            means.append((NAMES[way], [f"{value:.3f}" for value in np.median(vi, axis=0)]))
            shares.append((NAMES[way], [f"{value:.0%}" for value in np.median(share, axis=0)]))
            spans.append(
                (NAMES[way], [" ".join(f"{one[i]:.0%}" for one in share) for i in range(len(counts))])
            )
        oracle = np.median(over_slabs(next(iter(own.values())), lambda row: row["oracle"]))
        print_table(f"VI in bits (reachable {oracle:.3f}), median of slabs", counts, means)
        print_table("gap closed, median of slabs", counts, shares)
        print_table("gap closed, slab by slab", counts, spans)
        way = ("gain", True) if ("gain", True) in own else ("gain", False)
        if way in own and not mistakes:
            lines = []
            for fold, rows in own[way].items():
                left = rows[0]["expected_left"]
                cells = [
                    f"{left[n]:.3f} / {rows[0]['vi'][n] - rows[0]['oracle']:.3f}" for n in counts if n in left
                ]
                lines.append((SLABS[fold], cells))
            print_table("expected to be left / was left, bits", [n for n in counts if n in left], lines)


if __name__ == "__main__":
    main()

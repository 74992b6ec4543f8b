"""Print the results of `run.py`: per method, the median over folds of the median over seeds.

python benchmarks/accuracy/table.py [RESULTS.jsonl] [--note TEXT] [--minutes N]
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

PEERS = ("mean_affinity", "forest", "forest_multicut")
COLUMNS = ("vi", "vi_inside", "rand_f1", "rand_f1_inside")
Rows = dict[str, dict[str, list[list[float]]]]
"""Per method and fold, the figures of every seed."""


def read(path: Path, wanted: dict[str, Any]) -> Rows:
    """Collect the figures of matching lines."""
    rows: Rows = defaultdict(lambda: defaultdict(list))
    for line in path.read_text().splitlines():
        row = json.loads(line)
        if all(row[key] == value for key, value in wanted.items()):
            inside = row["ignore_boundary"]
            figures = [row["vi"], inside["vi"], row["rand_f1"], inside["rand_f1"]]
            rows[row["method"]][row["fold"]].append(figures)
    return rows


def main() -> None:
    """Print the table, then what became of each fold."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("results", nargs="?", type=Path, default=Path(__file__).with_name("results.jsonl"))
    parser.add_argument("--note", default="")
    parser.add_argument("--minutes", type=float, default=35.0)
    arguments = parser.parse_args()
    rows = read(arguments.results, {"note": arguments.note, "minutes": arguments.minutes})
    folds = list(next(iter(rows.values())))
    per_fold = {name: [np.median(own[fold], axis=0) for fold in folds] for name, own in rows.items()}
    spread = {
        name: np.mean([np.ptp(own[fold], axis=0) for fold in folds], axis=0) for name, own in rows.items()
    }
    best = np.min([np.median(per_fold[name], axis=0)[:2] for name in PEERS if name in rows], axis=0)
    print(
        f"{'median over ' + ', '.join(folds):<40}"
        + "".join(f"{name:>16}" for name in COLUMNS)
        + "   ratio to best peer"
    )
    for name, figures in per_fold.items():
        median = np.median(figures, axis=0)
        ratio = median[:2] / best
        seeds = len(rows[name][folds[0]])
        print(
            f"{name + f' ({seeds} seeds, spread {spread[name][0]:.3f})':<40}"
            + "".join(f"{value:>16.3f}" for value in median)
            + f"   {ratio[0]:.2f}  {ratio[1]:.2f}"
        )
    print("\nVI per fold, all voxels / away from boundaries")
    for name, figures in per_fold.items():
        print(f"{name:<18}" + "".join(f"{own[0]:>9.3f} / {own[1]:.3f}" for own in figures))


if __name__ == "__main__":
    main()

"""Draw how often the present state was wrong, beside the probability that was said, where nobody trained.

    python benchmarks/proofreading/reliability.py VOLUME.h5 --models FOLDER --work FOLDER -o PNG
        [--folds z-high …] [--kind fitted] [--minutes N] [--note TEXT]

All questions after the greedy run, of both kinds, counted alike and by the bits that they are about. Also
prints the table, and the straight line over the log-odds that would have fitted best.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from scipy.optimize import minimize

from folds_of_models import FOLDS, KINDS, find_slabs
from napari_celis.bench.proofreading import Truth
from napari_celis.core.question_list import list_questions
from napari_celis.core.questions import QuestionKind, vi_change

EDGES = np.array([0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.35, 0.6, 1.0])
TITLES = {QuestionKind.MERGE: "same neuron? (open)", QuestionKind.MADE: "still right? (merged)"}
BLUE, ORANGE = "#0072B2", "#D55E00"


@dataclass(frozen=True, eq=False)
class Asked:
    """Questions of one kind, and what is true."""

    probability: np.ndarray
    is_wrong: np.ndarray
    bits: np.ndarray

    def binned(self, weights: np.ndarray) -> np.ndarray:
        """Said, found and number per bin, (n, 3)."""
        place = np.clip(np.searchsorted(EDGES, self.probability, side="right") - 1, 0, len(EDGES) - 2)
        rows = []
        for one in np.unique(place):
            own = place == one
            said, found = (
                np.average(values[own], weights=weights[own]) for values in (self.probability, self.is_wrong)
            )
            rows.append((said, found, own.sum()))
        return np.array(rows)

    def line(self, weights: np.ndarray) -> np.ndarray:
        """Slope and constant over the log-odds that say what is true best."""
        p = np.clip(self.probability, 1e-6, 1 - 1e-6)
        odds, sign = np.log(p / (1 - p)), np.where(self.is_wrong, -1.0, 1.0)

        def loss(line: np.ndarray) -> float:
            return float(weights @ np.logaddexp(0, sign * (line[0] * odds + line[1])) / weights.sum())

        best: np.ndarray = minimize(loss, [1.0, 0.0]).x
        return best


def asked_on(slab: Any) -> dict[QuestionKind, Asked]:
    """List all questions after the run, with what is true."""
    questions = list_questions(slab.agglomerator, slab.threshold)
    change = Truth(slab.overlaps).changes(slab.agglomerator, questions)
    bits = vi_change(questions.smaller, questions.larger, slab.overlaps.n_voxels)
    found = {}
    for kind in QuestionKind:
        own = (questions.kind == kind) & (change != 0)
        found[kind] = Asked(questions.probability[own], change[own] < 0, bits[own])
    return found


def draw(found: dict[QuestionKind, Asked], path: Path) -> None:
    """Draw one panel per kind."""
    figure = Figure(figsize=(9.0, 4.4), dpi=110)
    FigureCanvasAgg(figure)
    for cell, (kind, asked) in zip(figure.subplots(1, 2, sharey=True), found.items(), strict=True):
        cell.plot([0.002, 1], [0.002, 1], color="0.6", linewidth=1, label="as said")
        for name, colour, marker, weights in (
            ("every question alike", BLUE, "o", np.ones(len(asked.bits))),
            ("by the bits at stake", ORANGE, "s", asked.bits),
        ):
            rows = asked.binned(weights)
            shown = np.maximum(rows[:, 1], 0.002)
            cell.plot(rows[:, 0], shown, marker=marker, color=colour, label=name)
            if colour == BLUE:
                for said, height, (*_, n) in zip(rows[:, 0], shown, rows, strict=True):
                    cell.annotate(
                        f"{n:,.0f}",
                        (said, height),
                        (4, -12),
                        textcoords="offset points",
                        fontsize=8,
                        color=colour,
                    )
        cell.set_xscale("log")
        cell.set_yscale("log")
        cell.set_xlim(0.002, 1)
        cell.set_ylim(0.0018, 1.05)
        cell.set_title(TITLES[kind], fontsize=11)
        cell.set_xlabel("probability said that the present state is wrong")
        cell.grid(visible=True, color="0.92")
    first = figure.axes[0]
    first.set_ylabel("share that was wrong (0 is drawn at the bottom)")
    first.legend(loc="upper left", fontsize=9, frameon=False)
    figure.tight_layout()
    figure.savefig(path)


def main() -> None:
    """Collect the questions of all slabs, draw them, and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("volume", type=Path)
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True, help="affinities are kept here")
    parser.add_argument("--output", "-o", type=Path, required=True)
    parser.add_argument("--folds", nargs="+", default=FOLDS, choices=FOLDS)
    parser.add_argument("--kind", default="fitted", choices=KINDS)
    parser.add_argument("--seed", type=int, default=0, help="of the models")
    parser.add_argument("--minutes", type=float, default=16.0)
    parser.add_argument("--note", default="", help="as the models were trained with")
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    parts = []
    for fold, slab in find_slabs(arguments, arguments.kind):
        with slab.agglomerator:
            parts.append(asked_on(slab))
        print(f"{fold}: {sum(len(one.bits) for one in parts[-1].values()):,} questions")
    found = {}
    for kind in QuestionKind:
        own = [part[kind] for part in parts]
        found[kind] = Asked(*(np.concatenate([getattr(one, name) for one in own]) for name in vars(own[0])))
    for kind, asked in found.items():
        for name, weights in (("alike", np.ones(len(asked.bits))), ("by bits", asked.bits)):
            slope, constant = asked.line(weights)
            cells = "  ".join(f"{said:.3f}→{was:.3f} ({n:.0f})" for said, was, n in asked.binned(weights))
            print(f"{TITLES[kind]}, {name}: {cells}; best line {slope:.2f} odds {constant:+.2f}")
    draw(found, arguments.output)


if __name__ == "__main__":
    main()

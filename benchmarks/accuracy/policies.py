"""Compare what a policy may look at, on half slabs that neither it nor the affinity network has seen.

    python benchmarks/accuracy/policies.py VOLUME.h5 FOLD MODEL.safetensors [FOLD MODEL …] [--json FILE]

Takes the affinities that `run.py` left beside each model: both slabs of the fold's training block, each by a
network that was trained on the other. Each slab is cut in half, along y and along x; what is fitted on one
half of both slabs is judged on the other. Every policy is fitted anew on resampled examples, because on so
few bodies a single fit is luck. Energies are left out, so that this takes minutes.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np

from folds import AnnotatedVolume, Block
from napari_celis.baselines.forest import ForestSettings, learn
from napari_celis.baselines.judge import ALL, INSIDE, Judge
from napari_celis.baselines.problem import Problem
from napari_celis.baselines.simple import MeanAffinity, Oracle
from napari_celis.baselines.sweep import Hierarchy, agglomerate, tune
from napari_celis.core.affinity_sums import AffinitySums
from napari_celis.core.contact_features import DECISIVE, contact_features, decisive_features
from napari_celis.evaluation.overlaps import overlap
from napari_celis.models.logistic import fit_logistic
from napari_celis.training.annotated import divide
from napari_celis.training.policy import RIDGE, PolicyExamples, fit_classifier

GAP = 6
"""Voxels between two halves."""
RESAMPLED = 5
POWER = 0.5


@dataclass(frozen=True, eq=False)
class Halves:
    """What is learned from, and what is judged."""

    fit: list[Problem]
    judged: list[tuple[Problem, Judge]]


@dataclass(frozen=True)
class Variant:
    """A logistic regression over some columns of the decisive features."""

    columns: tuple[int, ...]
    ridge: float = RIDGE
    has_signs: bool = True
    power: float = POWER
    is_tuned: bool = False
    """Whether it stops where the halves it was fitted on have the lowest error, instead of at even odds."""


CONTACT = tuple(range(len(DECISIVE)))
VARIANTS = {
    "mean affinity": Variant((0,)),
    "and quantiles": Variant(CONTACT[:6]),
    "and area and enclosure (the regression that is used)": Variant(CONTACT),
    "without a penalty": Variant(CONTACT, ridge=0.0),
    "with coefficients of any sign": Variant(CONTACT, has_signs=False),
    "all examples alike": Variant(CONTACT, power=0.0),
    "examples by their whole change of error": Variant(CONTACT, power=1.0),
    "stopping at the lowest error": Variant(CONTACT, is_tuned=True),
}


def cut(block: Block, affinities: np.ndarray) -> Iterator[Halves]:
    """Cut both slabs of a block in half, in every way."""
    for axis, low in product((1, 2), (True, False)):
        size = block.image.shape[axis]
        first, second = slice(0, size // 2 - GAP // 2), slice(size // 2 + GAP // 2, None)
        fit, judged = (first, second) if low else (second, first)
        pieces = [
            [_piece(block, affinities, slab.sections, axis, part) for (slab,) in divide([block.truth])]
            for part in (fit, judged)
        ]
        yield Halves(pieces[0], [(one, Judge(one.known_truth(), 2)) for one in pieces[1]])


def _piece(block: Block, affinities: np.ndarray, slab: slice, axis: int, part: slice) -> Problem:
    where = (slab, part, slice(None)) if axis == 1 else (slab, slice(None), part)
    supervoxels, truth = (np.ascontiguousarray(a[where]) for a in (block.supervoxels, block.truth))
    return Problem.from_labels(
        supervoxels, np.ascontiguousarray(affinities[(slice(None), *where)]), truth=truth
    )


@dataclass(frozen=True, eq=False)
class Scorer:
    """Scores contacts."""

    odds: Callable[[AffinitySums, np.ndarray], np.ndarray]
    """Returns log-odds of "wrong"."""
    needs_segments: bool = True

    def scores(self, sums: AffinitySums, rows: np.ndarray) -> np.ndarray:
        """Return log-odds of "wrong"."""
        return self.odds(sums, rows)


def examples(problems: Sequence[Problem]) -> PolicyExamples:
    """Describe all actions before anything is merged, and what they do to the error."""
    found = []
    for problem in problems:
        change = overlap(problem.supervoxels, problem.known_truth()).changes(
            problem.actions.u, problem.actions.v
        )
        rows = np.flatnonzero(change)
        sums = problem.affinity_sums()
        found.append(
            PolicyExamples(decisive_features(sums, rows), contact_features(sums, rows), change[rows])
        )
    return PolicyExamples.join(found)


def fit(variant: Variant, drawn: PolicyExamples) -> Scorer:
    """Fit one variant."""
    rows, change = drawn.features[:, variant.columns].astype(np.float64), drawn.change
    mean, scale = rows.mean(axis=0), rows.std(axis=0)
    signs = [DECISIVE[column].sign * variant.has_signs for column in variant.columns]
    weights, constant = fit_logistic(
        (rows - mean) / scale, change > 0, np.abs(change) ** variant.power, signs, variant.ridge
    )

    def odds(sums: AffinitySums, rows: np.ndarray) -> np.ndarray:
        found: np.ndarray = (
            decisive_features(sums, rows)[:, variant.columns] - mean
        ) / scale @ weights + constant
        return found

    return Scorer(odds)


def fit_whole(drawn: PolicyExamples, seed: int) -> dict[str, Scorer]:
    """Fit the classifier of the learned policy, and take its forest alone as well."""
    classifier = fit_classifier(drawn, POWER, seed)

    def forest(sums: AffinitySums, rows: np.ndarray) -> np.ndarray:
        return classifier.contact_odds(contact_features(sums, rows))

    def both(sums: AffinitySums, rows: np.ndarray) -> np.ndarray:
        return classifier.scores(decisive_features(sums, rows), forest(sums, rows))

    return {
        "forest of the policy": Scorer(forest),
        "mean of regression and forest (what is used)": Scorer(both),
    }


def errors(runs: Sequence[Hierarchy], judged: Sequence[tuple[Problem, Judge]], stop: float) -> np.ndarray:
    """VI at a threshold, then the lowest at any; all voxels and inside, (n, 4)."""
    found = []
    for run, (_, judge) in zip(runs, judged, strict=True):
        there, anywhere = (run.errors(at, judge) for at in (np.array([stop]), run.candidates))
        found.append([e[kind].vi.min() for e in (there, anywhere) for kind in (ALL, INSIDE)])
    return np.array(found)


def judge_all(halves: Halves) -> dict[str, np.ndarray]:
    """Judge every variant and the methods it is compared with."""
    problems = [problem for problem, _ in halves.judged]
    fitted = [Judge(problem.known_truth()) for problem in halves.fit]

    def tuned(scorer: Scorer | MeanAffinity) -> float:
        return tune([(agglomerate(p, scorer), own) for p, own in zip(halves.fit, fitted, strict=True)])

    mean, forest = MeanAffinity(), learn(halves.fit, ForestSettings())
    results = {
        "oracle": errors([Oracle().sweep(p) for p in problems], halves.judged, 0.0),
        "mean affinity, tuned": errors([mean.sweep(p) for p in problems], halves.judged, tuned(mean)),
        "forest at even odds": errors([agglomerate(p, forest) for p in problems], halves.judged, 0.5),
    }
    known = examples(halves.fit)
    found: dict[str, list[np.ndarray]] = {}
    for seed in range(RESAMPLED):
        rows = np.random.default_rng(seed).integers(len(known.change), size=len(known.change))
        drawn = PolicyExamples(known.features[rows], known.contacts[rows], known.change[rows])
        scorers = {name: (fit(variant, drawn), variant.is_tuned) for name, variant in VARIANTS.items()}
        scorers |= {name: (scorer, False) for name, scorer in fit_whole(drawn, seed).items()}
        for name, (scorer, is_tuned) in scorers.items():
            stop = tuned(scorer) if is_tuned else 0.0
            runs = [agglomerate(p, scorer) for p in problems]
            found.setdefault(name, []).append(errors(runs, halves.judged, stop))
    return results | {name: np.concatenate(rows) for name, rows in found.items()}


def main() -> None:
    """Print the mean over all folds, halves and fits."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("volume", type=Path)
    parser.add_argument("trained", nargs="+", help="name of a fold, and its model, in turn")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    volume = AnnotatedVolume.read(arguments.volume)
    found: dict[str, list[np.ndarray]] = {}
    for fold, model in zip(arguments.trained[::2], arguments.trained[1::2], strict=True):
        block, _ = volume.fold(fold)
        for halves in cut(block, np.load(Path(model).with_suffix(".npy"))):
            for name, rows in judge_all(halves).items():
                found.setdefault(name, []).append(rows)
    means = {name: np.concatenate(rows).mean(axis=0).round(4).tolist() for name, rows in found.items()}
    for name, (vi, inside, best, best_inside) in means.items():
        print(f"{name:<54}{vi:.3f} / {inside:.3f}   best threshold {best:.3f} / {best_inside:.3f}")
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(means, indent=1) + "\n")


if __name__ == "__main__":
    main()

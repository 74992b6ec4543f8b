"""Segmentations of one problem over all thresholds, and the threshold that suits a truth best."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from napari_celis.baselines.judge import ALL, Errors, Judge, errors_along
from napari_celis.baselines.problem import Problem
from napari_celis.core.affinity_sums import AffinitySums
from napari_celis.core.contraction import Contraction
from napari_celis.core.segments import join_all, named_by_largest


class Sweep(Protocol):
    """What a method makes of one problem, for every threshold; higher thresholds merge more."""

    @property
    def candidates(self) -> np.ndarray:
        """Ascending thresholds that show every segmentation worth looking at."""

    def labels(self, threshold: float) -> np.ndarray:
        """Segment of every voxel (Z, Y, X); 0 is background."""

    def errors(self, thresholds: np.ndarray, judge: Judge) -> dict[str, Errors]:
        """Split and merge error at each threshold, for each set of voxels of the judge.

        Parameters
        ----------
        thresholds : ndarray
            Scores to stop at.
        judge : Judge
            Measures the errors.
        """


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """Merges in the order they were taken; every threshold keeps the first ones.

    A run stops at the first merge whose score is not below the threshold, like the greedy rule of CELIS.
    """

    problem: Problem
    actions: np.ndarray
    """The actions taken, int64 (M,)."""
    scores: np.ndarray
    """Score of each when it was taken, lower is better, float64 (M,)."""

    @cached_property
    def highest(self) -> np.ndarray:
        """The highest score up to each merge: what a threshold has to exceed to reach it."""
        return np.maximum.accumulate(self.scores)

    @property
    def candidates(self) -> np.ndarray:
        """Thresholds halfway between the scores at which something changes."""
        levels = np.unique(self.highest)
        if not len(levels):
            return np.zeros(1)
        gap = np.diff(levels)
        step = float(np.median(gap)) if len(gap) else 1.0
        return np.concatenate([[levels[0] - step], levels[:-1] + gap / 2, [levels[-1] + step]])

    def n_merges(self, threshold: float) -> int:
        """Count the merges before the first whose score is not below the threshold."""
        return int(np.searchsorted(self.highest, threshold, side="left"))

    def segments(self, threshold: float) -> np.ndarray:
        """Segment of every supervoxel, named by its largest one, int32 (N + 1,)."""
        taken, actions = self.actions[: self.n_merges(threshold)], self.problem.actions
        component = join_all(self.problem.supervoxels.n, actions.u[taken], actions.v[taken])
        return named_by_largest(component, self.problem.supervoxels.sizes)

    def labels(self, threshold: float) -> np.ndarray:
        """Segment of every voxel, int32 (Z, Y, X)."""
        labels: np.ndarray = self.segments(threshold)[self.problem.supervoxels.dense]
        return labels

    def errors(self, thresholds: np.ndarray, judge: Judge) -> dict[str, Errors]:
        """Look up the errors after as many merges as each threshold allows.

        Parameters
        ----------
        thresholds : ndarray of float, shape (n,)
            Where to stop.
        judge : Judge
            Compares a segmentation with the truth.
        """
        steps = np.searchsorted(self.highest, thresholds, side="left")
        along = self._errors_along(judge)
        return {name: Errors(found.split[steps], found.merge[steps]) for name, found in along.items()}

    def _errors_along(self, judge: Judge) -> dict[str, Errors]:
        """Follow the errors through all merges."""
        actions = self.problem.actions
        pairs = np.stack([actions.u[self.actions], actions.v[self.actions]], axis=1)
        tables = judge.tables(self.problem.supervoxels.dense)
        return {
            name: errors_along(table, self.problem.supervoxels.n, pairs) for name, table in tables.items()
        }


class EdgeScorer(Protocol):
    """Says how bad merges are."""

    @property
    def needs_segments(self) -> bool:
        """Whether scores depend on the two segments, and not on their contact alone."""

    def scores(self, sums: AffinitySums, contacts: np.ndarray) -> np.ndarray:
        """Score some contacts, lower being better, float64 (n,).

        Parameters
        ----------
        sums : AffinitySums
            Affinities of contacts and segments.
        contacts : ndarray
            The contacts to score.
        """


class AffinityScorer:
    """A scorer at work on the segments of one problem.

    Parameters
    ----------
    problem : Problem
        Supervoxels and affinities.
    scorer : EdgeScorer
        Gives contacts their scores.
    """

    def __init__(self, problem: Problem, scorer: EdgeScorer) -> None:
        self._scorer, self.sums = scorer, problem.affinity_sums()
        self.graph, self.follow = self.sums.graph, self.sums.follow
        self.needs_segments = scorer.needs_segments

    def scores(self, contacts: np.ndarray) -> np.ndarray:
        """Score some contacts, lower being better, float64 (n,)."""
        return self._scorer.scores(self.sums, contacts)


def agglomerate(problem: Problem, scorer: EdgeScorer) -> Hierarchy:
    """Merge across the contact with the lowest score, again and again, until none is left.

    Parameters
    ----------
    problem : Problem
        What to agglomerate.
    scorer : EdgeScorer
        Scores contacts; whatever a merge changes is scored again before the next one.
    """
    contraction = Contraction(AffinityScorer(problem, scorer))
    contacts, scores = [], []
    while (best := contraction.pop()) is not None:
        score, contact = best
        contacts.append(contact)
        scores.append(score)
        contraction.join(contact)
    return Hierarchy(problem, np.array(contacts, dtype=np.int64), np.array(scores, dtype=np.float64))


@dataclass(frozen=True, eq=False)
class ThresholdGrid:
    """One segmentation per threshold, each made from the beginning, for methods that are no hierarchy."""

    candidates: np.ndarray
    make: Callable[[float], np.ndarray]
    """Turns a threshold into labels (Z, Y, X)."""

    def labels(self, threshold: float) -> np.ndarray:
        """Segment of every voxel."""
        return self.make(threshold)

    def errors(self, thresholds: np.ndarray, judge: Judge) -> dict[str, Errors]:
        """Judge the segmentation of every threshold.

        Parameters
        ----------
        thresholds : ndarray of float, shape (n,)
            Where to stop.
        judge : Judge
            Compares a segmentation with the truth.
        """
        found = [judge.errors(self.make(float(threshold))) for threshold in thresholds]
        return {
            name: Errors(*np.array([errors[name] for errors in found]).reshape(-1, 2).T)
            for name in judge.ignored
        }


def tune(folds: Sequence[tuple[Sweep, Judge]]) -> float:
    """Find the threshold with the lowest VI over several volumes, each weighted by its labelled voxels.

    Parameters
    ----------
    folds : sequence of (Sweep, Judge)
        Volumes that nothing was learned from.

    Returns
    -------
    threshold : float
        In the middle of the best ones, where several are equally good side by side.
    """
    candidates = np.unique(np.concatenate([sweep.candidates for sweep, _ in folds]))
    total = np.zeros(len(candidates))
    for sweep, judge in folds:
        total += judge.n_voxels * sweep.errors(candidates, judge)[ALL].vi
    best = int(np.argmin(total))
    # Sums of logarithms: equal segmentations differ in the last bits only.
    end = best
    while end + 1 < len(total) and np.isclose(total[end + 1], total[best], rtol=1e-9):
        end += 1
    return float(candidates[(best + end) // 2])

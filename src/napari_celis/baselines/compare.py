"""Run several methods on the same supervoxels and affinities, tuned on one volume and judged on another."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from time import perf_counter
from typing import Any

import numpy as np

from napari_celis.baselines.forest import ForestAgglomeration, ForestSettings
from napari_celis.baselines.judge import Errors, Judge
from napari_celis.baselines.multicut import ForestMulticut
from napari_celis.baselines.problem import Problem, require_separable
from napari_celis.baselines.simple import MeanAffinity, Method, NoMerging, Oracle
from napari_celis.baselines.sweep import Sweep
from napari_celis.baselines.watershed import WatershedAlone

Report = Callable[[str, float], None]
"""Called with what is being done and the share of the work that is done."""


def baseline_methods(settings: ForestSettings | None = None) -> tuple[dict[str, Method], list[str]]:
    """Make all methods that the installed libraries allow.

    Parameters
    ----------
    settings : ForestSettings, optional
        How the forests learn.

    Returns
    -------
    methods : dict of str to Method
        By the names that `compare` reports, in the order of the table.
    notes : list of str
        One sentence for each method that was left out.
    """
    forest = ForestAgglomeration(settings)
    methods: dict[str, Method] = {
        "none": NoMerging(),
        "mean_affinity": MeanAffinity(),
        "watershed": WatershedAlone(),
        "forest": forest,
        "forest_multicut": ForestMulticut(forest),
        "oracle": Oracle(),
    }
    if find_spec("bioimage_cpp") is not None:
        return methods, []
    del methods["forest_multicut"]
    return methods, [
        "forest_multicut was left out: it needs bioimage-cpp (pip install napari-celis[compare])."
    ]


def compare(
    train: Problem,
    test: Problem,
    methods: Mapping[str, Method],
    *,
    boundary: int = 2,
    report: Report | None = None,
) -> dict[str, dict[str, Any]]:
    """Fit and tune every method on one volume, and judge it on another.

    Parameters
    ----------
    train : Problem
        The only volume that decides anything.
    test : Problem
        The volume to judge on, with its truth.
    methods : mapping of str to Method
        By name.
    boundary : int
        Voxels up to this far from a true boundary are left out of the second judgement.
    report : callable, optional
        Called before each method as `report(name, share_done)`.

    Returns
    -------
    results : dict of str to dict
        For each method the figures of `Judge.figures`, and `threshold`, `tuned_on`, `seconds` (for one
        segmentation of the test volume), `fit_seconds`, `segments`, `curve` (see `error_curve`).
    """
    require_separable(train, "The training truth")
    judge = Judge(test.known_truth(), boundary)
    # Measured before the clock starts: several methods use them.
    _ = train.contacts, test.contacts
    results = {}
    for index, (name, method) in enumerate(methods.items()):
        if report is not None:
            report(name, index / len(methods))
        results[name] = _run(method, train, test, judge)
    return results


def _run(method: Method, train: Problem, test: Problem, judge: Judge) -> dict[str, Any]:
    """Fit, agglomerate and judge one method."""
    started = perf_counter()
    threshold = method.fit(train)
    fitted = perf_counter()
    sweep = method.sweep(test)
    labels = sweep.labels(-np.inf if threshold is None else threshold)
    done = perf_counter()
    return {
        **judge.figures(labels),
        "threshold": threshold,
        "tuned_on": method.tuned_on,
        "seconds": done - fitted,
        "fit_seconds": fitted - started,
        "segments": int(np.count_nonzero(np.unique(labels))),
        "curve": error_curve(sweep, judge),
    }


def error_curve(sweep: Sweep, judge: Judge) -> dict[str, Any]:
    """List split and merge error over all thresholds, and those that no other threshold beats.

    Parameters
    ----------
    sweep : Sweep
        Segmentations over all thresholds.
    judge : Judge
        Measures the errors.

    Returns
    -------
    curve : dict
        `threshold`, and for each set of voxels (`all`, `ignore_boundary`) the lists `split` and `merge` in
        bits, one value per threshold, and `front`: the positions of the Pareto-optimal ones.
    """
    thresholds = sweep.candidates
    curve: dict[str, Any] = {"threshold": thresholds.tolist()}
    for name, errors in sweep.errors(thresholds, judge).items():
        curve[name] = {
            "split": errors.split.tolist(),
            "merge": errors.merge.tolist(),
            "front": pareto_front(errors).tolist(),
        }
    return curve


def pareto_front(errors: Errors) -> np.ndarray:
    """Find the segmentations that none other beats in both errors, by descending split error, int64 (n,)."""
    order = np.lexsort((errors.merge, errors.split))
    lowest = np.minimum.accumulate(errors.merge[order])
    is_best = np.concatenate([[True], errors.merge[order][1:] < lowest[:-1]])
    front: np.ndarray = order[is_best][::-1]
    return front

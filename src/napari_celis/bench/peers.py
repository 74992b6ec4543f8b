"""CELIS beside other ways to agglomerate, on the same supervoxels and affinities: time and error."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from napari_celis.baselines.celis import Celis
from napari_celis.baselines.compare import compare
from napari_celis.baselines.forest import ForestAgglomeration
from napari_celis.baselines.problem import Problem
from napari_celis.baselines.simple import MeanAffinity, Method
from napari_celis.bench.paper_cost import PaperCosts
from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.volume import Volume
from napari_celis.core.watershed import WatershedSettings, watershed
from napari_celis.models.apply import energy_of
from napari_celis.models.model_file import CelisModel
from napari_celis.pipeline.agglomeration import agglomerator_of, policy_of
from napari_celis.pipeline.choice import Choice
from napari_celis.pipeline.recipe import prepare_inputs

JUDGED_SHARE, GAP = 1 / 3, 5
"""The last sections are judged on; the gap before them belongs to neither part."""
BASINS = WatershedSettings(low=0.1, high=0.95, size=0)
REPEATS = 3


@dataclass(frozen=True, eq=False)
class PeerData:
    """A volume that the model has not seen, at least not its last third."""

    image: np.ndarray
    truth: np.ndarray
    supervoxels: np.ndarray
    model: CelisModel


def measure_peers(data: PeerData) -> dict[str, Any]:
    """Time CELIS against waterz and the forest, and compare the errors on the last third of the volume.

    Returns
    -------
    figures : dict
        `agglomerate_vs_waterz`, `agglomerate_vs_forest`: time for the last third, affinities and features
        given, divided by theirs. `vi_vs_best_baseline`: VI divided by the better of mean affinity and forest,
        whose thresholds and trees come from the other two thirds. `watershed_vs_waterz`: time for the basins
        of the whole volume, divided by that of waterz. `lazy_evaluations_vs_lower_bound`: energies that a
        whole lazy run by the model's policy evaluates, divided by the paper's lower bound for its steps and
        first scores; with the name of a policy behind it, by that policy.
    """
    choice = Choice(
        Volume(data.image, name="image"),
        Volume(data.supervoxels, name="supervoxels"),
        Volume(data.truth, name="truth"),
        model=data.model,
        any_voxel_size=True,
    )
    affinities = prepare_inputs(choice).affinities
    begin = round(len(data.image) * (1 - JUDGED_SHARE))
    train, test = (
        Problem.from_labels(data.supervoxels[z], affinities[:, z], truth=data.truth[z])
        for z in (slice(0, begin - GAP), slice(begin, None))
    )
    policy = data.model.policy
    methods: dict[str, Method] = {
        "mean_affinity": MeanAffinity(),
        "forest": ForestAgglomeration(),
        f"celis_{policy}": Celis(data.model, policy),
    }
    results = compare(train, test, methods)
    ours, best = results[f"celis_{policy}"]["vi"], min(results[m]["vi"] for m in ("mean_affinity", "forest"))
    seconds = _seconds_of_celis(data.model, test)
    return {
        "agglomerate_vs_waterz": seconds / _seconds_of_waterz(test),
        "agglomerate_vs_forest": seconds / results["forest"]["seconds"],
        "agglomerate_seconds": seconds,
        "vi_vs_best_baseline": ours / best,
        "watershed_vs_waterz": _compare_watersheds(affinities),
        **_lazy_evaluations(data.model, test),
        **{f"vi_{name}": result["vi"] for name, result in results.items()},
    }


def _seconds_of_celis(model: CelisModel, problem: Problem) -> float:
    """Time first scores and a run to the model's threshold."""
    energy = energy_of(model, problem.affinities)
    supervoxels, actions = problem.supervoxels, problem.actions
    policy = policy_of(model, model.policy, supervoxels, actions, problem.affinities)
    begin = time.perf_counter()
    with Agglomerator(
        supervoxels, model.specs, energy, actions=actions, policy=policy, is_lazy=True
    ) as agglomerator:
        for _ in agglomerator.steps(model.threshold):
            pass
    return time.perf_counter() - begin


def _lazy_evaluations(model: CelisModel, problem: Problem) -> dict[str, float]:
    """Count the energies of lazy runs against the paper's lower bound for the same steps and first scores."""
    found = {}
    for name in model.policies:
        lazy, full = (
            agglomerator_of(
                model, problem.supervoxels, problem.affinities, actions=problem.actions, policy=name,
                is_lazy=is_lazy,
            )
            for is_lazy in (True, False)
        )  # fmt: skip
        threshold = model.thresholds[name]
        with lazy, full, PaperCosts(full) as costs:
            n_steps = sum(1 for _ in lazy.steps(threshold))
            assert sum(1 for _ in costs.run(n_steps + 1, threshold)) == n_steps
            evaluated = sum(s.initial.evaluations + s.incremental.evaluations for s in lazy.specs)
            key = "lazy_evaluations_vs_lower_bound" + ("" if name == model.policy else f"_{name}")
            found[key] = evaluated / costs.cumulative()["lower_bound"][-1]
    return found


def _seconds_of_waterz(problem: Problem) -> float:
    """Time waterz's agglomeration by mean affinity of the same supervoxels."""
    affinities = np.ascontiguousarray(problem.affinities, dtype=np.float32)
    return _run_waterz(affinities, 0.5, problem.supervoxels.dense.astype(np.uint64))


def _run_waterz(affinities: np.ndarray, threshold: float, fragments: np.ndarray | None) -> float:
    """Time one run of waterz, which makes fragments where none are given and changes those that are."""
    import waterz

    begin = time.perf_counter()
    for _ in waterz.agglomerate(
        affinities,
        [threshold],
        fragments=fragments,
        aff_threshold_low=BASINS.low,
        aff_threshold_high=BASINS.high,
    ):
        pass
    return time.perf_counter() - begin


def _compare_watersheds(affinities: np.ndarray) -> float:
    """Time for basins without merging, divided by what waterz takes longer when it has to make them."""
    ours, whole, given = [], [], []
    basins = watershed(affinities, BASINS).astype(np.uint64)
    for _ in range(REPEATS):
        begin = time.perf_counter()
        watershed(affinities, BASINS)
        ours.append(time.perf_counter() - begin)
        whole.append(_run_waterz(affinities, 0.0, None))
        given.append(_run_waterz(affinities, 0.0, basins.copy()))
    return float(np.median(ours) / (np.median(whole) - np.median(given)))

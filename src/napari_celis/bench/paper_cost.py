"""What an agglomeration costs: the paper's pipeline under each pruning rule, its lower bound, and ours."""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import Any

import numpy as np

from napari_celis.bench import paper_kernels as kernels
from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.changes import Counters
from napari_celis.core.descriptors import DescriptorSpec
from napari_celis.core.journal import Step
from napari_celis.core.kernels.zones import MAX_ZONES
from napari_celis.core.parallel import Pool
from napari_celis.core.pruning import CountedRule, Join, masked_centres, paper_rules, touchable_centres
from napari_celis.core.scores import SpecScores
from napari_celis.core.zones import ZoneRule, ZoneSettings

RULE_SETS = {
    "cr": (False, False, False),
    "cr_visibility": (True, False, False),
    "cr_zone": (False, True, False),
    "cr_graph": (False, False, True),
    "all": (True, True, True),
}
"""Rules beside the connectivity regions: visibility, zone, graph."""
CURVES = ("non_incremental", *RULE_SETS, "lower_bound", "paper_evaluations", "ours", "ours_evaluations")
"""What is counted per step: descriptors computed, and energies evaluated.

`lower_bound` is the descriptors that changed, each counted once, and so the energies that the paper needs;
`paper_evaluations` is those that its algorithm asks for as it is listed, where equal ones may come twice.
`ours` counts one descriptor for each centre sampled.
"""
N_PAPER = len(RULE_SETS) + 2
"""How many of them the counting kernels fill in."""
RATIOS = {
    "evaluations_vs_lower_bound": ("ours_evaluations", "lower_bound"),
    "evaluations_vs_paper": ("ours_evaluations", "paper_evaluations"),
    "lookups_vs_paper": ("ours", "all"),
}
"""Which curve by which; look-ups are descriptors times the pairs of their spec."""


class StandInEnergy:
    """An energy without a model, for counting: lowest where a given share of the pairs is connected.

    It merges what is cut too finely and stops before everything is one, which is all that counting needs. It
    says nothing about neurons.

    Parameters
    ----------
    specs : tuple of DescriptorSpec
        The descriptors to evaluate.
    target : float
        The share of connected pairs that costs nothing.
    """

    def __init__(self, specs: tuple[DescriptorSpec, ...], target: float = 0.25) -> None:
        self.n_bits = [spec.n_bits for spec in specs]
        self.target = target

    def energies(self, spec_index: int, centres: np.ndarray, bits: np.ndarray) -> np.ndarray:
        """Evaluate (share of connected pairs - target)².

        Parameters
        ----------
        spec_index : int
            Which of the specs.
        centres : ndarray of int, shape (n, 3)
            Not used: the energy is the same everywhere.
        bits : ndarray of uint64, shape (n, W)
            One descriptor per row.
        """
        share = np.bitwise_count(bits).sum(axis=1, dtype=np.float64) / self.n_bits[spec_index]
        energies: np.ndarray = (share - self.target) ** 2
        return energies


class PaperCosts:
    """Drives a fresh agglomerator and counts what each of its steps would have cost the paper.

    Parameters
    ----------
    agglomerator : Agglomerator
        As it was made, no step taken.
    zones : ZoneSettings, optional
        How the zones of the paper are cut.
    threads : int, optional
        Threads that count; all processors by default.
    """

    def __init__(
        self, agglomerator: Agglomerator, *, zones: ZoneSettings | None = None, threads: int | None = None
    ) -> None:
        self.agglomerator = agglomerator
        graph, visibility, zone = paper_rules(zones)
        self.rules = (visibility, zone, graph, CountedRule("ours", touchable_centres))
        """The rules for centres, each counting what it alone would keep."""
        assert isinstance(zone.rule, ZoneRule)
        self._zone_rule = zone.rule
        self._pool = Pool(threads)
        self._steps = [self._count_first_scores()]

    def __enter__(self) -> PaperCosts:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pool.close()

    @property
    def counts(self) -> np.ndarray:
        """What each step cost, int64 (steps + 1, specs, curves); step 0 is the first scores."""
        return np.stack(self._steps)

    def cumulative(self) -> dict[str, list[int]]:
        """Add the counts up over specs and steps, per curve."""
        totals = self.counts.sum(axis=1).cumsum(axis=0)
        return {name: totals[:, curve].tolist() for curve, name in enumerate(CURVES)}

    def run(self, n_steps: int, threshold: float = np.inf) -> Iterator[Step]:
        """Take up to `n_steps` greedy steps with scores below `threshold`, counting each.

        Parameters
        ----------
        n_steps : int
            How many at most.
        threshold : float
            Score to stop at.
        """
        for _ in range(n_steps):
            step = self.step(threshold)
            if step is None:
                return
            yield step

    def step(self, threshold: float = np.inf) -> Step | None:
        """Count what the best action costs, then take it; None when there is none below `threshold`."""
        action = self.agglomerator.best_action()
        if action < 0:
            return None
        before = [_ours(scores.incremental) for scores in self.agglomerator.specs]
        paper = list(
            self._pool.map(lambda scores: self._count_update(scores, action), self.agglomerator.specs)
        )
        step = self.agglomerator.step(threshold)
        if step is None:
            return None
        after = [_ours(scores.incremental) for scores in self.agglomerator.specs]
        self._steps.append(self._row(paper, np.array(after) - np.array(before)))
        return step

    def ratios(self) -> dict[str, float]:
        """Compare ours with the paper over all updates, the first scores left out.

        `evaluations_vs_lower_bound` is our energy evaluations by the paper's lower bound,
        `evaluations_vs_paper` the same by what its algorithm asks for as it is listed, `lookups_vs_paper` our
        look-ups of sampled pairs by those of the paper with all its rules. A ratio by 0 is left out.
        """
        updates = self.counts[1:].sum(axis=0)
        ratios = {}
        for name, (ours, paper) in RATIOS.items():
            weights = self._n_bits() if name == "lookups_vs_paper" else np.ones(len(updates), dtype=np.int64)
            total = int(weights @ updates[:, CURVES.index(paper)])
            if total:
                ratios[name] = int(weights @ updates[:, CURVES.index(ours)]) / total
        return ratios

    def figures(self) -> dict[str, Any]:
        """Collect totals and ratios, ready for JSON; a ratio by 0 is None."""
        updates = self.counts[1:].sum(axis=0)
        names = [scores.table.tiling.spec.name for scores in self.agglomerator.specs]
        return {
            "steps": len(self._steps) - 1,
            **dict.fromkeys(RATIOS),
            **self.ratios(),
            "first_scores": _by_curve(self.counts[0].sum(axis=0)),
            "updates": _by_curve(updates.sum(axis=0)),
            "updates_by_spec": {name: _by_curve(row) for name, row in zip(names, updates, strict=True)},
            "rules": {rule.name: {"examined": rule.examined, "kept": rule.kept} for rule in self.rules},
        }

    def _n_bits(self) -> np.ndarray:
        """Pairs that one descriptor of each spec looks at."""
        return np.array([scores.table.tiling.spec.n_bits for scores in self.agglomerator.specs])

    def zones_of(self, scores: SpecScores) -> np.ndarray:
        """Return the zone of each centre of a spec, uint8 (N,)."""
        return self._zone_rule.zones_of(scores.table).zones

    def _row(self, paper: list[np.ndarray], ours: np.ndarray) -> np.ndarray:
        """Put the counts of one step together, int64 (specs, curves)."""
        n_left = len(self.agglomerator.actions) - int(self.agglomerator.taken().sum())
        n_centres = [scores.table.tiling.n_centres for scores in self.agglomerator.specs]
        naive = np.array(n_centres, dtype=np.int64)[:, None] * (1 + n_left)
        return np.hstack([naive, np.stack(paper), ours])

    def _count_first_scores(self) -> np.ndarray:
        """Count what the first scores cost."""
        specs = self.agglomerator.specs
        tasks = [(scores, task) for scores in specs for task in scores.tasks()]
        paper = [np.zeros(N_PAPER, dtype=np.int64) for _ in specs]
        for (scores, _), counts in zip(tasks, self._pool.map(self._count_regions, tasks), strict=True):
            paper[scores.index] += counts
        return self._row(paper, np.array([_ours(scores.initial) for scores in specs]))

    def _count_regions(self, task: tuple[SpecScores, np.ndarray]) -> np.ndarray:
        """Count what the first scores of some neighbouring regions cost."""
        scores, regions = task
        counts = np.zeros(N_PAPER, dtype=np.int64)
        if len(regions):
            zones = self._zone_rule.zones_of(scores.table)
            switches = _switches(scores.table.tiling.spec)
            # The visibility rule needs a merge that was taken; there is none yet.
            switches[:, 0] = False
            kernels.count_first_scores(
                scores.flat, scores.table.layout, scores.table.offsets, scores.components, regions[0],
                regions[-1] + 1, zones.zones, zones.seen, switches,
                *_scratch(scores, scores.new_buffers().scratch), counts,
            )  # fmt: skip
        return counts

    def _count_update(self, scores: SpecScores, action: int) -> np.ndarray:
        """Count what taking an action costs one spec."""
        counts = np.zeros(N_PAPER, dtype=np.int64)
        join: Join = scores.find_join(action)
        if len(join.regions):
            mask_start, masks = masked_centres(self.rules[:1], scores, join)
            _, sampled = masked_centres(self.rules[1:3], scores, join)
            masked_centres(self.rules[3:], scores, join)
            zones = self._zone_rule.zones_of(scores.table)
            kernels.count_update(
                scores.flat, scores.table.layout, scores.table.offsets, scores.components, action,
                join.regions, join.k1, join.k2, mask_start, masks, masks & sampled, zones.zones, zones.seen,
                _switches(scores.table.tiling.spec), *_scratch(scores, scores.buffers.scratch), counts,
            )  # fmt: skip
        return counts


def _ours(counters: Counters) -> tuple[int, int]:
    """Centres we sampled and energies we evaluated."""
    return counters.sampled_centres, counters.evaluations


def _switches(spec: DescriptorSpec) -> np.ndarray:
    """Which rules each set uses, bool (sets, 3); the graph rule has nothing to say about a pairwise spec."""
    switches = np.array(list(RULE_SETS.values()))
    switches[:, 2] &= spec.kind == "center"
    return switches


def _scratch(scores: SpecScores, scratch: Any) -> tuple[np.ndarray, Any, np.ndarray]:
    """Working memory of the counting kernels."""
    n_rows = scores.table.max_places + 1
    return np.empty(n_rows, dtype=np.uint64), scratch, np.empty((n_rows, MAX_ZONES), dtype=np.int64)


def _by_curve(counts: np.ndarray) -> dict[str, int]:
    """Name the counts of one row."""
    return dict(zip(CURVES, counts.tolist(), strict=True))

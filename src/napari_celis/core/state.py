"""The state of an agglomeration: what is merged, what every further merge would cost, and how both change."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import numpy as np

from napari_celis.core.actions import ActionTable
from napari_celis.core.constraints import Constraints
from napari_celis.core.contact_sums import ContactSums, EnergyPolicy, EnergyScores, MergeOrder, Segments
from napari_celis.core.decisions import actions_between
from napari_celis.core.descriptors import DescriptorSpec
from napari_celis.core.energy import Energy
from napari_celis.core.errors import ActionError
from napari_celis.core.journal import Replaced
from napari_celis.core.parallel import Pool
from napari_celis.core.policy import Policy, PolicyScores
from napari_celis.core.pruning import CentreRule
from napari_celis.core.regions import fill, tile
from napari_celis.core.scores import N_COLUMNS, Change, Counters, SeenRows, SpecScores
from napari_celis.core.segments import join_all, named_by_largest, spanning_forest
from napari_celis.core.supervoxels import Supervoxels

Result = TypeVar("Result")

MOST_ENERGIES = 1 << 23
"""Energies remembered per spec, where nothing else is asked for; about 40 bytes each."""


class AgglomerationState:
    """Local components and terms per spec, sums per action, segments, taken actions and constraints.

    Every change first evaluates all energies it needs, and only then touches anything, so an error in the
    energy model leaves the state as it was. Every change returns the numbers that it replaced.
    """

    def __init__(
        self,
        supervoxels: Supervoxels,
        actions: ActionTable,
        specs: Sequence[DescriptorSpec],
        energy: Energy,
        order: Iterable[int],
        pool: Pool,
        rules: Sequence[CentreRule],
        cache_entries: int | None,
        policy: Policy | EnergyPolicy | None,
    ) -> None:
        self.supervoxels = supervoxels
        self.actions = actions
        self.pool = pool
        self._is_thrifty = cache_entries is None
        self.constraints = Constraints()
        self.order = list(order)
        """Taken actions in the order in which they were taken."""
        self.taken = np.zeros(len(actions), dtype=bool)
        self.taken[self.order] = True
        joined = join_all(supervoxels.n, actions.u[self.order], actions.v[self.order])
        self.segment = named_by_largest(joined, supervoxels.sizes)
        """Segment of every supervoxel, named after one of its own, int32 (N + 1,)."""
        self.voxels = np.bincount(self.segment, weights=supervoxels.sizes, minlength=supervoxels.n + 1)
        """Voxels of every segment, float64 (N + 1,)."""
        self.specs = tuple(
            SpecScores(
                index,
                fill(tile(supervoxels.dense.shape, spec), supervoxels, actions, pool),
                supervoxels,
                energy,
                MOST_ENERGIES if cache_entries is None else cache_entries,
                tuple(rules),
            )
            for index, spec in enumerate(specs)
        )
        self.sums = np.zeros((len(specs), len(actions), N_COLUMNS))
        """Per spec and action: energy change, and centres that see it."""
        self.contact_sums = None if policy is None else ContactSums(self.specs, actions)
        self.merge_order = _merge_order(policy, supervoxels, actions)

    def score_everything(self, progress: Callable[[float], None] | None) -> None:
        """Compute all terms from scratch, regions in parallel."""
        tasks = [(scores, regions) for scores in self.specs for regions in scores.tasks()]
        for scores in self.specs:
            everywhere = np.arange(scores.table.tiling.n_regions, dtype=np.int64)
            scores.components = scores.label_components(everywhere, self.taken)

        def work(task: tuple[SpecScores, np.ndarray]) -> tuple[list[SeenRows], Counters]:
            (scores, regions), counters = task, Counters()
            energies = np.zeros(len(regions))
            seen = scores.score_regions(
                regions, scores.components, scores.new_buffers(), counters, scores.sums, energies
            )
            scores.region_energy[regions] = energies
            return seen, counters

        for done, (task, result) in enumerate(zip(tasks, self.pool.map(work, tasks), strict=True), start=1):
            seen, counters = result
            task[0].initial.add(counters)
            for rows in seen:
                task[0].cache.insert(*rows)
            if progress is not None:
                progress(done / len(tasks))
        everything = np.arange(len(self.actions))
        for scores in self.specs:
            if self._is_thrifty:
                scores.cache.make_ready()
            self.sums[scores.index] = scores.action_sums(everything)
        regions = [np.arange(scores.table.tiling.n_regions) for scores in self.specs]
        self._refresh_order(np.unique(self.segment), regions)

    @property
    def energy(self) -> float:
        """Energy of the current segmentation."""
        return float(sum(scores.region_energy.sum() for scores in self.specs))

    @property
    def n_segments(self) -> int:
        """Number of segments."""
        return int(np.count_nonzero(self.voxels[1:]))

    def score(self, action: int) -> float:
        """Score of one action, to the bit as in `scores`: numpy adds up a single column otherwise."""
        return float(self.scores()[action])

    def scores(self) -> np.ndarray:
        """What greedy goes by, float64 (A,): the energy change of every action, or what the policy says."""
        return self.energy_changes() if self.merge_order is None else self.merge_order.values.copy()

    def energy_changes(self) -> np.ndarray:
        """Energy change of every action, float64 (A,)."""
        total: np.ndarray = self.sums[:, :, 0].sum(axis=0)
        return total

    def policy_features(self, actions: np.ndarray) -> np.ndarray:
        """What the policy sees of some actions, float32 (n, F)."""
        return self._require_policy().features(self._segments(), actions)

    def policy_contacts(self, actions: np.ndarray) -> np.ndarray:
        """What the policy sees of the contacts of some actions, float32 (n, C)."""
        return self._require_policy().contacts(self._segments(), actions)

    def _require_policy(self) -> PolicyScores:
        if not isinstance(self.merge_order, PolicyScores):
            raise ActionError("This agglomeration goes by energy alone; no policy has features.")
        return self.merge_order

    def sums_by_spec(self) -> np.ndarray:
        """What the energy change of every action is by spec, and the centres, float64 (specs, A, 2)."""
        return self.sums if self.contact_sums is None else self.contact_sums.values

    def score_parts(self, action: int) -> dict[str, float]:
        """Split the score of one action; see `Agglomerator.score_parts`."""
        names = [scores.table.tiling.spec.name for scores in self.specs]
        if self.merge_order is None:
            return dict(zip(names, self.sums[:, action, 0].tolist(), strict=True))
        if self._is_inside(action):
            return {}
        return self.merge_order.parts(self._segments(), action, names)

    def contact_of(self, action: int) -> np.ndarray:
        """List the actions that an explanation of one has to look at: itself, or all of its contact."""
        if self.merge_order is None or self._is_inside(action):
            return np.array([action])
        ends = self.actions.u[action], self.actions.v[action]
        return actions_between(self.actions, self.segment, *ends)

    def _is_inside(self, action: int) -> bool:
        return bool(self.segment[self.actions.u[action]] == self.segment[self.actions.v[action]])

    def _segments(self) -> Segments:
        return Segments(self.segment, self.voxels, self.sums_by_spec())

    def available(self) -> np.ndarray:
        """Tell which actions greedy may take, bool (A,): not taken, of some effect, not kept apart.

        Ordered by energy, an action has an effect if a centre sees it, be it inside one segment; a policy
        judges what becomes one segment, and leaves the rest alone.
        """
        order = self.merge_order
        is_seen = (self.sums[:, :, 1] > 0).any(axis=0) if order is None else order.is_judged
        forbidden = self.constraints.forbidden(self.segment, self.actions.u, self.actions.v)
        mask: np.ndarray = ~self.taken & is_seen & ~forbidden
        return mask

    def best_action(self) -> int:
        """Find the action that greedy would take; see `Agglomerator.best_action`."""
        queue = np.where(self.available(), self.scores(), np.inf)
        if not len(queue) or not np.isfinite(queue.min()):
            return -1
        equals = np.flatnonzero(queue == queue.min())
        return int(equals[self.energy_changes()[equals].argmin()])

    def take(self, action: int) -> Replaced:
        """Merge the ends of an action, in every region and globally; the larger segment keeps its name."""
        joins = [scores.find_join(action) for scores in self.specs]
        self._prepare(lambda scores: scores.prepare_merge(joins[scores.index]))
        changes = [scores.apply_merge(join) for scores, join in zip(self.specs, joins, strict=True)]
        a, b = (int(self.segment[end[action]]) for end in (self.actions.u, self.actions.v))
        if (self.voxels[a], -a) < (self.voxels[b], -b):
            a, b = b, a
        moved = np.flatnonzero(self.segment == b) if a != b else np.empty(0, dtype=np.int64)
        self.order.append(action)
        self.taken[action] = True
        return self._finish(changes, None, moved, np.full(len(moved), a, dtype=np.int32))

    def cut(self, action: int) -> Replaced:
        """Take an action back, with every other taken one between the two sides that it leaves."""
        removed, moved, names = self._sides(action)
        taken = self.taken.copy()
        taken[list(removed)] = False
        regions = [
            np.unique(np.concatenate([scores.regions_of(one) for one in removed])) for scores in self.specs
        ]
        prepared = self._prepare(lambda scores: scores.prepare_rebuild(regions[scores.index], taken))
        changes = [
            scores.apply_rebuild(regions[scores.index], *pair)
            for scores, pair in zip(self.specs, prepared, strict=True)
        ]
        order = tuple(self.order)
        self.taken = taken
        self.order = [one for one in order if taken[one]]
        return self._finish(changes, order, moved, names)

    def revert(self, replaced: Replaced) -> None:
        """Put everything back as it was before a change."""
        for scores, change in zip(self.specs, replaced.changes, strict=True):
            scores.restore(change)
        self._add_up(replaced.actions)
        names = np.union1d(self.segment[replaced.moved], replaced.segments)
        self._name_segments(replaced.moved, replaced.segments)
        self._refresh_order(names, [change.regions for change in replaced.changes])
        if replaced.order is None:
            self.taken[self.order.pop()] = False
        else:
            self.order = list(replaced.order)
            self.taken[self.order] = True

    def _prepare(self, work: Callable[[SpecScores], Result]) -> list[Result]:
        """Evaluate a change for all specs in parallel; on any error nothing has changed."""
        try:
            return list(self.pool.map(work, self.specs))
        except BaseException:
            for scores in self.specs:
                scores.discard()
            raise

    def _sides(self, action: int) -> tuple[tuple[int, ...], np.ndarray, np.ndarray]:
        """Find what a cut takes back, the supervoxels that change segment, and their new segments."""
        u, v = self.actions.u, self.actions.v
        forest = spanning_forest(u, v, self.order, self.supervoxels.n)
        if action not in forest:
            return (action,), np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int32)
        rest = sorted(forest - {action})
        part = join_all(self.supervoxels.n, u[rest], v[rest])
        sides = {int(part[u[action]]), int(part[v[action]])}
        ends = part[u[self.order]], part[v[self.order]]
        removed = tuple(one for one, a, b in zip(self.order, *ends, strict=True) if {int(a), int(b)} == sides)
        kept = int(part[self.segment[u[action]]])
        moved = np.flatnonzero(part == (sides - {kept}).pop())
        name = moved[self.supervoxels.sizes[moved].argmax()]
        return removed, moved, np.full(len(moved), name, dtype=np.int32)

    def _finish(
        self, changes: list[Change], order: tuple[int, ...] | None, moved: np.ndarray, names: np.ndarray
    ) -> Replaced:
        """Bring the sums per action and the segments up to date and return everything that was replaced."""
        actions = tuple(scores.actions_of(change) for scores, change in zip(self.specs, changes, strict=True))
        self._add_up(actions)
        old_segments = self.segment[moved]
        self._name_segments(moved, names)
        self._refresh_order(np.union1d(old_segments, names), [change.regions for change in changes])
        return Replaced(tuple(changes), actions, order, moved, old_segments)

    def _add_up(self, actions: Sequence[np.ndarray]) -> None:
        """Bring the sums of some actions, per spec, up to date."""
        for scores, rows in zip(self.specs, actions, strict=True):
            self.sums[scores.index, rows] = scores.action_sums(rows)

    def _refresh_order(self, segments: np.ndarray, regions: Sequence[np.ndarray]) -> None:
        """Let the policy look again at changed segments and, per spec, at changed regions."""
        if self.contact_sums is not None and self.merge_order is not None:
            actions = self.contact_sums.refresh(self.segment, segments, regions)
            self.merge_order.refresh(self._segments(), segments, actions)

    def _name_segments(self, moved: np.ndarray, names: np.ndarray) -> None:
        """Give supervoxels other segments and keep the sizes of segments right."""
        sizes = self.supervoxels.sizes[moved]
        np.subtract.at(self.voxels, self.segment[moved], sizes)
        self.segment[moved] = names
        np.add.at(self.voxels, names, sizes)


def _merge_order(
    policy: Policy | EnergyPolicy | None, supervoxels: Supervoxels, actions: ActionTable
) -> MergeOrder | None:
    """Make what keeps the scores of a policy; none goes by the energy change of single actions."""
    if isinstance(policy, EnergyPolicy):
        return EnergyScores(len(actions))
    return None if policy is None else PolicyScores(policy, supervoxels, actions)

"""The state of an agglomeration: what is merged, what every further merge would cost, and how both change."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import numpy as np

from napari_celis.core.actions import ActionTable
from napari_celis.core.changes import Change, Counters
from napari_celis.core.constraints import Constraints
from napari_celis.core.descriptors import DescriptorSpec
from napari_celis.core.energy import Energy
from napari_celis.core.energy_batches import SeenRows
from napari_celis.core.kept_scores import EarlierScores, KeptScores
from napari_celis.core.lessons import Learning
from napari_celis.core.merge_forest import MergeForest
from napari_celis.core.parallel import Pool
from napari_celis.core.policy import Policy
from napari_celis.core.protection import Forbidden
from napari_celis.core.pruning import CentreRule
from napari_celis.core.ranking import Ranking
from napari_celis.core.regions import fill, tile
from napari_celis.core.scores import SpecScores
from napari_celis.core.segment_graph import SegmentGraph
from napari_celis.core.segments import join_all, named_by_largest
from napari_celis.core.supervoxels import Supervoxels

Result = TypeVar("Result")
Changes = tuple[Change, ...]
"""What changed, per spec."""

MOST_ENERGIES = 1 << 23
"""Energies remembered per spec, where nothing else is asked for; about 40 bytes each."""

ITEMS_AT_ONCE = 64
"""Items that are evaluated together."""


class AgglomerationState:
    """Local components and sums per spec, the segment graph, the ranking, taken actions and constraints.

    Every change first evaluates all energies it needs, and only then touches anything, so an error in the
    energy model leaves the state as it was. How merges and cuts change it, and how they are taken back, is in
    `napari_celis.core.operations`.
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
        policy: Policy,
        *,
        is_lazy: bool,
        segment: np.ndarray | None = None,
    ) -> None:
        self.supervoxels, self.actions, self.pool, self.is_lazy = supervoxels, actions, pool, is_lazy
        self._is_thrifty = cache_entries is None
        self.constraints = Constraints()
        self.is_done = np.zeros(supervoxels.n + 1, dtype=bool)
        """By segment: no merge and no cut may change it."""
        self.order = list(order)
        """Taken actions in the order in which they were taken."""
        self.taken = np.zeros(len(actions), dtype=bool)
        self.taken[self.order] = True
        if segment is None:
            joined = join_all(supervoxels.n, actions.u[self.order], actions.v[self.order])
            segment = named_by_largest(joined, supervoxels.sizes)
        self.graph = SegmentGraph(actions, supervoxels.sizes, segment)
        self.specs = tuple(
            SpecScores(
                index,
                fill(tile(supervoxels.dense.shape, spec), supervoxels, actions, pool),
                supervoxels,
                energy,
                MOST_ENERGIES if cache_entries is None else cache_entries,
                tuple(rules),
                is_lazy,
            )
            for index, spec in enumerate(specs)
        )
        self.ranking = Ranking(policy.start(self.graph, self.specs, self.taken), len(actions))
        self.learning = Learning(self.ranking)
        self.totals = [0] * len(specs)
        """Energy per spec in units, as Python's endless numbers; lazy, its change since the start."""
        self._at_start: list[int] | None = None
        self.units_at_start: tuple[int, ...] | None = None
        """Energy per spec in units before the first decision, where that was made at an earlier time."""
        self.evaluated: list[Changes] = []
        """Energies that were evaluated since the last decision, oldest first."""

    def score_everything(
        self, progress: Callable[[float], None] | None = None, earlier: EarlierScores | None = None
    ) -> None:
        """Compute all terms from scratch, regions in parallel.

        Parameters
        ----------
        progress : callable, optional
            Called with the finished share.
        earlier : EarlierScores, optional
            Scores of another moment; regions where nothing was merged or cut since are taken from there.
        """
        is_of_use = earlier is not None and not self.is_lazy
        kept = earlier.fitted(self.specs, self.actions, self.taken) if earlier and is_of_use else None
        tasks: list[tuple[SpecScores, np.ndarray]] = []
        for scores in self.specs:
            everywhere = np.arange(scores.table.tiling.n_regions, dtype=np.int64)
            scores.components = scores.label_components(everywhere, self.taken)
            changed = everywhere if kept is None else kept.put_into(scores, self.taken)
            tasks += [(scores, regions) for regions in scores.tasks(changed)]

        def work(task: tuple[SpecScores, np.ndarray]) -> tuple[list[SeenRows], Counters]:
            (scores, regions), counters = task, Counters()
            energies = np.zeros(len(regions), dtype=np.int64)
            with scores.spare_buffers() as buffers:
                seen = scores.score_regions(
                    regions, scores.components, buffers, counters, scores.sums, energies
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
        for scores in self.specs:
            # Lazy, what a centre sees comes in pair by pair, so that rounds do not tell what is outdated.
            if self._is_thrifty and not self.is_lazy:
                scores.cache.make_ready()
            self.totals[scores.index] = sum(scores.region_energy.tolist())
        self._first_totals = list(self.totals)
        self._at_start = None if self.is_lazy else [0] * len(self.specs)
        self._count_from_start()
        self.ranking.start(self.forbidden())

    # What can be asked.

    @property
    def energy(self) -> float:
        """Energy of the current segmentation, not a number as long as nobody has evaluated it."""
        if self._at_start is None:
            return float("nan")
        units = (start + total for start, total in zip(self._at_start, self.totals, strict=True))
        return float(sum(n * scores.scale for n, scores in zip(units, self.specs, strict=True)))

    @property
    def energy_change(self) -> float:
        """How much the energy has changed since the start."""
        return float(
            sum(
                (total - first) * scores.scale
                for total, first, scores in zip(self.totals, self._first_totals, self.specs, strict=True)
            )
        )

    def energy_units(self) -> tuple[int, ...]:
        """Energy per spec in units; it must have been evaluated."""
        assert self._at_start is not None
        return tuple(start + total for start, total in zip(self._at_start, self.totals, strict=True))

    def first_units(self) -> tuple[int, ...]:
        """Energy per spec in units before the first decision; it must have been evaluated."""
        assert self._at_start is not None
        return tuple(start + first for start, first in zip(self._at_start, self._first_totals, strict=True))

    def kept_scores(self) -> KeptScores | None:
        """Copy what scores are added up from; None where not all of it is evaluated."""
        return None if self.is_lazy else KeptScores.of(self.specs, self.taken)

    def evaluate_energy(self) -> None:
        """Evaluate every centre as it is now, if nobody has before."""
        if self._at_start is None:
            now = self.prepare(lambda scores: scores.total_energy())
            self._at_start = [total - change for total, change in zip(now, self.totals, strict=True)]
            self._count_from_start()

    def _count_from_start(self) -> None:
        """Count changes of the energy from before the first decision, once both are known."""
        if self.units_at_start is not None and self._at_start is not None:
            pairs = zip(self.units_at_start, self._at_start, strict=True)
            self._first_totals = [first - start for first, start in pairs]

    @property
    def segment(self) -> np.ndarray:
        """Segment of every supervoxel, named after one of its own, int32 (N + 1,)."""
        return self.graph.segment

    def forbidden(self) -> Forbidden:
        """Return what may not be joined now."""
        return Forbidden(self.constraints.among(self.segment), self.is_done)

    def items(self) -> np.ndarray:
        """Return the item that each action belongs to, int (A,); not to be changed."""
        return self.ranking.ranked.items()

    def score(self, action: int) -> float:
        """Score of one action."""
        self.learning.bring_up_to_date()
        item = self.ranking.ranked.items_of(np.array([action]))
        self.evaluate(item)
        return float(self.ranking.scores[item[0]])

    def scores(self) -> np.ndarray:
        """Score of every action, float64 (A,)."""
        self.learning.bring_up_to_date()
        items = self.items()
        self.evaluate(items)
        return np.take(self.ranking.scores, items)

    def lowest_scores(self) -> np.ndarray:
        """What no score is below, float64 (A,), evaluating none; the score itself where it is known."""
        self.learning.bring_up_to_date()
        return np.take(self.ranking.scores, self.items())

    def energy_changes(self, actions: np.ndarray) -> np.ndarray:
        """Energy change of taking each of some actions by itself, float64 (n,)."""
        self.evaluate_actions(actions)
        changes = [scores.scale * scores.action_sums(actions)[:, 0] for scores in self.specs]
        total: np.ndarray = np.sum(changes, axis=0)
        return total

    def sums_by_spec(self, actions: np.ndarray) -> np.ndarray:
        """Energy change and centres of what is ranked for some actions, float64 (specs, n, 2)."""
        ranked = self.ranking.ranked
        items = ranked.items_of(actions)
        self.evaluate(items)
        sums = np.stack([ranked.energies.changes(items), ranked.energies.counts(items)], axis=-1)
        return np.where(ranked.is_candidate(items)[:, None, None], sums, 0.0).transpose(1, 0, 2)

    def score_parts(self, action: int) -> dict[str, float]:
        """Say what the score of an action consists of; nothing for one of a contact inside a segment."""
        self.learning.bring_up_to_date()
        ranked, item = self.ranking.ranked, self.ranking.ranked.items_of(np.array([action]))
        if ranked.are_contacts and not ranked.is_candidate(item)[0]:
            return {}
        self.evaluate(item)
        return self.ranking.scorer.parts(int(item[0]))

    def scored_with(self, action: int) -> np.ndarray:
        """List the actions that are judged together with one, itself included."""
        ranked, item = self.ranking.ranked, self.ranking.ranked.items_of(np.array([action]))
        return ranked.actions_of(int(item[0])) if ranked.is_candidate(item)[0] else np.array([action])

    def available(self) -> np.ndarray:
        """Tell which actions greedy may take, bool (A,): not taken, of some effect, not forbidden."""
        return np.take(self.ranking.available(), self.items())

    def best_action(self, limit: float = np.inf) -> int:
        """Find the action that greedy would take; -1 if none scores below `limit`."""
        self.learning.bring_up_to_date()
        queue, ranked = self.ranking.queue, self.ranking.ranked
        while (lowest := queue.lowest) < limit:
            equals = queue.up_to(lowest)
            if ranked.energies.is_known(equals).all():
                return self._best_of(np.concatenate([ranked.actions_of(int(item)) for item in equals]))
            # Others that come next will be asked for soon, and many at once take less time than one by one.
            self.evaluate(np.union1d(equals, queue.first_items(ITEMS_AT_ONCE, limit)))
        return -1

    def _best_of(self, actions: np.ndarray) -> int:
        """Of actions with equal scores, take the one that lowers the energy most, and of those the first."""
        actions = np.sort(actions)
        return int(actions[self.energy_changes(actions).argmin() if len(actions) > 1 else 0])

    def merge_forest(self, segment: int) -> MergeForest:
        """Return the merges that hold a segment together."""
        order = np.array(self.order, dtype=np.int64)
        own = order[self.segment[self.actions.u[order]] == segment] if len(order) else order
        return MergeForest(self.actions, self.graph.members_of(segment), own.tolist())

    # Energies on demand.

    def evaluate(self, items: np.ndarray) -> None:
        """Evaluate whatever the scores of some items still need."""
        if not self.is_lazy or not len(items):
            return
        items = np.unique(items)
        unknown = items[~self.ranking.ranked.energies.is_known(items)].tolist()
        if unknown:
            self.evaluate_actions(np.concatenate([self.ranking.ranked.actions_of(item) for item in unknown]))

    def evaluate_actions(self, actions: np.ndarray) -> None:
        """Evaluate the energy changes of all pairs of components that some actions would join."""
        if not self.is_lazy:
            return
        actions = actions.astype(np.int64)
        regions = self.prepare(lambda scores: scores.prepare_known(actions))
        if not any(len(own) for own in regions):
            return
        changes = tuple(scores.apply_known(own) for scores, own in zip(self.specs, regions, strict=True))
        self.evaluated.append(changes)
        self.ranking.renew(self.follow(changes, 1))

    def forget_evaluated(self) -> None:
        """Take back what was evaluated since the last decision; the cache still knows it."""
        while self.evaluated:
            changes = self.evaluated.pop()
            for scores, change in zip(self.specs, changes, strict=True):
                scores.restore(change)
            self.ranking.renew(self.follow(changes, -1))

    # What merges and cuts are made of.

    def prepare(self, work: Callable[[SpecScores], Result]) -> list[Result]:
        """Evaluate a change for all specs in parallel; on any error nothing has changed."""
        try:
            return list(self.pool.map(work, self.specs))
        except BaseException:
            for scores in self.specs:
                scores.discard()
            raise

    def follow(self, changes: Changes, sign: int) -> np.ndarray:
        """Let what is ranked follow changed sums (sign 1), or their undoing (-1); returns the items.

        Parameters
        ----------
        changes : Changes
            One per spec.
        sign : int
            1 for the operation, -1 for its undoing.
        """
        ranked = self.ranking.ranked
        found = [ranked.follow(index, change.effect, sign) for index, change in enumerate(changes)]
        return np.concatenate(found)

    def restore(self, changes: Changes) -> None:
        """Put back the numbers that changes hold."""
        for scores, change in zip(self.specs, changes, strict=True):
            after = int(scores.region_energy[change.regions].sum())
            scores.restore(change)
            self.totals[scores.index] += int(change.region_energy.sum()) - after

    def count_energy(self, changes: Changes) -> None:
        """Bring the total up to date after regions changed."""
        for scores, change in zip(self.specs, changes, strict=True):
            after = int(scores.region_energy[change.regions].sum())
            self.totals[scores.index] += after - int(change.region_energy.sum())

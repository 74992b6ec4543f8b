"""Greedy agglomeration by energy, one decision at a time, every one of them undoable."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType

import numpy as np

from napari_celis.core.action_lookup import (
    find_action,
    require_action,
    require_kept_apart,
    require_merged,
    require_two,
)
from napari_celis.core.actions import ActionTable
from napari_celis.core.control import RunControl
from napari_celis.core.descriptors import DescriptorSpec
from napari_celis.core.energy import Energy
from napari_celis.core.errors import ActionError, SpecError
from napari_celis.core.explain import CentreChanges, explain
from napari_celis.core.journal import Entry, Journal, Step, StepKind, require_new_answer
from napari_celis.core.lessons import Learner, Learning, Lesson
from napari_celis.core.merge_forest import MergeForest
from napari_celis.core.operations import Cut, Merge, Operation
from napari_celis.core.parallel import Pool
from napari_celis.core.policy import ENERGY_ALONE, PAPER, LearnedScorer, Policy, spec_names
from napari_celis.core.protection import Mark, require_not_done
from napari_celis.core.pruning import CentreRule, touchable_centres
from napari_celis.core.recorded import RecordedHistory
from napari_celis.core.scores import EarlierScores, KeptScores, SpecScores
from napari_celis.core.seams import JudgedMerges, MergeTrees, find_seams
from napari_celis.core.seen import seen_at
from napari_celis.core.state import AgglomerationState
from napari_celis.core.supervoxels import Supervoxels


class Agglomerator:
    """Decides merges one at a time; every method may be called from any thread.

    Parameters
    ----------
    supervoxels : Supervoxels
        The atoms; index a label volume with `Supervoxels.from_labels`.
    specs : sequence of DescriptorSpec
        The descriptors whose energies are summed.
    energy : Energy
        The model; see `napari_celis.core.energy`.
    policy : Policy
        Orders merges, see `napari_celis.core.policy`. By default that of the paper: every action goes by the
        energy change in the regions where its own two supervoxels meet.
    actions : ActionTable, optional
        All actions between the supervoxels, where they are known already.
    merges : iterable of pairs of int
        Ids of adjacent supervoxels to begin with as merged.
    past : RecordedHistory, optional
        Decisions of an earlier time to go on from, in place of `merges`: everything is as it was after the
        last of them, and all can be undone. Scores are computed once, however many decisions there are.
    kept : EarlierScores, optional
        Scores of the same problem at another moment; only what changed since is computed.
    threads : int, optional
        Threads to use; all processors by default. The result does not depend on it.
    rules : sequence of CentreRule
        Pruning rules; they change the cost, never a score.
    cache_entries : int, optional
        Energies remembered per spec; older ones are evaluated again. By default about twice as many as the
        first scores need, and those that are outdated are forgotten first.
    is_lazy : bool
        Evaluate energies only where a decision can depend on them. Every answer is the same, to the bit;
        asking for all scores evaluates them all. Local energies must lie between 0 and 1.
    progress : callable, optional
        Called with the finished share, 0 to 1, while the first scores are computed.
    """

    def __init__(
        self,
        supervoxels: Supervoxels,
        specs: Sequence[DescriptorSpec],
        energy: Energy,
        *,
        policy: Policy = PAPER,
        actions: ActionTable | None = None,
        merges: Iterable[tuple[int, int]] = (),
        past: RecordedHistory | None = None,
        kept: EarlierScores | None = None,
        threads: int | None = None,
        rules: Sequence[CentreRule] = (touchable_centres,),
        cache_entries: int | None = None,
        is_lazy: bool = False,
        progress: Callable[[float], None] | None = None,
    ) -> None:
        if not specs:
            raise SpecError("An agglomeration needs at least one descriptor spec.")
        names = [spec.name for spec in specs]
        if len(set(names)) < len(names):
            raise SpecError(f"Every descriptor spec needs a name of its own, got {', '.join(names)}.")
        self.supervoxels = supervoxels
        self.actions = ActionTable.from_supervoxels(supervoxels) if actions is None else actions
        self.journal = Journal()
        self._lock = threading.RLock()
        order = list(dict.fromkeys(self._find_action(u, v) for u, v in merges))
        segment = None
        self.glued: tuple[tuple[int, int], ...] = ()
        """Ids of parts of split supervoxels that began as merged."""
        if past is not None:
            self.glued = past.glued
            self.journal.done, self.journal.undone = list(past.done), list(past.undone)
            order, segment = list(past.order), past.segment
        pool = Pool(threads)
        try:
            self._state = AgglomerationState(
                supervoxels, self.actions, specs, energy, order, pool, rules, cache_entries, policy,
                is_lazy=is_lazy, segment=segment,
            )  # fmt: skip
            if past is not None:
                self._state.constraints, self._state.units_at_start = past.constraints, past.units_at_start
                self._state.is_done[list(past.done_segments)] = True
                for entry in past.done:
                    self._state.learning.add(entry.lesson)
            self._state.score_everything(progress, kept)
        except BaseException:
            pool.close()
            raise

    def __enter__(self) -> Agglomerator:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the threads; what was computed stays readable."""
        self._state.pool.close()

    def use_threads(self, n_threads: int) -> None:
        """Go on with another number of threads; no result depends on it."""
        with self._lock:
            self._state.pool.close()
            self._state.pool = Pool(n_threads)

    # What can be asked.

    @property
    def specs(self) -> tuple[SpecScores, ...]:
        """The state of each descriptor spec."""
        return self._state.specs

    @property
    def energy(self) -> float:
        """Energy of the current segmentation."""
        with self._lock:
            self._state.evaluate_energy()
            return self._state.energy

    @property
    def energy_change(self) -> float:
        """How much the energy has changed since the start; known without evaluating it all."""
        with self._lock:
            return self._state.energy_change

    def energy_units(self) -> tuple[int, ...]:
        """Energy per spec as the whole number that is counted: exact, to be kept with decisions."""
        with self._lock:
            self._state.evaluate_energy()
            return self._state.energy_units()

    def units_at_start(self) -> tuple[int, ...]:
        """Energy per spec before the first decision, as the whole number that is counted."""
        with self._lock:
            self._state.evaluate_energy()
            return self._state.first_units()

    def kept_scores(self) -> KeptScores | None:
        """Copy what scores are added up from, for another agglomerator of this problem; None if lazy."""
        with self._lock:
            return self._state.kept_scores()

    @property
    def n_segments(self) -> int:
        """Number of segments."""
        with self._lock:
            return self._state.graph.n_segments

    def scores(self) -> np.ndarray:
        """What greedy goes by, float64 (A,); 0 where nothing would change.

        Policies that judge contacts give all actions between two segments the same score.
        """
        with self._lock:
            return self._state.scores()

    def lowest_scores(self) -> np.ndarray:
        """What no score is below, float64 (A,), evaluating none; the score itself where it is known."""
        with self._lock:
            return self._state.lowest_scores()

    def score(self, action: int) -> float:
        """What greedy goes by for one action."""
        self._require_action(action)
        with self._lock:
            return self._state.score(action)

    def energy_changes(self) -> np.ndarray:
        """Energy change of taking every action by itself, float64 (A,), whatever the policy."""
        with self._lock:
            return self._state.energy_changes(np.arange(len(self.actions)))

    def sums_by_spec(self) -> np.ndarray:
        """Energy change of every action by every spec, and centres that see it, float64 (specs, A, 2).

        Of policies that judge contacts, over the whole contact of its two segments.
        """
        with self._lock:
            return self._state.sums_by_spec(np.arange(len(self.actions)))

    def policy_features(self, actions: np.ndarray) -> np.ndarray:
        """What a learned policy sees of actions between different segments, float32 (n, F)."""
        with self._lock:
            items = self._state.ranking.ranked.items_of(actions)
            self._state.evaluate(items)
            return self._state.ranking.scorer.features(items)

    def policy_contacts(self, actions: np.ndarray) -> np.ndarray:
        """What it sees of the contacts of these actions' segments, float32 (n, C)."""
        with self._lock:
            scorer = self._state.ranking.scorer
            return scorer.contact_features(scorer.ranked.items_of(actions))

    def scores_by_spec(self, action: int) -> dict[str, float]:
        """Split the energy change of one action, or of its contact if that is judged, by descriptor spec."""
        self._require_action(action)
        with self._lock:
            changes = self._state.sums_by_spec(np.array([action]))[:, 0, 0].tolist()
            return dict(zip(spec_names(self._state.ranking.ranked), changes, strict=True))

    def score_parts(self, action: int) -> dict[str, float]:
        """Say what the score of one action consists of; the parts add up to it.

        Ordered by energy, the energy change by spec. With a classifier that is a sum, what it makes of
        contact and energies, and what holds for every merge. A contact inside one segment has no parts.
        """
        self._require_action(action)
        with self._lock:
            return self._state.score_parts(action)

    def scores_by_centre(self, action: int) -> tuple[CentreChanges, ...]:
        """Split the energy change of one action by centre, per spec; that of its contact, if this is judged.

        A centre where the merge would join several pairs of local components is there once for each.
        """
        self._require_action(action)
        with self._lock:
            actions = self._state.scored_with(action)
            return tuple(explain(scores, actions) for scores in self.specs)

    def contacts(self) -> np.ndarray:
        """Return the contact of two segments that each action belongs to, int32 (A,), named by an action."""
        with self._lock:
            return self._state.graph.arrays.contact_of.copy()

    def taken(self) -> np.ndarray:
        """Tell which actions are taken, bool (A,)."""
        with self._lock:
            return self._state.taken.copy()

    def available(self) -> np.ndarray:
        """Tell which actions greedy may take, bool (A,): not taken, of some effect, not forbidden."""
        with self._lock:
            return self._state.available()

    def is_done(self) -> np.ndarray:
        """Tell of every supervoxel whether its segment is done, bool (N + 1,)."""
        with self._lock:
            is_done: np.ndarray = self._state.is_done[self._state.segment]
            return is_done

    def best_action(self) -> int:
        """Return the available action with the lowest score; -1 if there is none.

        Of equals, such as all actions between two segments, the one that by itself lowers the energy most,
        and of those the first.
        """
        with self._lock:
            return self._state.best_action()

    @property
    def constraints(self) -> tuple[tuple[int, int], ...]:
        """Pairs of supervoxel ids that are kept apart."""
        with self._lock:
            ids = self.supervoxels.ids
            return tuple((int(ids[u]), int(ids[v])) for u, v in self._state.constraints.pairs)

    @property
    def history(self) -> tuple[Step, ...]:
        """The decisions that stand, oldest first."""
        with self._lock:
            return tuple(entry.step for entry in self.journal.done)

    def segment_ids(self, n_steps: int | None = None) -> np.ndarray:
        """Map dense supervoxel indices to segment ids, uint64 (N + 1,).

        With `n_steps`, as it was after that many decisions. A segment has the id of one of its supervoxels.
        """
        with self._lock:
            now = self._state.segment
            segment = now if n_steps is None else self.journal.segment_after(n_steps, now)
            ids: np.ndarray = self.supervoxels.ids[segment]
            return ids

    def labels(self, n_steps: int | None = None) -> np.ndarray:
        """Return the segmentation as a label volume, uint64 (Z, Y, X)."""
        labels: np.ndarray = self.segment_ids(n_steps)[self.supervoxels.dense]
        return labels

    def steps_below(self, threshold: float) -> int:
        """Count the decisions a greedy run with this lower threshold would have made before stopping."""
        history = self.history
        above = (n for n, s in enumerate(history) if s.kind == "greedy" and s.score >= threshold)
        return next(above, len(history))

    def merge_tree(self) -> list[tuple[int, int, float]]:
        """List the joins, oldest first: segment that vanished, segment that took it in, score."""
        with self._lock:
            ids, joins = self.supervoxels.ids, self.journal.joins(self._state.segment)
            return [(int(ids[vanished]), int(ids[kept]), score) for vanished, kept, score in joins]

    def merge_forest(self, supervoxel: int) -> MergeForest:
        """Return the merges that hold the segment of a supervoxel, given by dense index, together."""
        with self._lock:
            return self._state.merge_forest(int(self._state.segment[supervoxel]))

    def merge_trees(self) -> MergeTrees:
        """Return the merges that hold all segments together, hung from the supervoxels that name them."""
        with self._lock:
            order = np.array(self._state.order, dtype=np.int64)
            return MergeTrees(self.actions, self._state.segment.copy(), order)

    def judge_merges(self) -> JudgedMerges:
        """Judge every merge that holds a segment together again, by what a cut of it would leave.

        A learned policy looks at both sides as they are now; for others the score at the time of the merge
        counts, which is not a number for merges that the agglomeration began with.
        """
        with self._lock:
            state, trees = self._state, self.merge_trees()
            state.learning.bring_up_to_date()
            seams, scorer = find_seams(state.graph, trees), state.ranking.scorer
            if isinstance(scorer, LearnedScorer):
                scores = scorer.judge_seams(trees, seams)
            else:
                scores = self.journal.merge_scores(len(self.actions))[seams.merge]
            places = trees.places(self.supervoxels.sizes)
            return JudgedMerges(seams.merge, seams.voxels, seams.area, scores, places)

    @property
    def scores_are_odds(self) -> bool:
        """Whether a score is the log-odds that a merge is wrong."""
        scorer = self._state.ranking.scorer
        return isinstance(scorer, LearnedScorer) and scorer.are_odds

    @property
    def learning(self) -> Learning:
        """What answers teach, and the classifier that orders merges; read it in the thread that decides."""
        return self._state.learning

    # What can be done.

    def learn(self, learner: Learner | None) -> None:
        """Learn from every answer that stands, and from those that come; None goes by what there was before.

        Raises
        ------
        ActionError
            If merges are ordered by energy alone, so that there is nothing that could learn.
        """
        with self._lock:
            if learner is not None and not self._state.learning.is_possible:
                raise ActionError(ENERGY_ALONE)
            self._state.learning.switch(learner)

    def step(self, threshold: float = 0.0) -> Step | None:
        """Take the best action if its score is below `threshold`; None when there is none."""
        with self._lock:
            action = self._state.best_action(threshold)
            return None if action < 0 else self._take(action, "greedy")

    def steps(self, threshold: float = 0.0, control: RunControl | None = None) -> Iterator[Step]:
        """Take the best action again and again until none is below `threshold`, or `control` says stop."""
        while control is None or control.wait():
            step = self.step(threshold)
            if step is None:
                return
            yield step

    def merge(self, u_id: int, v_id: int) -> Step:
        """Take the action between two adjacent supervoxels by hand."""
        return self._merge(u_id, v_id, "manual")

    def repeat(self, step: Step) -> Step:
        """Make a decision of a record, of whatever kind; what it brings is computed anew."""
        with self._lock, self.journal.together(follows=step.follows):
            if step.kind == "keep-apart":
                return self.keep_apart(step.u_id, step.v_id)
            if step.kind == "allow":
                return self.allow(step.u_id, step.v_id)
            if step.kind == "cut":
                return self.cut(step.u_id, step.v_id)
            if step.kind == "confirm":
                return self.confirm(step.u_id, step.v_id)
            if step.kind == "not-here":
                return self.not_here(step.u_id, step.v_id)
            if step.kind == "split":
                return self.split(step.u_id, step.v_id)
            if step.kind == "done":
                return self.mark_done(step.u_id)
            if step.kind == "in-work":
                return self.mark_in_work(step.u_id)
            return self._merge(step.u_id, step.v_id, step.kind)

    @contextmanager
    def together(self) -> Iterator[None]:
        """Make all decisions inside one, to be taken back at once; if one fails, none of them stands."""
        with self._lock, self.journal.together():
            n_before = len(self.journal.done)
            try:
                yield
            except BaseException:
                while len(self.journal.done) > n_before:
                    self.undo()
                raise

    def _merge(self, u_id: int, v_id: int, kind: StepKind) -> Step:
        with self._lock:
            action = self._find_action(u_id, v_id)
            if self._state.taken[action]:
                raise ActionError(f"Supervoxels {u_id} and {v_id} are merged already.")
            u, v = int(self.actions.u[action]), int(self.actions.v[action])
            self._require_not_done(u, v)
            pair = self._state.constraints.between(self._state.segment, u, v)
            if pair is not None:
                a, b = (int(self.supervoxels.ids[end]) for end in pair)
                last = self.journal.last_about(a, b)
                when = f" (step {last.index + 1:,})" if last is not None else ""
                raise ActionError(
                    f"Supervoxels {u_id} and {v_id} lie in segments that are kept apart by the constraint "
                    f"between {a} and {b}{when}. Undo that constraint first: allow these two again, or leave "
                    "the segments apart."
                )
            return self._take(action, kind)

    def keep_apart(self, u_id: int, v_id: int) -> Step:
        """Forbid that the segments of two supervoxels ever become one."""
        with self._lock:
            u, v = self.supervoxels.index_of(u_id), self.supervoxels.index_of(v_id)
            require_two(u, v, u_id)
            segment, before = self._state.segment, self._state.constraints
            if segment[u] == segment[v]:
                raise ActionError(
                    f"Supervoxels {u_id} and {v_id} are in one segment, so they cannot be kept apart. "
                    "Cut the merge between them first."
                )
            if before.has(u, v):
                raise ActionError(f"Supervoxels {u_id} and {v_id} are kept apart already.")
            action = self.actions.find(u, v)
            score = self._state.score(action) if action >= 0 else 0.0
            # A cut that keeps its sides apart is one answer, and the cut has taught it.
            is_said = self.journal.has_just_cut(action)
            lesson = None if is_said else self._lesson(action, is_wrong=True)
            self._state.constraints = before.with_pair(u, v)
            self._state.ranking.refresh([int(segment[u])], self._state.forbidden())
            step = self._describe("keep-apart", (int(u_id), int(v_id)), action, score, joins_segments=False)
            return self._push(Entry(step, None, before, lesson))

    def allow(self, u_id: int, v_id: int) -> Step:
        """Take out that two supervoxels are kept apart, wherever in the history that was decided.

        All other decisions stay. What the keep-apart taught stays too, as long as it is not undone.
        """
        with self._lock:
            u, v = self.supervoxels.index_of(u_id), self.supervoxels.index_of(v_id)
            before = self._state.constraints
            require_kept_apart(u_id, v_id, is_kept=before.has(u, v))
            action = self.actions.find(u, v)
            score = self._state.score(action) if action >= 0 else 0.0
            self._state.constraints = before.without_pair(u, v)
            step = self._describe("allow", (int(u_id), int(v_id)), action, score, joins_segments=False)
            self._state.ranking.refresh(self._segments_of(step), self._state.forbidden())
            return self._push(Entry(step, None, before))

    def cut(self, u_id: int, v_id: int) -> Step:
        """Take a past merge out, wherever in the history it lies.

        The segment falls apart into the two sides of that merge; later merges between supervoxels of the two
        sides go with it, all other decisions stay.
        """
        with self._lock:
            action = self._find_action(u_id, v_id)
            if not self._state.taken[action]:
                raise ActionError(
                    f"Supervoxels {u_id} and {v_id} were never merged directly, so there is nothing to cut."
                )
            return self._cut(action)

    def split(self, u_id: int, v_id: int) -> Step:
        """Part the two parts of a split supervoxel, see `napari_celis.core.splits`; otherwise as `cut`."""
        with self._lock:
            action = self._find_action(u_id, v_id)
            if (u_id, v_id) not in self.glued or not self._state.taken[action]:
                raise ActionError(f"Supervoxels {u_id} and {v_id} are no parts of one that hold together.")
            return self._cut(action, "split")

    def confirm(self, u_id: int, v_id: int) -> Step:
        """Note that a past merge was looked at and is right; changes no segment and no score."""
        with self._lock:
            action = self._find_action(u_id, v_id)
            require_merged(u_id, v_id, is_taken=bool(self._state.taken[action]))
            return self._answer("confirm", action, 0.0, is_wrong=False)

    def not_here(self, u_id: int, v_id: int) -> Step:
        """Note that there is a membrane between two adjacent supervoxels; forbids nothing."""
        with self._lock:
            action = self._find_action(u_id, v_id)
            return self._answer("not-here", action, self._state.score(action), is_wrong=True)

    def mark_done(self, supervoxel_id: int) -> Step:
        """Let no merge and no cut change the segment of a supervoxel, until it is in work again."""
        return self._mark("done", supervoxel_id)

    def mark_in_work(self, supervoxel_id: int) -> Step:
        """Note that somebody works on the segment of a supervoxel; if it was done, it may change again."""
        return self._mark("in-work", supervoxel_id)

    def _mark(self, kind: StepKind, supervoxel_id: int) -> Step:
        with self._lock:
            state, name = self._state, int(supervoxel_id)
            segment = int(state.segment[self.supervoxels.index_of(name)])
            shown = int(self.supervoxels.ids[segment])
            mark = Mark.of(state.is_done, segment, becomes_done=kind == "done", name=shown)
            mark.do(state)
            step = self._describe(kind, (name, name), -1, 0.0, joins_segments=False)
            return self._push(Entry(step, mark, state.constraints))

    def undo(self) -> Step:
        """Take the last decision back and return it."""
        with self._lock:
            if not self.journal.done:
                raise ActionError("There is nothing to undo.")
            entry = self.journal.done[-1]
            if entry.operation is not None:
                entry.operation.undo(self._state)
            else:
                self._state.constraints = entry.constraints
                self._state.ranking.refresh(self._segments_of(entry.step), self._state.forbidden())
            self._state.learning.take_back(entry.lesson)
            self.journal.take_back(self._state.energy)
            return entry.step

    def redo(self) -> Step:
        """Do the decision again that was taken back last."""
        with self._lock:
            if not self.journal.undone:
                raise ActionError("There is nothing to redo.")
            with self.journal.again() as entry:
                step = entry.step
                if step.kind in ("greedy", "manual"):
                    return self._take(step.action_index, step.kind)
                return self.repeat(step)

    def _segments_of(self, step: Step) -> list[int]:
        """Return the segments that a decision is about."""
        index_of = self.supervoxels.index_of
        return [int(self._state.segment[index_of(end)]) for end in (step.u_id, step.v_id)]

    def _require_action(self, action: int) -> None:
        """Refuse a row that is not in the table of actions."""
        require_action(self.actions, action)

    def _find_action(self, u_id: int, v_id: int) -> int:
        """Find the action between two supervoxel ids, or say what could be merged instead."""
        return find_action(self.supervoxels, self.actions, u_id, v_id)

    def _take(self, action: int, kind: StepKind) -> Step:
        """Take an action and write the journal."""
        score = self._state.score(action)
        lesson = None if kind == "greedy" else self._lesson(action, is_wrong=False)
        merge = Merge.do(self._state, action)
        return self._record(kind, action, score, merge, lesson, joins_segments=merge.joined is not None)

    def _require_not_done(self, u: int, v: int) -> None:
        """Refuse to join the segments of two supervoxels if one of them is done."""
        a, b = int(self._state.segment[u]), int(self._state.segment[v])
        if a != b:
            require_not_done(self._state.is_done, self.supervoxels.ids, a, b)

    def _cut(self, action: int, kind: StepKind = "cut") -> Step:
        """Cut an action and write the journal."""
        segment = int(self._state.segment[self.actions.u[action]])
        require_not_done(self._state.is_done, self.supervoxels.ids, segment)
        before = self._state.energy_change
        cut = Cut.do(self._state, action)
        try:
            lesson = self._lesson(action, is_wrong=True)
        except BaseException:
            cut.undo(self._state)
            raise
        change = self._state.energy_change - before
        return self._record(kind, action, change, cut, lesson, joins_segments=False)

    def _lesson(self, action: int, *, is_wrong: bool) -> Lesson | None:
        """Look at what a person judges; a decision that is made again teaches what it did."""
        known = self.journal.entry_again
        return seen_at(self._state, action, is_wrong=is_wrong) if known is None else known.lesson

    def _answer(self, kind: StepKind, action: int, score: float, *, is_wrong: bool) -> Step:
        """Write an answer to the journal."""
        ids = self.supervoxels.ids
        ends = int(ids[self.actions.u[action]]), int(ids[self.actions.v[action]])
        require_new_answer(kind, self.journal.last_about(*ends))
        step = self._describe(kind, ends, action, score, joins_segments=False)
        lesson = self._lesson(action, is_wrong=is_wrong)
        return self._push(Entry(step, None, self._state.constraints, lesson))

    def _push(self, entry: Entry) -> Step:
        """Write to the journal, and learn from it."""
        self._state.learning.add(entry.lesson)
        return self.journal.push(entry)

    def _record(
        self,
        kind: StepKind,
        action: int,
        score: float,
        operation: Operation,
        lesson: Lesson | None,
        *,
        joins_segments: bool,
    ) -> Step:
        """Write a merge or a cut to the journal."""
        ids = self.supervoxels.ids
        ends = int(ids[self.actions.u[action]]), int(ids[self.actions.v[action]])
        step = self._describe(kind, ends, action, score, joins_segments=joins_segments)
        return self._push(Entry(step, operation, self._state.constraints, lesson))

    def _describe(
        self, kind: StepKind, ends: tuple[int, int], action: int, score: float, *, joins_segments: bool
    ) -> Step:
        """Make the record of a decision from the state after it."""
        return Step(
            index=len(self.journal.done),
            kind=kind,
            u_id=ends[0],
            v_id=ends[1],
            action_index=action,
            score=score,
            energy=self._state.energy,
            joins_segments=joins_segments,
            n_segments=self._state.graph.n_segments,
        )

"""Greedy agglomeration by energy, one decision at a time, every one of them undoable."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType

import numpy as np

from napari_celis.core.action_lookup import find_action, require_action
from napari_celis.core.actions import ActionTable
from napari_celis.core.control import RunControl
from napari_celis.core.decision_maker import DecisionMaker
from napari_celis.core.descriptors import DescriptorSpec
from napari_celis.core.energy import Energy
from napari_celis.core.errors import ActionError, SpecError
from napari_celis.core.journal import Journal, Step, StepKind
from napari_celis.core.kept_scores import EarlierScores, KeptScores
from napari_celis.core.lessons import Learner, Learning
from napari_celis.core.merges import Merges
from napari_celis.core.parallel import Pool
from napari_celis.core.policy import ENERGY_ALONE, PAPER, Policy
from napari_celis.core.pruning import CentreRule, touchable_centres
from napari_celis.core.recorded import RecordedHistory
from napari_celis.core.scores import SpecScores
from napari_celis.core.scoring import Scoring
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
        order = list(dict.fromkeys(find_action(supervoxels, self.actions, u, v) for u, v in merges))
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
        self._decision_maker = DecisionMaker(self._state, self.journal, self.glued)
        self.scoring = Scoring(self._state, self._lock)
        """What scores consist of."""
        self.merges = Merges(self._state, self.journal, self._lock)
        """What holds segments together."""

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

    def score(self, action: int) -> float:
        """What greedy goes by for one action."""
        require_action(self.actions, action)
        with self._lock:
            return self._state.score(action)

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
            return None if action < 0 else self._decision_maker.take(action, "greedy")

    def steps(self, threshold: float = 0.0, control: RunControl | None = None) -> Iterator[Step]:
        """Take the best action again and again until none is below `threshold`, or `control` says stop."""
        while control is None or control.wait():
            step = self.step(threshold)
            if step is None:
                return
            yield step

    def merge(self, u_id: int, v_id: int) -> Step:
        """Take the action between two adjacent supervoxels by hand."""
        return self._decide("manual", u_id, v_id)

    def keep_apart(self, u_id: int, v_id: int) -> Step:
        """Forbid that the segments of two supervoxels ever become one."""
        return self._decide("keep-apart", u_id, v_id)

    def allow(self, u_id: int, v_id: int) -> Step:
        """Take out that two supervoxels are kept apart, wherever in the history that was decided.

        All other decisions stay. What the keep-apart taught stays too, as long as it is not undone.
        """
        return self._decide("allow", u_id, v_id)

    def cut(self, u_id: int, v_id: int) -> Step:
        """Take a past merge out, wherever in the history it lies.

        The segment falls apart into the two sides of that merge; later merges between supervoxels of the two
        sides go with it, all other decisions stay.
        """
        return self._decide("cut", u_id, v_id)

    def split(self, u_id: int, v_id: int) -> Step:
        """Part the two parts of a split supervoxel, see `napari_celis.core.splits`; otherwise as `cut`."""
        return self._decide("split", u_id, v_id)

    def confirm(self, u_id: int, v_id: int) -> Step:
        """Note that a past merge was looked at and is right; changes no segment and no score."""
        return self._decide("confirm", u_id, v_id)

    def not_here(self, u_id: int, v_id: int) -> Step:
        """Note that there is a membrane between two adjacent supervoxels; forbids nothing."""
        return self._decide("not-here", u_id, v_id)

    def mark_done(self, supervoxel_id: int) -> Step:
        """Let no merge and no cut change the segment of a supervoxel, until it is in work again."""
        return self._decide("done", supervoxel_id, supervoxel_id)

    def mark_in_work(self, supervoxel_id: int) -> Step:
        """Note that somebody works on the segment of a supervoxel; if it was done, it may change again."""
        return self._decide("in-work", supervoxel_id, supervoxel_id)

    def _decide(self, kind: StepKind, u_id: int, v_id: int) -> Step:
        with self._lock:
            return self._decision_maker.decide(kind, u_id, v_id)

    def repeat(self, step: Step) -> Step:
        """Make a decision of a record, of whatever kind; what it brings is computed anew."""
        with self._lock:
            return self._decision_maker.repeat(step)

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

    def undo(self) -> Step:
        """Take the last decision back and return it."""
        with self._lock:
            return self._decision_maker.undo()

    def redo(self) -> Step:
        """Do the decision again that was taken back last."""
        with self._lock:
            return self._decision_maker.redo()

"""Decisions: what forbids each, what it changes and teaches, and how it gets into the journal."""

from __future__ import annotations

from napari_celis.core.action_lookup import find_action, require_kept_apart, require_merged, require_two
from napari_celis.core.errors import ActionError
from napari_celis.core.journal import Entry, Journal, Step, StepKind, require_new_answer
from napari_celis.core.lessons import Lesson
from napari_celis.core.operations import Cut, Merge, Operation
from napari_celis.core.protection import Mark, require_not_done
from napari_celis.core.seen import seen_at
from napari_celis.core.state import AgglomerationState


class DecisionMaker:
    """Makes decisions of every kind, and takes them back; called by one thread at a time.

    Parameters
    ----------
    state : AgglomerationState
        What decisions change.
    journal : Journal
        Where they are written.
    glued : tuple of pairs of int
        Ids of parts of split supervoxels that began as merged.
    """

    def __init__(
        self, state: AgglomerationState, journal: Journal, glued: tuple[tuple[int, int], ...]
    ) -> None:
        self._state, self._journal, self._glued = state, journal, glued

    def decide(self, kind: StepKind, u_id: int, v_id: int) -> Step:
        """Make a decision about two supervoxels.

        Parameters
        ----------
        kind : str
            Which; a merge is of the kind of whoever wants it.
        u_id, v_id : int
            Ids of the supervoxels; of a mark, the same one twice.

        Raises
        ------
        ActionError
            If it cannot be made now; then nothing has changed.
        """
        match kind:
            case "greedy" | "manual":
                return self._merge(kind, u_id, v_id)
            case "keep-apart":
                return self._keep_apart(u_id, v_id)
            case "allow":
                return self._allow(u_id, v_id)
            case "cut":
                return self._cut(u_id, v_id)
            case "split":
                return self._split(u_id, v_id)
            case "confirm":
                return self._confirm(u_id, v_id)
            case "not-here":
                return self._not_here(u_id, v_id)
            case "done" | "in-work":
                return self._mark(kind, u_id)

    def take(self, action: int, kind: StepKind) -> Step:
        """Merge across an action that may be taken, given by its row.

        Parameters
        ----------
        action : int
            Not taken, and not forbidden.
        kind : str
            Greedy, or by hand.
        """
        score = self._state.score(action)
        lesson = None if kind == "greedy" else self._lesson(action, is_wrong=False)
        merge = Merge.do(self._state, action)
        joins = merge.joined is not None
        step = self._describe(kind, self._ends(action), action, score, joins_segments=joins)
        return self._write(step, merge, lesson)

    def repeat(self, step: Step) -> Step:
        """Make a decision of a record, of whatever kind; what it brings is computed anew."""
        with self._journal.together(follows=step.follows):
            return self.decide(step.kind, step.u_id, step.v_id)

    def undo(self) -> Step:
        """Take the last decision back and return it."""
        if not self._journal.done:
            raise ActionError("There is nothing to undo.")
        entry = self._journal.done[-1]
        if entry.operation is not None:
            entry.operation.undo(self._state)
        else:
            self._state.constraints = entry.constraints
            self._rank_again(entry.step.u_id, entry.step.v_id)
        self._state.learning.take_back(entry.lesson)
        self._journal.take_back(self._state.energy)
        return entry.step

    def redo(self) -> Step:
        """Do the decision again that was taken back last."""
        if not self._journal.undone:
            raise ActionError("There is nothing to redo.")
        with self._journal.again() as entry:
            step = entry.step
            if step.kind in ("greedy", "manual"):
                return self.take(step.action_index, step.kind)
            return self.repeat(step)

    # The kinds.

    def _merge(self, kind: StepKind, u_id: int, v_id: int) -> Step:
        """Take the action between two adjacent supervoxels."""
        state, ids = self._state, self._state.supervoxels.ids
        action = self._find_action(u_id, v_id)
        if state.taken[action]:
            raise ActionError(f"Supervoxels {u_id} and {v_id} are merged already.")
        u, v = int(state.actions.u[action]), int(state.actions.v[action])
        a, b = int(state.segment[u]), int(state.segment[v])
        if a != b:
            require_not_done(state.is_done, ids, a, b)
        pair = state.constraints.between(state.segment, u, v)
        if pair is not None:
            a_id, b_id = (int(ids[end]) for end in pair)
            last = self._journal.last_about(a_id, b_id)
            when = f" (step {last.index + 1:,})" if last is not None else ""
            raise ActionError(
                f"Supervoxels {u_id} and {v_id} lie in segments that are kept apart by the constraint "
                f"between {a_id} and {b_id}{when}. Undo that constraint first: allow these two again, or "
                "leave the segments apart."
            )
        return self.take(action, kind)

    def _keep_apart(self, u_id: int, v_id: int) -> Step:
        """Forbid that two segments become one."""
        state, before = self._state, self._state.constraints
        u, v = self._indices(u_id, v_id)
        require_two(u, v, u_id)
        if state.segment[u] == state.segment[v]:
            raise ActionError(
                f"Supervoxels {u_id} and {v_id} are in one segment, so they cannot be kept apart. "
                "Cut the merge between them first."
            )
        if before.has(u, v):
            raise ActionError(f"Supervoxels {u_id} and {v_id} are kept apart already.")
        action, score = self._action_and_score(u, v)
        # A cut that keeps its sides apart is one answer, and the cut has taught it.
        is_said = self._journal.has_just_cut(action)
        lesson = None if is_said else self._lesson(action, is_wrong=True)
        state.constraints = before.with_pair(u, v)
        state.ranking.refresh([int(state.segment[u])], state.forbidden())
        step = self._describe("keep-apart", (int(u_id), int(v_id)), action, score)
        return self._push(Entry(step, None, before, lesson))

    def _allow(self, u_id: int, v_id: int) -> Step:
        """Take out that two supervoxels are kept apart."""
        state, before = self._state, self._state.constraints
        u, v = self._indices(u_id, v_id)
        require_kept_apart(u_id, v_id, is_kept=before.has(u, v))
        action, score = self._action_and_score(u, v)
        state.constraints = before.without_pair(u, v)
        step = self._describe("allow", (int(u_id), int(v_id)), action, score)
        self._rank_again(u_id, v_id)
        return self._push(Entry(step, None, before))

    def _cut(self, u_id: int, v_id: int) -> Step:
        """Take a past merge out."""
        action = self._find_action(u_id, v_id)
        if not self._state.taken[action]:
            raise ActionError(
                f"Supervoxels {u_id} and {v_id} were never merged directly, so there is nothing to cut."
            )
        return self._take_out(action, "cut")

    def _split(self, u_id: int, v_id: int) -> Step:
        """Part the two parts of a split supervoxel."""
        action = self._find_action(u_id, v_id)
        if (u_id, v_id) not in self._glued or not self._state.taken[action]:
            raise ActionError(f"Supervoxels {u_id} and {v_id} are no parts of one that hold together.")
        return self._take_out(action, "split")

    def _confirm(self, u_id: int, v_id: int) -> Step:
        """Note that a past merge is right."""
        action = self._find_action(u_id, v_id)
        require_merged(u_id, v_id, is_taken=bool(self._state.taken[action]))
        return self._answer("confirm", action, 0.0, is_wrong=False)

    def _not_here(self, u_id: int, v_id: int) -> Step:
        """Note that there is a membrane at a contact."""
        action = self._find_action(u_id, v_id)
        return self._answer("not-here", action, self._state.score(action), is_wrong=True)

    def _mark(self, kind: StepKind, supervoxel_id: int) -> Step:
        """Mark the segment of a supervoxel as done, or as in work."""
        state, name = self._state, int(supervoxel_id)
        segment = int(state.segment[state.supervoxels.index_of(name)])
        shown = int(state.supervoxels.ids[segment])
        mark = Mark.of(state.is_done, segment, becomes_done=kind == "done", name=shown)
        mark.do(state)
        return self._write(self._describe(kind, (name, name), -1, 0.0), mark)

    # What they have in common.

    def _take_out(self, action: int, kind: StepKind) -> Step:
        """Cut a taken action."""
        state = self._state
        segment = int(state.segment[state.actions.u[action]])
        require_not_done(state.is_done, state.supervoxels.ids, segment)
        before = state.energy_change
        cut = Cut.do(state, action)
        try:
            lesson = self._lesson(action, is_wrong=True)
        except BaseException:
            cut.undo(state)
            raise
        change = state.energy_change - before
        return self._write(self._describe(kind, self._ends(action), action, change), cut, lesson)

    def _answer(self, kind: StepKind, action: int, score: float, *, is_wrong: bool) -> Step:
        """Write down an answer that changes no segment."""
        ends = self._ends(action)
        require_new_answer(kind, self._journal.last_about(*ends))
        step = self._describe(kind, ends, action, score)
        return self._write(step, None, self._lesson(action, is_wrong=is_wrong))

    def _lesson(self, action: int, *, is_wrong: bool) -> Lesson | None:
        """Look at what a person judges; a decision that is made again teaches what it did."""
        known = self._journal.entry_again
        return seen_at(self._state, action, is_wrong=is_wrong) if known is None else known.lesson

    def _write(self, step: Step, operation: Operation | None, lesson: Lesson | None = None) -> Step:
        """Write a decision that changed no constraint to the journal."""
        return self._push(Entry(step, operation, self._state.constraints, lesson))

    def _push(self, entry: Entry) -> Step:
        """Write to the journal, and learn from it."""
        self._state.learning.add(entry.lesson)
        return self._journal.push(entry)

    def _describe(
        self,
        kind: StepKind,
        ends: tuple[int, int],
        action: int,
        score: float,
        *,
        joins_segments: bool = False,
    ) -> Step:
        """Make the record of a decision from the state after it."""
        return Step(
            index=len(self._journal.done),
            kind=kind,
            u_id=ends[0],
            v_id=ends[1],
            action_index=action,
            score=score,
            energy=self._state.energy,
            joins_segments=joins_segments,
            n_segments=self._state.graph.n_segments,
        )

    def _rank_again(self, *supervoxel_ids: int) -> None:
        """Rank what lies at the segments of supervoxels, after constraints changed."""
        segments = [int(self._state.segment[index]) for index in self._indices(*supervoxel_ids)]
        self._state.ranking.refresh(segments, self._state.forbidden())

    def _action_and_score(self, u: int, v: int) -> tuple[int, float]:
        """Return the action between two supervoxels and its score; -1 and 0 where they do not touch."""
        action = self._state.actions.find(u, v)
        return action, self._state.score(action) if action >= 0 else 0.0

    def _find_action(self, u_id: int, v_id: int) -> int:
        """Find the action between two supervoxel ids, or say what could be merged instead."""
        return find_action(self._state.supervoxels, self._state.actions, u_id, v_id)

    def _indices(self, *supervoxel_ids: int) -> list[int]:
        """Return the dense indices of supervoxels."""
        return [self._state.supervoxels.index_of(one) for one in supervoxel_ids]

    def _ends(self, action: int) -> tuple[int, int]:
        """Return the ids of the two supervoxels of an action."""
        ids, actions = self._state.supervoxels.ids, self._state.actions
        return int(ids[actions.u[action]]), int(ids[actions.v[action]])

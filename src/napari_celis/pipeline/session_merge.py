"""Join two people's work on one volume: what both decided, what only one did, and where they disagree."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from napari_celis.core.errors import ActionError
from napari_celis.core.journal import ANSWER_KINDS, MARK_KINDS, Event, Step
from napari_celis.core.recorded import Recorder
from napari_celis.io.session.records import SessionError, SessionEvent, SessionHead
from napari_celis.pipeline.choice import Atoms

Side = Literal["first", "second"]
MERGES = ("greedy", "manual")


@dataclass(frozen=True)
class Conflict:
    """Two decisions by hand that cannot both stand."""

    first: SessionEvent
    second: SessionEvent
    place_zyx: tuple[float, float, float] | None
    """Where the second one's supervoxels touch, in voxels; None where they do not."""
    reason: str
    winner: Side | None
    """Whose decision stands; None while nobody has decided."""


Rule = Callable[[Conflict], Side | None]
"""Says whose decision stands; None leaves it open."""


@dataclass(frozen=True)
class MergePlan:
    """What joining two sessions comes to."""

    decisions: tuple[SessionEvent, ...]
    """All that stand, in an order in which they can be made."""
    n_common: int
    """Decisions that both had, at the beginning."""
    n_agreed: int
    """Further ones of the second that the first one's work says already."""
    n_greedy_left_out: int
    """Merges by greedy that a decision by hand of the other one rules out."""
    conflicts: tuple[Conflict, ...]


def require_same_data(first: SessionHead, second: SessionHead) -> None:
    """Refuse two sessions that are not about the same volumes, model and policy."""
    for role in ("supervoxels", "image", "affinities"):
        a, b = (head.volume(role) for head in (first, second))
        if (a.checksum if a else "") != (b.checksum if b else ""):
            raise SessionError(f"The two sessions are about different {role}, so they cannot be joined.")
    if first.model_checksum != second.model_checksum:
        raise SessionError("The two sessions were made with different models, so they cannot be joined.")
    if first.settings.get("policy") != second.settings.get("policy"):
        raise SessionError("The two sessions order merges by different policies, so they cannot be joined.")


def standing(events: Iterable[SessionEvent]) -> list[SessionEvent]:
    """Pick the decisions that stand at the end, oldest first.

    Raises
    ------
    SessionError
        If something is undone or done again that was not there.
    """
    done: list[SessionEvent] = []
    undone: list[SessionEvent] = []
    for record in events:
        kind = record.event.kind
        if (kind == "undo" and not done) or (kind == "redo" and not undone):
            raise SessionError(f"A session has an event `{kind}` without anything to {kind}: it is damaged.")
        if kind == "undo":
            undone.append(done.pop())
        elif kind == "redo":
            done.append(undone.pop())
        else:
            done.append(record)
            undone.clear()
    return done


def plan_merge(
    first: Iterable[SessionEvent], second: Iterable[SessionEvent], atoms: Atoms, rule: Rule
) -> MergePlan:
    """Find out how two sessions go together.

    Parameters
    ----------
    first, second : iterable of SessionEvent
        All events of each.
    atoms : Atoms
        The volume that both are about.
    rule : callable
        Asked about every conflict.
    """
    ours, theirs = standing(first), standing(second)
    if any(record.event.step.kind == "split" for record in (*ours, *theirs)):
        raise SessionError(
            "A session in which supervoxels were split cannot be joined with another: their decisions are "
            "about different supervoxels. Undo the splits in a copy, join it, and make them again."
        )
    n_common = 0
    while n_common < min(len(ours), len(theirs)) and is_same(ours[n_common], theirs[n_common]):
        n_common += 1
    work = _Joining(atoms, ours[:n_common], ours[n_common:], theirs[n_common:], rule)
    while not work.try_once():
        pass
    return MergePlan(
        tuple(work.decisions),
        n_common,
        work.n_agreed,
        work.n_greedy_left_out + len(work.ruled_out),
        tuple(work.conflicts.values()),
    )


@dataclass
class _Joining:
    """One attempt after the other, each without what the last one found in the way."""

    atoms: Atoms
    base: list[SessionEvent]
    ours: list[SessionEvent]
    theirs: list[SessionEvent]
    rule: Rule
    dropped: set[int] = field(default_factory=set)
    """Decisions of the first that do not stand, by their place."""
    ruled_out: set[int] = field(default_factory=set)
    """Those of them that were merges by greedy."""
    conflicts: dict[int, Conflict] = field(default_factory=dict)
    """By the place of the second one's decision."""
    decisions: list[SessionEvent] = field(default_factory=list)
    n_agreed: int = 0
    n_greedy_left_out: int = 0

    def try_once(self) -> bool:
        """Make all decisions in order; False if one of the first had to go, so that it begins anew."""
        self.decisions, self.n_agreed, self.n_greedy_left_out = [], 0, 0
        self._recorder = Recorder(self.atoms.supervoxels, self.atoms.actions)
        self._origin: dict[frozenset[int], int] = {}
        self._not_here: dict[frozenset[int], int] = {}
        for record in self.base:
            self._make(record)
        for place, record in enumerate(self.ours):
            if place not in self.dropped and self._make(record):
                is_not_here = record.event.step.kind == "not-here"
                (self._not_here if is_not_here else self._origin)[_ends(record)] = place
        return all(self._add(place, record) for place, record in enumerate(self.theirs))

    def _add(self, place: int, record: SessionEvent) -> bool:
        """Add a decision of the second; False if one of the first has to go for it."""
        blocking, reason, is_said = self._obstacle(record.event.step)
        if is_said:
            self.n_agreed += 1
            return True
        if not reason:
            self._make(record)
            return True
        others = [self.ours[one] for one in blocking]
        is_greedy = record.event.step.kind == "greedy"
        if is_greedy or not blocking:
            self.n_greedy_left_out += is_greedy
            if not is_greedy:
                self._ask(place, record, None, reason)
            return True
        if all(other.event.step.kind == "greedy" for other in others):
            self.ruled_out.add(blocking[0])
            winner: Side | None = "second"
        else:
            winner = self._ask(place, record, others[0], reason)
        if winner == "second":
            self.dropped.add(blocking[0])
            return False
        return True

    def _obstacle(self, step: Step) -> tuple[list[int], str, bool]:
        """Find the first one's decisions in the way, why they are, and whether all is said already."""
        ends, recorder = frozenset((step.u_id, step.v_id)), self._recorder
        own = self._origin.get(ends)
        if step.kind in MARK_KINDS:
            mark = recorder.done_by(step.u_id, step.v_id)
            return [], "", step.kind == "done" and mark is not None
        if step.kind in MERGES:
            if recorder.is_taken(step.u_id, step.v_id):
                return [], "", True
            if recorder.are_apart(step.u_id, step.v_id) and (found := self._done(step, "merged")):
                return found
            pair = recorder.forbidding_pair(step.u_id, step.v_id)
            if pair is not None:
                place = self._origin.get(frozenset(pair))
                return [] if place is None else [place], "merged here, kept apart there", False
            if own is not None and self.ours[own].event.step.kind == "cut":
                return [own], "merged here, cut there", False
            if step.kind == "manual" and ends in self._not_here:
                return [self._not_here[ends]], "merged here, a membrane there", False
            return [], "", False
        if step.kind == "cut":
            if not recorder.is_taken(step.u_id, step.v_id):
                return [], "", True
            if found := self._done(step, "cut"):
                return found
            return self._against(
                own, {"manual": "cut here, merged by hand there", "confirm": "cut here, confirmed there"}
            )
        if step.kind in ANSWER_KINDS:
            return self._obstacle_of_answer(step, own)
        if step.kind == "allow":
            return [], "", not recorder.is_kept_apart(step.u_id, step.v_id)
        if recorder.is_kept_apart(step.u_id, step.v_id):
            return [], "", True
        path = recorder.merges_between(step.u_id, step.v_id)
        if not path:
            return [], "", False
        places = [self._origin[frozenset(pair)] for pair in path if frozenset(pair) in self._origin]
        # The least certain one first; of those by greedy, before any by hand.
        places.sort(
            key=lambda one: (self.ours[one].event.step.kind != "greedy", -self.ours[one].event.step.score)
        )
        return places[:1], "kept apart here, one segment there", False

    def _done(self, step: Step, word: str) -> tuple[list[int], str, bool] | None:
        """Find what `_obstacle` finds, where a segment is done that a merge or a cut would change."""
        mark = self._recorder.done_by(step.u_id, step.v_id)
        if mark is None:
            return None
        place = self._origin.get(frozenset((mark.u_id,)))
        return [] if place is None else [place], f"{word} here, done there", False

    def _obstacle_of_answer(self, step: Step, own: int | None) -> tuple[list[int], str, bool]:
        """Find what `_obstacle` finds, for a confirm or a not-here."""
        last = self._recorder.last_about(step.u_id, step.v_id)
        said = ("manual", "confirm") if step.kind == "confirm" else ("not-here",)
        if last is not None and last.kind in said:
            return [], "", True
        if step.kind == "confirm":
            words = {"cut": "confirmed here, cut there", "keep-apart": "confirmed here, kept apart there"}
        else:
            words = {"manual": "a membrane here, merged by hand there"}
        return self._against(own, words)

    def _against(self, own: int | None, words: Mapping[str, str]) -> tuple[list[int], str, bool]:
        """Find a conflict with the first one's decision about the same pair, by its kind."""
        reason = "" if own is None else words.get(self.ours[own].event.step.kind, "")
        return ([own] if own is not None and reason else []), reason, False

    def _ask(self, place: int, record: SessionEvent, other: SessionEvent | None, reason: str) -> Side | None:
        """Ask the rule, once for each conflict."""
        if place not in self.conflicts:
            shown = record if other is None else other
            conflict = Conflict(shown, record, self._place_of(record.event.step), reason, None)
            winner: Side | None = "first" if other is None else self.rule(conflict)
            self.conflicts[place] = replace(conflict, winner=winner)
        return self.conflicts[place].winner

    def _place_of(self, step: Step) -> tuple[float, float, float] | None:
        supervoxels, actions = self.atoms.supervoxels, self.atoms.actions
        row = actions.find(supervoxels.index_of(step.u_id), supervoxels.index_of(step.v_id))
        if row < 0:
            return None
        z, y, x = actions.centroid[row].tolist()
        return z, y, x

    def _make(self, record: SessionEvent) -> bool:
        """Make a decision; one that is no longer possible without another that went, goes too."""
        try:
            self._recorder.decide(record.event.step)
        except ActionError:
            return False
        step = self._recorder.done[-1].step
        self.decisions.append(replace(record, event=Event("decide", step, record.event.energy)))
        return True


def _ends(record: SessionEvent) -> frozenset[int]:
    return frozenset((record.event.step.u_id, record.event.step.v_id))


def is_same(a: SessionEvent, b: SessionEvent) -> bool:
    """Tell whether two events are the same decision."""
    return a.event.step.kind == b.event.step.kind and _ends(a) == _ends(b)


def as_decision(event: Event) -> Event:
    """Turn an event that made a decision, for the first time or again, into one that makes it."""
    return replace(event, kind="decide")

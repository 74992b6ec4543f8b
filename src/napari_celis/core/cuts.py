"""Plan a cut before it is made: which merges go, and which supervoxels end up on which side."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.errors import ActionError
from napari_celis.core.journal import Step
from napari_celis.core.merge_forest import MergeForest
from napari_celis.core.segments import join_all

Pair = tuple[int, int]


@dataclass(frozen=True, eq=False)
class CutPlan:
    """A cut to look at before it is made."""

    cuts: tuple[Pair, ...]
    """Ids of the supervoxels whose merge is to be cut, one after the other."""
    merges: tuple[Pair, ...]
    """Ids of those to merge again afterwards: merges that had nothing to do with the supervoxel taken out."""
    first_side: np.ndarray
    """Dense indices of the supervoxels on one side."""
    second_side: np.ndarray
    """Dense indices of those on the other; both are empty if no segment would fall apart."""
    n_pieces: int = 1
    """Segments that the second side consists of: one taken out may have held others together."""
    n_first_pieces: int = 1
    """Segments that the first side consists of."""
    apart: tuple[Pair, ...] = ()
    """Ids of those to keep apart in the end, so that greedy does not join the sides again."""

    @property
    def n_steps(self) -> int:
        """Decisions that this adds to the history."""
        return len(self.cuts) + len(self.merges) + len(self.apart)


def carry_out(agglomerator: Agglomerator, plan: CutPlan) -> tuple[Step, ...]:
    """Make the decisions of a plan, to be taken back all at once.

    Parameters
    ----------
    agglomerator : Agglomerator
        As it was when the plan was made.
    plan : CutPlan
        What to do.
    """
    with agglomerator.together():
        cuts = [agglomerator.cut(*pair) for pair in plan.cuts]
        merges = [agglomerator.merge(*pair) for pair in plan.merges]
        apart = [agglomerator.keep_apart(*pair) for pair in plan.apart]
    return (*cuts, *merges, *apart)


def keeping_apart(plan: CutPlan) -> CutPlan:
    """Let a plan also keep its two sides apart, so that greedy does not make the same merges again."""
    return replace(plan, apart=plan.cuts) if len(plan.first_side) else plan


def allow_between(agglomerator: Agglomerator, u_id: int, v_id: int) -> tuple[Step, ...]:
    """Take out everything that keeps the segments of two supervoxels apart, to be taken back at once.

    Parameters
    ----------
    agglomerator : Agglomerator
        The agglomeration.
    u_id, v_id : int
        Ids of two supervoxels.
    """
    index_of, segment = agglomerator.supervoxels.index_of, agglomerator.segment_ids()
    wanted = {int(segment[index_of(end)]) for end in (u_id, v_id)}
    found = [
        pair for pair in agglomerator.constraints if {int(segment[index_of(end)]) for end in pair} == wanted
    ]
    if not found:
        raise ActionError(
            f"Nothing keeps the segments of supervoxels {u_id} and {v_id} apart. Merge them, or go on."
        )
    with agglomerator.together():
        return tuple(agglomerator.allow(*pair) for pair in found)


def plan_cut_of_merge(agglomerator: Agglomerator, action: int) -> CutPlan:
    """Plan to take out one past merge, given by its row in the table of actions.

    Parameters
    ----------
    agglomerator : Agglomerator
        The agglomeration to look at.
    action : int
        Row in the table of actions.
    """
    forest = agglomerator.merges.forest_of(int(agglomerator.actions.u[action]))
    if action not in forest.order:
        u_id, v_id = _ids(agglomerator, action)
        raise ActionError(
            f"Supervoxels {u_id} and {v_id} were never merged directly, so there is nothing to cut."
        )
    return _cut_one(agglomerator, forest, action)


def plan_cut_between(agglomerator: Agglomerator, a: int, b: int) -> CutPlan:
    """Plan to separate two supervoxels of one segment, given by dense index.

    Of the merges that connect the two, the one with the highest score at its time is cut: the least certain.

    Parameters
    ----------
    agglomerator : Agglomerator
        The agglomeration to look at.
    a, b : int
        Dense indices of two supervoxels.
    """
    forest = agglomerator.merges.forest_of(a)
    path = forest.path(a, b)
    if not path:
        ids = agglomerator.supervoxels.ids
        raise ActionError(
            f"Supervoxels {ids[a]} and {ids[b]} are in different segments, so there is nothing to cut. "
            "Choose two in one segment, or only one to take it out."
        )
    merges = (step for step in agglomerator.history if step.kind in ("greedy", "manual"))
    score = {step.action_index: step.score for step in merges}
    worst = max(path, key=lambda action: (score.get(action, -np.inf), action))
    return _cut_one(agglomerator, forest, worst)


def plan_taking_out(agglomerator: Agglomerator, supervoxel: int) -> CutPlan:
    """Plan to take one supervoxel, given by dense index, out of its segment.

    Parameters
    ----------
    agglomerator : Agglomerator
        The agglomeration to look at.
    supervoxel : int
        Dense index.
    """
    forest, table = agglomerator.merges.forest_of(supervoxel), agglomerator.actions
    own = [a for a in forest.order if supervoxel in (table.u[a], table.v[a])]
    cuts = [action for action in own if action in forest.tree]
    if not cuts:
        supervoxel_id = agglomerator.supervoxels.ids[supervoxel]
        raise ActionError(
            f"Supervoxel {supervoxel_id} is a segment of its own, so there is nothing to take out. "
            "Choose one in a larger segment."
        )
    part = dict(zip(forest.members.tolist(), forest.parts_without(cuts).tolist(), strict=True))
    ends = table.u, table.v
    # A cut takes all merges between its two sides along, also those between parts of the rest.
    again = [a for a in forest.order if a not in own and part[int(table.u[a])] != part[int(table.v[a])]]
    pieces = join_all(max(part.values()), *(np.array([part[int(e[a])] for a in again], int) for e in ends))
    rest = forest.members[forest.members != supervoxel]
    return CutPlan(
        tuple(_ids(agglomerator, action) for action in cuts),
        tuple(_ids(agglomerator, action) for action in again),
        np.array([supervoxel]),
        rest,
        len({int(pieces[part[int(member)]]) for member in rest}),
    )


def _cut_one(agglomerator: Agglomerator, forest: MergeForest, action: int) -> CutPlan:
    """Plan a single cut."""
    sides = forest.sides(action)
    return CutPlan((_ids(agglomerator, action),), (), sides.u_side, sides.v_side)


def _ids(agglomerator: Agglomerator, action: int) -> Pair:
    """Return the ids of the ends of an action."""
    ids, table = agglomerator.supervoxels.ids, agglomerator.actions
    return int(ids[table.u[action]]), int(ids[table.v[action]])

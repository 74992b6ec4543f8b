"""What a policy sees of a contact that a person judges, open or inside a segment."""

from __future__ import annotations

import numpy as np

from napari_celis.core.lessons import Lesson
from napari_celis.core.operations import Cut
from napari_celis.core.state import AgglomerationState


def seen_at(state: AgglomerationState, action: int, *, is_wrong: bool) -> Lesson | None:
    """Describe the contact of an action as it is now, without changing anything.

    Parameters
    ----------
    state : AgglomerationState
        As it was when the question was asked.
    action : int
        An open one, or a past merge: then of the two sides that a cut of it would leave.
    is_wrong : bool
        What the person says.

    Returns
    -------
    lesson : Lesson or None
        None where nothing can be learned: ordered by energy alone, or an action inside one segment that
        holds nothing together.
    """
    if not state.learning.is_possible or action < 0:
        return None
    if not state.taken[action]:
        return _seen_now(state, action, is_wrong=is_wrong)
    # Cut, look and take the cut back: exact, and the energies are in the cache.
    cut = Cut.do(state, action)
    try:
        return _seen_now(state, action, is_wrong=is_wrong)
    finally:
        cut.undo(state)


def _seen_now(state: AgglomerationState, action: int, *, is_wrong: bool) -> Lesson | None:
    ranking = state.ranking
    items = ranking.ranked.items_of(np.array([action]))
    if not ranking.ranked.is_candidate(items)[0]:
        return None
    state.evaluate(items)
    scorer = ranking.scorer
    return Lesson(scorer.features(items)[0], scorer.contact_features(items)[0], is_wrong)

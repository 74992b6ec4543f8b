"""All questions about an agglomeration as it is, with their probabilities and gains."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from napari_celis.core.actions import ActionTable
from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.calibration import Calibration, spread_out
from napari_celis.core.decisions import ActionState, Candidates, list_candidates
from napari_celis.core.journal import Step
from napari_celis.core.questions import (
    Questions,
    made_questions,
    open_questions,
    standing_answers,
    vi_change,
)
from napari_celis.core.supervoxels import Supervoxels

LEARNED = Calibration(size_slope=0.3)
"""For policies whose scores are log-odds. Policies look at contacts, not at sizes; yet of merges with equal
scores, those of large bodies are wrong more often: most bodies are whole, and crumbs belong to something."""


def stakes_of(smaller: np.ndarray, larger: np.ndarray, supervoxels: Supervoxels) -> np.ndarray:
    """Say what merges change, by what a merge of two average supervoxels would, float64 (n,).

    Parameters
    ----------
    smaller, larger : ndarray of int
        Voxels of the two sides.
    supervoxels : Supervoxels
        Of the volume, which may be of any size.
    """
    return vi_change(smaller, larger, 2.0 * float(supervoxels.sizes[1:].mean()))


def candidates_of(agglomerator: Agglomerator) -> Candidates:
    """Describe all actions of an agglomeration."""
    return list_candidates(
        agglomerator.supervoxels,
        agglomerator.actions,
        agglomerator.segment_ids(),
        agglomerator.taken(),
        agglomerator.available(),
        agglomerator.contacts(),
        agglomerator.constraints,
        agglomerator.is_done(),
    )


def list_questions(
    agglomerator: Agglomerator,
    threshold: float,
    calibration: Calibration | None = None,
    candidates: Candidates | None = None,
) -> Questions:
    """List all questions of both kinds, in no particular order; none about segments that are done.

    Parameters
    ----------
    agglomerator : Agglomerator
        As it is asked about; called in the thread that owns it.
    threshold : float
        Score at which greedy stops.
    calibration : Calibration, optional
        How scores become probabilities. By default scores that are log-odds are believed, and others are
        spread around the threshold.
    candidates : Candidates, optional
        From `candidates_of`, where they are known already.
    """
    candidates = candidates_of(agglomerator) if candidates is None else candidates
    answers = standing_answers(agglomerator.history)
    scores, merges = agglomerator.scores(), agglomerator.merges.judge()
    if calibration is None:
        is_open = candidates.state == ActionState.OPEN
        known = np.concatenate([scores[is_open], merges.score[np.isfinite(merges.score)]])
        calibration = LEARNED if agglomerator.scoring.are_odds else spread_out(known, threshold)
    supervoxels = agglomerator.supervoxels
    n_voxels = float(supervoxels.sizes[1:].sum())
    of_open = stakes_of(candidates.smaller, candidates.larger, supervoxels)
    of_made = stakes_of(merges.voxels[:, 0], merges.voxels[:, 1], supervoxels)
    made = made_questions(merges, calibration.wrong_merge(merges.score, of_made), n_voxels, answers)
    is_done = agglomerator.is_done()[agglomerator.actions.u[made.action]]
    return Questions.join(
        [
            open_questions(
                agglomerator.actions, candidates, scores, calibration.wrong_merge(scores, of_open), answers
            ),
            made.take(np.flatnonzero(~is_done)),
        ]
    )


def open_questions_of(
    supervoxels: Supervoxels,
    actions: ActionTable,
    candidates: Candidates,
    scores: np.ndarray,
    threshold: float,
    steps: Sequence[Step],
    *,
    scores_are_odds: bool,
) -> Questions:
    """List the questions about open merges alone, which need no agglomerator.

    Parameters
    ----------
    supervoxels, actions : Supervoxels, ActionTable
        The volume.
    candidates : Candidates
        What has become of the actions.
    scores : ndarray of float64, shape (A,)
        What the policy says of each.
    threshold : float
        Score at which greedy stops.
    steps : sequence of Step
        The decisions that stand.
    scores_are_odds : bool
        Whether a score is the log-odds that a merge is wrong.
    """
    is_open = candidates.state == ActionState.OPEN
    calibration = LEARNED if scores_are_odds else spread_out(scores[is_open], threshold)
    wrong = calibration.wrong_merge(scores, stakes_of(candidates.smaller, candidates.larger, supervoxels))
    return open_questions(actions, candidates, scores, wrong, standing_answers(steps))

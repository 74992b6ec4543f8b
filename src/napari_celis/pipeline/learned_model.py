"""A model that knows what the answers of a run have taught."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.errors import ModelError
from napari_celis.models.model_file import CelisModel, save_model
from napari_celis.models.policy import PolicyClassifier


def save_learned_model(model: CelisModel, agglomerator: Agglomerator, path: Path, source: str = "") -> int:
    """Write a new model file with the classifier that orders merges now, and the answers as examples.

    Parameters
    ----------
    model : CelisModel
        What the run began with; all its networks are kept.
    agglomerator : Agglomerator
        Whose answers were learned from; asked in the thread that owns it.
    path : Path
        Appears under its name when it is complete.
    source : str
        The file of `model`, which is never written over; empty where there is none.

    Returns
    -------
    n_answers : int
        How many answers it has learned from.
    """
    classifier, lessons = agglomerator.learning.classifier, agglomerator.learning.lessons
    if not agglomerator.learning.is_on or not isinstance(classifier, PolicyClassifier) or not lessons:
        raise ModelError(
            "Nothing has been learned yet, so there is no new model to save. Switch learning on, and answer "
            "some questions."
        )
    if source and path.exists() and path.samefile(source):
        raise ModelError(f"{path} is the model that this run uses. Save the new one under another name.")
    save_model(
        replace(
            model,
            classifier=classifier,
            examples=model.learner().examples_with(lessons),
            policy="learned",
            thresholds={"learned": 0.0, **model.thresholds},
            figures={**model.figures, "answers": len(lessons)},
        ),
        path,
    )
    return len(lessons)

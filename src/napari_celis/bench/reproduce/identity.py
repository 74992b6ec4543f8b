"""Tell the numbers of one report from those of another: by volumes, model and settings."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import numpy as np

from napari_celis.bench.reproduce.experiment import TRAINING_SEED, Experiment
from napari_celis.bench.reproduce.run import Settings
from napari_celis.pipeline.choice import Choice
from napari_celis.training.checkpoint import fingerprint

BUNDLED = {
    "judged": "the bundled phantom",
    "tuned on": f"a phantom of seed {TRAINING_SEED}",
    "model": "the bundled phantom model, which has seen neither",
}
"""What the report calls the volumes where none are given."""


def settings_of(experiment: Experiment, model: Path, names: Mapping[str, str]) -> Settings:
    """Describe what the numbers of an experiment depend on.

    Parameters
    ----------
    experiment : Experiment
        Volumes, seed and how much is done.
    model : Path
        The file of the model.
    names : mapping
        What the report calls volumes and model.
    """
    with model.open("rb") as file:
        of_model = hashlib.file_digest(file, "sha256").hexdigest()
    settings = {"model": of_model, "seed": experiment.seed, "extent": asdict(experiment.extent)}
    arrays = [array for choice in experiment.choices for array in _arrays(choice)]
    return Settings(names, fingerprint(settings, *arrays))


def _arrays(choice: Choice) -> list[np.ndarray | None]:
    """Read everything that was given of one volume; None stands for what is made from the image."""
    volumes = [
        None if one is None else one.read() for one in (choice.image, choice.truth, choice.supervoxels)
    ]
    return [*volumes, None if choice.affinities is None else choice.affinities.read().data]

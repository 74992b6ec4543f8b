"""Slabs that nobody trained on, agglomerated by the model of their fold or by what takes its place."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "accuracy"))

from folds import FOLDS, AnnotatedVolume, Block
from napari_celis.bench.proofreading import oracle_vi
from napari_celis.core.actions import ActionTable
from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.supervoxels import Supervoxels
from napari_celis.evaluation.overlaps import Overlaps, overlap
from napari_celis.io.samples import bundled_models
from napari_celis.models.apply import affinities_of
from napari_celis.models.model_file import CelisModel, load_model
from napari_celis.pipeline.agglomeration import agglomerator_of

__all__ = ["FOLDS", "KINDS", "Slab", "find_slabs"]
KINDS = ("fitted", "phantom", "bare")
"""The model of the fold, that of the bundled phantom, and that of the fold without its policy."""


@dataclass(frozen=True, eq=False)
class Slab:
    """A slab after the greedy run of a model."""

    model: CelisModel
    agglomerator: Agglomerator
    overlaps: Overlaps
    oracle: float
    """Error of the greedy run that sees the truth, in bits."""

    @property
    def threshold(self) -> float:
        """Where the run stopped."""
        return self.model.thresholds.get("learned", 0.0)

    @classmethod
    def run(cls, model: CelisModel, block: Block, affinities: np.ndarray) -> Slab:
        """Agglomerate a slab."""
        supervoxels = Supervoxels.from_labels(block.supervoxels)
        actions = ActionTable.from_supervoxels(supervoxels)
        agglomerator = agglomerator_of(model, supervoxels, affinities, actions=actions, policy="learned")
        overlaps = overlap(supervoxels, block.truth)
        slab = cls(model, agglomerator, overlaps, oracle_vi(agglomerator, overlaps))
        for _ in agglomerator.steps(slab.threshold):
            pass
        return slab


def model_of(kind: str, path: Path) -> CelisModel:
    """Load the model of a fold, or what takes its place."""
    if kind == "phantom":
        return load_model(bundled_models()["phantom"])
    model = load_model(path)
    return replace(model, classifier=None, examples=None) if kind == "bare" else model


def kept_affinities(model: CelisModel, block: Block, path: Path) -> np.ndarray:
    """Compute affinities of a slab once."""
    if not path.exists():
        np.save(path, affinities_of(model, block.image))
    found: np.ndarray = np.load(path)
    return found


def find_slabs(arguments: argparse.Namespace, kind: str) -> Iterator[tuple[str, Slab]]:
    """Run the model of every fold that has been trained on the slab that it never saw.

    Parameters
    ----------
    arguments : Namespace
        `volume`, `models`, `work`, `folds`, `seed`, `minutes` and `note`, as `run.py` explains.
    kind : str
        Of the model.
    """
    volume = AnnotatedVolume.read(arguments.volume)
    for fold in arguments.folds:
        name = f"{fold}-{arguments.seed}-{arguments.minutes:g}{arguments.note}"
        path = arguments.models / f"{name}.safetensors"
        if not path.exists():
            print(f"{path} is not there yet", file=sys.stderr)
            continue
        model, block = model_of(kind, path), volume.fold(fold)[1]
        network = "phantom" if kind == "phantom" else name
        kept = arguments.work / f"{fold}-{network}.npy".replace(" ", "_")
        yield fold, Slab.run(model, block, kept_affinities(model, block, kept))

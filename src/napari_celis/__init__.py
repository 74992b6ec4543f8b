"""Combinatorial energy learning for image segmentation (CELIS), for napari and without it.

The names below are the front door: they stay. Each is loaded when it is first used, so that the import itself
is light. Everything else is an inner room and may change.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from napari_celis.api import (
        agglomerate,
        compare,
        evaluate,
        make_supervoxels,
        predict_affinities,
        sample,
        train,
    )
    from napari_celis.core.agglomerator import Agglomerator
    from napari_celis.core.errors import CelisError
    from napari_celis.core.volume import Volume
    from napari_celis.io.affinities import read_affinities, write_affinities
    from napari_celis.io.affinity_channels import Affinities
    from napari_celis.io.samples import bundled_models
    from napari_celis.io.volumes import open_volume, write_volume
    from napari_celis.models.model_file import CelisModel, load_model, save_model
    from napari_celis.pipeline.choice import Choice
    from napari_celis.pipeline.recipe import prepare
    from napari_celis.training.pipeline import TrainSettings

__version__ = "0.1.0"

__all__ = [
    "Affinities",
    "Agglomerator",
    "CelisError",
    "CelisModel",
    "Choice",
    "TrainSettings",
    "Volume",
    "agglomerate",
    "bundled_models",
    "compare",
    "evaluate",
    "load_model",
    "make_supervoxels",
    "open_volume",
    "predict_affinities",
    "prepare",
    "read_affinities",
    "sample",
    "save_model",
    "train",
    "write_affinities",
    "write_volume",
]

_ROOMS = {
    "api": (
        "agglomerate", "compare", "evaluate", "make_supervoxels", "predict_affinities", "sample", "train",
    ),
    "core.agglomerator": ("Agglomerator",),
    "core.errors": ("CelisError",),
    "core.volume": ("Volume",),
    "io.affinities": ("read_affinities", "write_affinities"),
    "io.affinity_channels": ("Affinities",),
    "io.samples": ("bundled_models",),
    "io.volumes": ("open_volume", "write_volume"),
    "models.model_file": ("CelisModel", "load_model", "save_model"),
    "pipeline.choice": ("Choice",),
    "pipeline.recipe": ("prepare",),
    "training.pipeline": ("TrainSettings",),
}  # fmt: skip
_HOME = {name: room for room, names in _ROOMS.items() for name in names}


def __getattr__(name: str) -> Any:
    """Load a name of the front door from its room."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    return value


def __dir__() -> list[str]:
    """List the front door."""
    return sorted({*globals(), *__all__})

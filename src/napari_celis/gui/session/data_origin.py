"""What a run was made of, to tell when it is out of date."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from napari.layers import Layer

from napari_celis.io.affinities import AffinityVolume

if TYPE_CHECKING:
    from napari_celis.models.model_file import CelisModel, PolicyName


@dataclass(frozen=True)
class DataOrigin:
    """All that a run depends on; another one means that the run is out of date."""

    image: Layer | None
    supervoxels: Layer | None
    truth: Layer | None
    affinities: Layer | None
    affinities_file: AffinityVolume | None
    model: CelisModel | None
    policy: PolicyName
    n_edits: int
    """How often a chosen layer was edited."""

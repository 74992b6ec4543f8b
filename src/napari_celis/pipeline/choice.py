"""The choice of a user: volumes that are opened and not read, a model, and how to use it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from napari_celis.core.actions import ActionTable
from napari_celis.core.supervoxels import Supervoxels
from napari_celis.core.volume import Triple, Volume
from napari_celis.io.affinity_channels import AffinityVolume

if TYPE_CHECKING:
    from napari_celis.models.model_file import CelisModel, PolicyName

UNKNOWN_SIZE, UNKNOWN_OFFSET = (1.0, 1.0, 1.0), (0.0, 0.0, 0.0)
"""What a volume has whose file says nothing about either."""


@dataclass(frozen=True, eq=False)
class Atoms:
    """Supervoxels that were read and indexed, and the actions between them."""

    supervoxels: Supervoxels
    actions: ActionTable

    @property
    def n_actions(self) -> int:
        """Pairs of supervoxels that touch."""
        return len(self.actions)


class Extent(NamedTuple):
    """Where a volume lies, as far as it says."""

    name: str
    shape: tuple[int, int, int]
    voxel_size_nm: Triple | None
    """None where nothing is known."""
    offset_nm: Triple | None


@dataclass(frozen=True)
class Decided:
    """What is decided before a run begins, as pairs of supervoxel ids."""

    merges: tuple[tuple[int, int], ...] = ()
    """Adjacent supervoxels that are one from the beginning, in the order in which they were joined."""
    apart: tuple[tuple[int, int], ...] = ()
    """Supervoxels that are kept apart: the first decisions of the run, so that they can be undone."""

    @property
    def digest(self) -> str:
        """Tell what is decided from something else, in a word; empty where nothing is."""
        if not self.merges and not self.apart:
            return ""
        return hashlib.sha256(repr((self.merges, self.apart)).encode()).hexdigest()


@dataclass(frozen=True, eq=False)
class Choice:
    """Volumes, a model and how to use it; nothing is read yet."""

    image: Volume | None = None
    """Grey values; not needed where there are affinities."""
    supervoxels: Volume | None = None
    """The oversegmentation; made from the affinities if there is none."""
    truth: Volume | None = None
    """True labels, only to measure errors by."""
    affinities: AffinityVolume | None = None
    """Affinities to use instead of the model's."""
    model: CelisModel | None = None
    policy: PolicyName | None = None
    """How to order merges; the model's own policy by default."""
    threshold: float | None = None
    """Where to stop; the model's own threshold of the policy by default."""
    any_voxel_size: bool = False
    """Use the model although it was trained at another voxel size."""
    is_lazy: bool = False
    """Whether only the result matters, so that scores need not all be there from the beginning."""
    known_affinities: np.ndarray | None = None
    """Those of the same image and model, or of the same `affinities`, from an earlier time."""
    atoms: Atoms | None = None
    """Those of the same `supervoxels`, from an earlier time."""
    decided: Decided = Decided()
    """What the run begins with; nothing is merged by default."""

    @property
    def known_model(self) -> CelisModel:
        """The model; a choice that was checked has one."""
        assert self.model is not None
        return self.model

    @property
    def known_policy(self) -> PolicyName:
        """The policy that was chosen, or that of the model."""
        return self.policy or self.known_model.policy

    @property
    def stop_at(self) -> float:
        """The threshold that was chosen, or that of the model."""
        # Even odds are where a classifier stops that nobody has tuned.
        own = self.known_model.thresholds.get(self.known_policy, 0.0)
        return own if self.threshold is None else self.threshold

    @property
    def volumes(self) -> dict[str, Volume]:
        """Image and labels that were chosen, by role."""
        roles = {"image": self.image, "supervoxels": self.supervoxels, "truth": self.truth}
        return {role: volume for role, volume in roles.items() if volume is not None}

    @property
    def extents(self) -> dict[str, Extent]:
        """Where everything lies that was chosen, by role."""
        given = self.affinities
        extents = {
            "image": _extent_of(self.image),
            "affinities": None
            if given is None
            else Extent(given.name, given.shape, given.voxel_size_nm, given.offset_nm),
            "supervoxels": _extent_of(self.supervoxels),
            "truth": _extent_of(self.truth),
        }
        return {role: extent for role, extent in extents.items() if extent is not None}

    @property
    def shape(self) -> tuple[int, int, int]:
        """Voxels along z, y, x."""
        return next(iter(self.extents.values())).shape

    @property
    def voxel_size_nm(self) -> Triple:
        """Edge lengths of one voxel, from the first volume that says so."""
        return next((one.voxel_size_nm for one in self.extents.values() if one.voxel_size_nm), UNKNOWN_SIZE)

    @property
    def offset_nm(self) -> Triple:
        """Position of the first voxel, from the first volume that says so."""
        return next((one.offset_nm for one in self.extents.values() if one.offset_nm), UNKNOWN_OFFSET)


def _extent_of(volume: Volume | None) -> Extent | None:
    """Describe a volume; the defaults of files that say nothing are no statement."""
    if volume is None:
        return None
    size, offset = tuple(volume.voxel_size_nm), tuple(volume.offset_nm)
    if (size, offset) == (UNKNOWN_SIZE, UNKNOWN_OFFSET):
        return Extent(volume.name, volume.shape, None, None)
    return Extent(volume.name, volume.shape, volume.voxel_size_nm, volume.offset_nm)

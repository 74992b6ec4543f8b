"""From chosen volumes and a model to an agglomerator, step by step; runs in a background thread."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from napari_celis.baselines.judge import overlaps_of
from napari_celis.core.actions import ActionTable
from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.errors import ActionError, CelisError, NotEnoughMemoryError, ShapeMismatchError
from napari_celis.core.kernels import adjacency, changes, seeded
from napari_celis.core.supervoxels import Supervoxels
from napari_celis.core.volume import Volume, count_voxels, format_shape, require_label_type
from napari_celis.evaluation.contingency import contingency_table
from napari_celis.evaluation.overlaps import Overlaps
from napari_celis.gui.kept_decisions import run_key
from napari_celis.gui.layers import called
from napari_celis.gui.workers import Report
from napari_celis.io.memory import available_bytes, format_gb
from napari_celis.io.volumes import read_image, read_labels

if TYPE_CHECKING:
    from napari_celis.models.checkpoint import CelisModel, PolicyName

BYTES_PER_VOXEL = 60
"""What preparing takes at its peak: affinities, labels, indices and features; measured 40 to 55."""
FIRST_RUN = "compiling, first run only"


class IncompleteError(CelisError):
    """Something has not been chosen yet; no mistake, only a hint what comes next."""


@dataclass(frozen=True, eq=False)
class Counted:
    """Supervoxels that were read and indexed."""

    supervoxels: Supervoxels
    n_actions: int


@dataclass(frozen=True, eq=False)
class Chosen:
    """What the user chose; volumes and numbers, no layers."""

    image: Volume | None = None
    supervoxels: Volume | None = None
    truth: Volume | None = None
    model: CelisModel | None = None
    loading: str = ""
    """Name of a model that is being loaded."""
    policy: PolicyName = "energy"
    any_voxel_size: bool = False
    affinities: np.ndarray | None = None
    """From an earlier time with the same image and model."""
    counted: Counted | None = None
    """From an earlier time with the same supervoxels."""

    @property
    def volumes(self) -> dict[str, Volume]:
        """Those that were chosen, by role."""
        roles = {"image": self.image, "supervoxels": self.supervoxels, "truth": self.truth}
        return {role: volume for role, volume in roles.items() if volume is not None}


@dataclass(frozen=True, eq=False)
class Prepared:
    """Everything a run needs."""

    affinities: np.ndarray
    made_labels: np.ndarray | None
    """Supervoxels, if they had to be made."""
    counted: Counted
    agglomerator: Agglomerator | None
    """None if only supervoxels were wanted."""
    overlaps: Overlaps | None
    key: str = ""
    """Under which decisions are kept."""


def check(chosen: Chosen) -> None:
    """Refuse what cannot be prepared, before anything large is read."""
    if chosen.image is None:
        raise IncompleteError(
            "There is no image yet. Open or drop a file, choose a layer, or load the sample."
        )
    check_volumes(chosen)
    if chosen.model is None and chosen.loading:
        raise IncompleteError(f"The model “{chosen.loading}” is being loaded.")
    if chosen.model is None:
        raise IncompleteError("There is no model yet. Choose a bundled one or a file on the tab Data.")
    if not chosen.any_voxel_size:
        from napari_celis.models.apply import require_voxel_size

        require_voxel_size(chosen.model, chosen.image.voxel_size_nm, "tick “Use the model anyway”")


def check_volumes(chosen: Chosen) -> None:
    """Refuse volumes that do not belong together or do not fit into memory."""
    volumes = chosen.volumes
    for role, volume in volumes.items():
        if role != "image":
            require_label_type(volume.dtype, f"The {called(role, volume.name)}")
    for role, volume in volumes.items():
        _require_same_place(role, volume, *next(iter(volumes.items())))
    _require_memory(next(iter(volumes.values()), None))


def _require_same_place(role: str, volume: Volume, first_role: str, first: Volume) -> None:
    """Refuse layers that do not lie over each other voxel by voxel."""
    this, that = f"The {called(role, volume.name)}", f"the {called(first_role, first.name)}"
    if volume.shape != first.shape:
        raise ShapeMismatchError(
            f"{this} has the shape {format_shape(volume.shape)}, but {that} has {format_shape(first.shape)}. "
            "Crop one of them, or open both at the same level and offset."
        )
    for what, own, other in (
        ("voxels of", volume.voxel_size_nm, first.voxel_size_nm),
        ("the position", volume.offset_nm, first.offset_nm),
    ):
        if not np.allclose(own, other, rtol=1e-3, atol=1e-6):
            raise ShapeMismatchError(
                f"{this} has {what} {_nm(own)}, but {that} has {what} {_nm(other)}. "
                "Set the same scale and translation on both layers, or open the matching level."
            )


def _require_memory(volume: Volume | None) -> None:
    """Say how many GB are needed before any of them is allocated."""
    if volume is None:
        return
    needed, free = count_voxels(volume.shape) * BYTES_PER_VOXEL, available_bytes()
    if needed > free:
        raise NotEnoughMemoryError(
            f"This volume needs about {format_gb(needed)} of memory, but {format_gb(free)} are free. "
            "Open a crop or a coarser level, or make larger voxels with `celis convert --resample Z Y X`."
        )


def _nm(triple: tuple[float, ...]) -> str:
    return " × ".join(f"{value:g}" for value in triple) + " nm"


def count(volume: Volume, report: Report) -> Counted:
    """Read supervoxels and find out how many there are and how many pairs of them touch."""
    report("reading supervoxels", 0.0)
    return _counted(read_labels(volume), report)


def _counted(labels: np.ndarray, report: Report) -> Counted:
    report("counting supervoxels", 0.5)
    supervoxels = Supervoxels.from_labels(labels)
    report(_stage("counting contacts", adjacency), 0.8)
    return Counted(supervoxels, len(ActionTable.from_supervoxels(supervoxels)))


def prepare(chosen: Chosen, report: Report, *, only_supervoxels: bool = False) -> Prepared:
    """Compute affinities, supervoxels where there are none, and the first scores."""
    from napari_celis.models.apply import agglomerator_of, supervoxels_of

    affinities = chosen.affinities if chosen.affinities is not None else _affinities(chosen, report)
    made, counted = None, chosen.counted
    if chosen.supervoxels is None or only_supervoxels:
        report(_stage("watershed", seeded), 0.0)
        made = supervoxels_of(chosen.model, affinities, chosen.image.voxel_size_nm)
        counted = _counted(made, report)
    elif counted is None:
        counted = count(chosen.supervoxels, report)
    if only_supervoxels:
        return Prepared(affinities, made, counted, None, None)
    _require_actions(counted)
    stage = _stage("first scores", changes)
    report(stage, 0.0)
    overlaps = None if chosen.truth is None else _overlaps(counted.supervoxels, chosen.truth)
    agglomerator = agglomerator_of(
        chosen.model,
        counted.supervoxels,
        affinities,
        policy=chosen.policy,
        progress=lambda share: report(stage, share),
    )
    key = run_key(counted.supervoxels, chosen.model)
    return Prepared(affinities, made, counted, agglomerator, overlaps, key)


def _affinities(chosen: Chosen, report: Report) -> np.ndarray:
    from napari_celis.models.apply import affinities_of

    report("reading image", 0.0)
    image = read_image(chosen.image)
    report("affinities", 0.0)
    return affinities_of(chosen.model, image, progress=lambda done, total: report("affinities", done / total))


def _require_actions(counted: Counted) -> None:
    if counted.n_actions == 0:
        raise ActionError(
            "No two supervoxels touch, so there is nothing to merge. "
            "Make supervoxels without gaps between them, for example with “Make supervoxels”."
        )


def _overlaps(supervoxels: Supervoxels, truth: Volume) -> Overlaps:
    table = contingency_table(supervoxels.dense, read_labels(truth))
    return overlaps_of(table, supervoxels.n)


def _stage(name: str, kernels: ModuleType) -> str:
    """Name a stage, and say if its loops have to be compiled first."""
    return name if are_compiled(kernels) else f"{name} ({FIRST_RUN})"


def are_compiled(kernels: ModuleType) -> bool:
    """Tell whether the loops of a module lie ready on the disk; the first run on a machine compiles them."""
    name = kernels.__name__.rsplit(".", 1)[-1]
    compiled = [item for item in vars(kernels).values() if hasattr(item, "stats")]
    return any(list(Path(item.stats.cache_path).glob(f"{name}.*.nbi")) for item in compiled)

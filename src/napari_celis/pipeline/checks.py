"""Refuse what cannot be agglomerated, in one sentence with its way out, before anything large is read."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from napari_celis.core.errors import ActionError, CelisError, ModelError, ShapeMismatchError
from napari_celis.core.volume import (
    Triple,
    format_shape,
    require_label_type,
    require_three_axes,
    require_voxels,
)
from napari_celis.core.watershed import AffinitiesError, require_probabilities
from napari_celis.io.affinity_channels import require_channels
from napari_celis.io.memory import require_memory
from napari_celis.pipeline.choice import UNKNOWN_SIZE, Atoms, Choice, Extent
from napari_celis.pipeline.memory import bytes_needed, scoring_bytes

if TYPE_CHECKING:
    from napari_celis.models.model_file import CelisModel, PolicyName

MOVED = (
    "Open the matching level or crop, or correct one of them: in the window scale and translation of its "
    "layer, in a file with celis convert --voxel-size."
)
LARGEST_DIFFERENCE = 1.1
"""Ratio of voxel sizes up to which a model is used without asking."""


class IncompleteError(CelisError):
    """Something has not been chosen yet; no mistake, only a hint what comes next."""


def called(role: str, name: str) -> str:
    """Name a volume at the beginning of a sentence: by what it is used as, and as the user knows it.

    Parameters
    ----------
    role : str
        What it is used as.
    name : str
        How the user knows it.
    """
    return f"The {role} volume “{name}”"


def check(choice: Choice) -> None:
    """Refuse what cannot be prepared.

    Raises
    ------
    IncompleteError
        If something has not been chosen yet.
    CelisError
        For everything else that is wrong, with one sentence about it.
    """
    check_volumes(choice)
    if choice.image is None and choice.affinities is None:
        raise IncompleteError(
            "There is no image yet, and there are no affinities. Give one of them, in the window by opening "
            "or dropping a file, choosing a layer, or loading the sample."
        )
    if choice.model is None:
        raise IncompleteError("There is no model yet. Choose a bundled one or a file on the tab Data.")
    require_policy(choice.model, choice.known_policy)
    require_threshold(choice.stop_at)
    if not choice.any_voxel_size:
        # An image whose file says nothing could have any voxel size, whatever its labels say.
        own = choice.image.voxel_size_nm if choice.image is not None else choice.voxel_size_nm
        require_voxel_size(choice.model, own)
    require_room(choice)


def check_volumes(choice: Choice) -> None:
    """Refuse volumes that are no volumes, or that do not lie over each other voxel by voxel."""
    for role, volume in choice.volumes.items():
        name = called(role, volume.name)
        require_three_axes(volume.data.shape, name)
        require_voxels(volume.data.shape, name)
        if role != "image":
            require_label_type(volume.dtype, name)
    if choice.affinities is not None:
        replace(choice.affinities, name=called("affinities", choice.affinities.name)).check()
    _require_same_extent(choice.extents)


def require_room(choice: Choice) -> None:
    """Refuse a volume that does not fit into memory; without a model, one whose supervoxels do not."""
    extent = next(iter(choice.extents.values()))
    require_memory(
        bytes_needed(choice), f"“{extent.name}” ({format_shape(extent.shape)} voxels)", "Agglomerating"
    )


def require_room_for_scores(choice: Choice, atoms: Atoms) -> None:
    """Refuse supervoxels with more contacts than memory has room for, once they are counted.

    Parameters
    ----------
    choice : Choice
        What was chosen.
    atoms : Atoms
        Supervoxels and the actions between them.
    """
    needed = scoring_bytes(choice.known_model, choice.shape, atoms.n_actions)
    require_memory(needed, f"{atoms.n_actions:,} contacts of supervoxels", "Scoring")


def _require_same_extent(extents: dict[str, Extent]) -> None:
    """Refuse volumes of other shapes; and of other voxel sizes or positions, where they say any."""
    for key, what, written, way_out in (
        ("shape", "the shape", format_shape, "Crop one of them, or open both at the same level and offset."),
        ("voxel_size_nm", "voxels of", _nm, MOVED),
        ("offset_nm", "the position", _nm, MOVED),
    ):
        known = {role: extent for role, extent in extents.items() if getattr(extent, key) is not None}
        for role, extent in list(known.items())[1:]:
            first_role, first = next(iter(known.items()))
            own, other = getattr(extent, key), getattr(first, key)
            if not np.allclose(own, other, rtol=1e-3, atol=1e-6):
                that = called(first_role, first.name).removeprefix("The")
                raise ShapeMismatchError(
                    f"{called(role, extent.name)} has {what} {written(own)}, but the{that} has {what} "
                    f"{written(other)}. {way_out}"
                )


def _nm(triple: Triple) -> str:
    return " × ".join(f"{value:g}" for value in triple) + " nm"


def require_policy(model: CelisModel, policy: PolicyName) -> None:
    """Refuse a policy that a model does not know.

    Parameters
    ----------
    model : CelisModel
        The model.
    policy : PolicyName
        Its name.
    """
    # A model without a classifier begins with one that looks at the mean affinity, and learns from answers.
    known = ("energy", "learned")
    if policy not in known:
        raise ModelError(
            f"This model does not know the policy `{policy}`, only {', '.join(known)}. "
            "Choose that one, or another model."
        )


def require_threshold(threshold: float) -> None:
    """Refuse a threshold that no score can be compared with."""
    if not math.isfinite(threshold):
        raise CelisError(
            f"The threshold is {threshold:g}, but scores are compared with it, so it must be a finite "
            "number. Choose another one; 1e9 is above every score."
        )


def require_voxel_size(model: CelisModel, voxel_size_nm: Triple) -> None:
    """Refuse a volume whose voxels differ from those the model was trained on by more than a tenth.

    Parameters
    ----------
    model : CelisModel
        The model.
    voxel_size_nm : Triple
        Voxel size along z, y, x.
    """
    ratios = [own / trained for own, trained in zip(voxel_size_nm, model.voxel_size_nm, strict=True)]
    if max(*ratios, *(1 / ratio for ratio in ratios)) > LARGEST_DIFFERENCE:
        trained = _nm(model.voxel_size_nm)
        own = _nm(voxel_size_nm) + (" or are of unknown size" if voxel_size_nm == UNKNOWN_SIZE else "")
        raise ModelError(
            f"The model was trained on voxels of {trained}, but those of this volume measure {own}. "
            f"Resample it (celis convert IN OUT --resample {trained.replace(' ×', '').removesuffix(' nm')}; "
            "the tab Data has a button), "
            "or go on anyway with --any-voxel-size, in the window with “Use the model anyway”."
        )


def require_actions(atoms: Atoms) -> None:
    """Refuse supervoxels of which no two touch."""
    if not atoms.n_actions:
        raise ActionError(
            "No two supervoxels touch, so there is nothing to merge. "
            "Give supervoxels without gaps between them, or none: they are then made from the affinities."
        )


def checked_affinities(affinities: np.ndarray, shape: tuple[int, ...], name: str) -> np.ndarray:
    """Refuse anything but three channels of probabilities; return them as float32 or uint8, C-contiguous.

    Parameters
    ----------
    affinities : ndarray of float or uint8, shape (3, Z, Y, X)
        The neighbours at −z, −y, −x: from 0 to 1, or from 0 to 255 as uint8. Where a voxel has no such
        neighbour, anything goes.
    shape : tuple of int
        Voxels along z, y, x.
    name : str
        What messages call them.
    """
    require_channels(affinities.shape, affinities.dtype, name)
    if affinities.shape != (3, *shape):
        raise AffinitiesError(
            f"{name} has shape {format_shape(affinities.shape)}, but the supervoxels need "
            f"{format_shape((3, *shape))}: the neighbours at −z, −y, −x of every voxel."
        )
    if affinities.dtype == np.uint8:
        return np.ascontiguousarray(affinities)
    require_probabilities(affinities, name)
    return np.ascontiguousarray(affinities, dtype=np.float32)

"""Estimate the memory that the recipe takes, once for all front ends: they refuse the same volumes.

Each stage holds what earlier ones left and what it works with; the peak is that of the hungriest stage. The
figures were measured; a test compares the model with the peak of a process.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from napari_celis.core.descriptors import DescriptorSpec
from napari_celis.core.volume import count_voxels
from napari_celis.pipeline.choice import Choice

if TYPE_CHECKING:
    from napari_celis.models.model_file import CelisModel

FIXED = 60e6
"""Compiled loops, threads, and what else does not depend on the volume."""
TILE_SHARE = 0.85
"""What a tile of the network takes of the most that it may."""
PREDICTING = 48
"""Bytes per voxel: the sum of affinities, those of one turn, and their way back."""
MAKING = 55
"""Bytes per voxel that cutting a volume into supervoxels takes at most."""
INDEXING = 45
"""Bytes per voxel for counting supervoxels and their contacts."""
FEATURES = 30
"""Bytes per voxel beside the features themselves while they are collected."""
CENTRE, ACTION = 600, 5000
"""Bytes per centre and per action of regions, changes and remembered energies, lazy or not."""
DENSITY = 0.003
"""Actions per voxel, until they are counted."""
TRAINING = 1200
"""Bytes per voxel that a training takes, as measured on 125 × 250 × 250 voxels and rounded up."""
DENSE, LABELS = 4, 8
"""Bytes per voxel of supervoxels by dense index, and as labels."""


def bytes_needed(choice: Choice) -> int:
    """Estimate the peak of `napari_celis.pipeline.recipe.prepare` and of the run after it.

    It depends on the voxels, on whether affinities and supervoxels are given or made, and on the centres and
    features of the model's specs.
    """
    n_voxels, model, given = count_voxels(choice.shape), choice.model, choice.affinities
    stored = np.dtype(np.float32 if given is None else given.data.dtype)
    affinities = 3 * (1 if stored == np.uint8 else 4)
    made = choice.supervoxels is None
    stages = [n_voxels * (affinities + (MAKING if made else LABELS)), n_voxels * (affinities + INDEXING)]
    if given is not None:
        stages.append(n_voxels * (affinities + stored.itemsize))
    elif model is not None and choice.image is not None and choice.known_affinities is None:
        stages.append(prediction_bytes(model, choice.shape, choice.image.dtype.itemsize))
    if model is not None:
        n_actions = round(DENSITY * n_voxels) if choice.atoms is None else choice.atoms.n_actions
        held = n_voxels * (affinities + DENSE + (LABELS if made else 0))
        stages.append(held + scoring_bytes(model, choice.shape, n_actions))
    return int(FIXED + max(stages))


def scoring_bytes(model: CelisModel, shape: tuple[int, int, int], n_actions: int) -> int:
    """Estimate what features, first scores and a run take beside affinities and supervoxels.

    Parameters
    ----------
    model : CelisModel
        The model.
    shape : tuple of int
        Voxels along z, y, x.
    n_actions : int
        How many actions there are.
    """
    n_centres = [_count_centres(shape, spec) for spec in model.specs]
    # Two bytes per point of the layout, one per pair.
    sizes = [2 * net.settings.n_features + net.settings.n_bits for net in model.energies]
    features = sum(n * size for n, size in zip(n_centres, sizes, strict=True))
    scores = sum(n_centres) * CENTRE + n_actions * ACTION
    return features + max(count_voxels(shape) * FEATURES, scores)


def prediction_bytes(model: CelisModel, shape: tuple[int, int, int], itemsize: int = 1) -> int:
    """Estimate what `napari_celis.models.apply.affinities_of` takes, the image included.

    Parameters
    ----------
    model : CelisModel
        The model.
    shape : tuple of int
        Voxels along z, y, x.
    itemsize : int
        Bytes per voxel of the image.
    """
    from napari_celis.models.inference import MEMORY_GB
    from napari_celis.models.tiles import choose_tile, tile_bytes

    net = model.affinity
    grid = np.array(net.grid_zyx)
    limit = -(-np.array(shape) // grid) * grid
    tile = np.array(choose_tile(shape, net, MEMORY_GB))
    return int(TILE_SHARE * tile_bytes(tile, net, limit) + count_voxels(shape) * (PREDICTING + itemsize))


def _count_centres(shape: Sequence[int], spec: DescriptorSpec) -> int:
    """Count the lattice positions whose box lies inside the volume; none where the box does not fit."""
    return count_voxels(
        max(0, -(-(size - box + 1) // stride))
        for size, box, stride in zip(shape, spec.box_zyx, spec.stride_zyx, strict=True)
    )

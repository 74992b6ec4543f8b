"""Settings and records of affinity training, and what is held out of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from napari_celis.core.descriptors import IntTriple
from napari_celis.core.errors import TrainingError
from napari_celis.models.affinity import affinity_settings
from napari_celis.models.affinity_base import AffinitySettings, Preset
from napari_celis.models.affinity_unet import COARSE
from napari_celis.training.affinity_data import Background
from napari_celis.training.affinity_loss import AffinityFigures
from napari_celis.training.augmentation import Augmentation

PATCH = 48
"""Edge of the default patch in voxels."""


@dataclass(frozen=True)
class AffinityTraining:
    """Settings of a training run; the network's grey-value scale is measured on the training image."""

    network: AffinitySettings = field(default_factory=AffinitySettings)
    patch_zyx: IntTriple = (PATCH, PATCH, PATCH)
    """Voxels with targets per patch; clipped to the volume and rounded to the network's grid."""
    batch: int = 2
    """Patches per step. With a single small patch torch falls back to convolutions that are far slower."""
    learning_rate: float = 3e-3
    """Peak; it rises over the first steps and falls along a half cosine until the budget is spent."""
    weight_decay: float = 1e-4
    warmup: int = 50
    """Steps until the peak."""
    averaging: float = 0.98
    """Memory of the running average of the weights; the average is what is judged and returned."""
    balance: float = 1.0
    long_range_weight: float = 0.5
    shape_weight: float = 1.0
    """What the local shape of objects counts beside affinities; the paper's network learns none."""
    dilation: int = 0
    min_voxels: int = 0
    background: Background = "unknown"
    augmentation: Augmentation = field(default_factory=Augmentation)
    holdout: float = 0.12
    """Share of the longest axis, at its end, that is kept for validation; 0 trains on everything."""
    report_every: int = 10
    """Steps per record."""
    validate_every: int = 200
    """Steps between validations."""
    patience: int = 10
    """Validations without a better one before the run ends; the best weights are kept."""


def affinity_training(
    preset: Preset = "unet", voxel_size_nm: Sequence[float] = (1.0, 1.0, 1.0), *, holdout: float = 0.12
) -> AffinityTraining:
    """Return settings that suit a preset and a voxel size.

    Parameters
    ----------
    preset : {'unet', 'paper'}
        Which network.
    voxel_size_nm : sequence of float
        Edge lengths of a voxel. With coarse sections patches are flat, and sections get lost or blurred.
    holdout : float
        Share of the longest axis that is kept for validation.

    Returns
    -------
    settings : AffinityTraining
        A start for `dataclasses.replace`.
    """
    network = affinity_settings(preset, voxel_size_nm)
    if preset == "paper":
        return AffinityTraining(network, patch_zyx=(4, 16, 16), batch=2, learning_rate=3e-4, holdout=holdout)
    finest = min(voxel_size_nm)
    if max(voxel_size_nm) < COARSE * finest:
        return AffinityTraining(network, holdout=holdout)
    z, y, x = (PATCH // 4 if step >= COARSE * finest else 2 * PATCH for step in voxel_size_nm)
    spoiled = Augmentation(missing_section=0.05, blurred_section=0.05)
    return AffinityTraining(network, patch_zyx=(z, y, x), augmentation=spoiled, holdout=holdout)


@dataclass(frozen=True)
class AffinityRecord:
    """How far the training is."""

    step: int
    loss: float
    """Mean over the steps since the last record."""
    learning_rate: float
    figures: AffinityFigures | None = None
    """Of the held-out slab, when it was looked at."""
    is_best: bool = False


def hold_out(shape: tuple[int, ...], share: float) -> tuple[tuple[slice, ...], tuple[slice, ...] | None]:
    """Split a volume along its longest axis into a part to fit and a slab to judge by.

    Parameters
    ----------
    shape : tuple of int
        Shape of the volume.
    share : float
        Part of it to judge by, 0 to less than 1.
    """
    if not 0 <= share < 1:
        raise TrainingError(f"`holdout` is {share}, but it is a share of the volume. Give 0 to less than 1.")
    axis = int(np.argmax(shape))
    n_judged = round(shape[axis] * share)
    if n_judged == 0:
        return (slice(None),) * 3, None
    cut = shape[axis] - n_judged
    fit, judged = [slice(None)] * 3, [slice(None)] * 3
    fit[axis], judged[axis] = slice(0, cut), slice(cut, None)
    return tuple(fit), tuple(judged)

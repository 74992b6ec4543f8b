"""The descriptor specs that models are made with."""

from __future__ import annotations

from typing import Literal

import numpy as np

from napari_celis.core.descriptors import (
    DescriptorSpec,
    anisotropic_box,
    anisotropic_stride,
    paper_specs,
    sample_spec,
)
from napari_celis.core.volume import Triple

Preset = Literal["fast", "paper"]

STRIDES = (4, 4, 8)
"""Distance of centres for the paper's boxes of 9, 17 and 33, in voxels of the finest axis."""
SMALL_STRIDE, SMALL_PAIRS, SMALL_REGION = 2, 64, 17
ISOTROPIC: Triple = (1.0, 1.0, 1.0)


def preset_specs(
    preset: Preset, *, seed: int = 0, voxel_size_nm: Triple = ISOTROPIC
) -> tuple[DescriptorSpec, ...]:
    """Draw a small dense spec, which also sees contacts of a few voxels, and specs of the paper.

    All five with the preset `paper`, only the smallest with `fast`: the larger ones take most of the time,
    and what one small annotated volume teaches them makes no segmentation better.

    Parameters
    ----------
    preset : {'fast', 'paper'}
        Which.
    seed : int
        Seed of the draws.
    voxel_size_nm : tuple of float
        Voxel size; decides the boxes.
    """
    small = sample_spec(
        "pairwise3", "pairwise", (3, 3, 3), rng=np.random.default_rng(seed), k=SMALL_PAIRS,
        region_zyx=anisotropic_box(SMALL_REGION, voxel_size_nm),
        stride_zyx=anisotropic_stride(SMALL_STRIDE, voxel_size_nm),
    )  # fmt: skip
    published = paper_specs(seed=seed, voxel_size_nm=voxel_size_nm, strides=STRIDES)
    return small, *(published if preset == "paper" else published[:1])

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

Preset = Literal["fast", "wide", "paper"]
N_PUBLISHED: dict[Preset, int] = {"fast": 1, "wide": 2, "paper": 5}
"""How many of the paper's specs each preset takes, from the smallest box on."""
WIDE = 17
"""Voxels along the longest edge from which on a box sees shape alone; see `sees_evidence`."""

STRIDES = (4, 4, 8)
"""Distance of centres for the paper's boxes of 9, 17 and 33, in voxels of the finest axis."""
SMALL_STRIDE, SMALL_PAIRS, SMALL_REGION = 2, 64, 17
ISOTROPIC: Triple = (1.0, 1.0, 1.0)


def preset_specs(
    preset: Preset, *, seed: int = 0, voxel_size_nm: Triple = ISOTROPIC
) -> tuple[DescriptorSpec, ...]:
    """Draw a small dense spec, which also sees contacts of a few voxels, and specs of the paper.

    All five with the preset `paper`, the boxes of 9 and 17 with `wide`, only the box of 9 with `fast`: the
    larger ones take most of the time, and what one small annotated volume teaches them makes no segmentation
    better.

    Parameters
    ----------
    preset : {'fast', 'wide', 'paper'}
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
    return small, *published[: N_PUBLISHED[preset]]


def sees_evidence(preset: Preset, spec: DescriptorSpec) -> bool:
    """Whether the network of a spec gets the image's evidence for every bit, besides the layout around it.

    Small boxes do, and hold what the segmentation says against what the image says. Large ones do not: with
    it they learn once more what the affinities say, and not the shape.

    Parameters
    ----------
    preset : Preset
        With `paper` none does.
    spec : DescriptorSpec
        Gives the box.
    """
    return preset != "paper" and max(spec.box_zyx) < WIDE

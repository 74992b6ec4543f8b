"""One table of mistakes: what was given, and the one sentence that every caller of the recipe answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gui.conftest import SHAPE, VOXEL_NM, small_volumes
from napari_celis.core.volume import Triple

PLENTY = 10**12


@dataclass(frozen=True, eq=False)
class Given:
    """A volume with its place."""

    data: np.ndarray
    voxel_size_nm: Triple = VOXEL_NM
    offset_nm: Triple = (0.0, 0.0, 0.0)
    offsets: Any = None


@dataclass(frozen=True, eq=False)
class Case:
    """What a caller is given; everything fits unless a mistake changes it."""

    image: Given | None = None
    supervoxels: Given | None = None
    affinities: Given | None = None
    threshold: float = -0.5
    free_bytes: int = PLENTY


@dataclass(frozen=True, eq=False)
class Mistake:
    """How a case is spoiled, and what is said; `{image}` and so on are names, `*` is any number."""

    spoil: Callable[[Case], Case]
    sentence: str


def good_case(*, with_affinities: bool = False) -> Case:
    """Make a small image and supervoxels, and affinities of another network if wanted."""
    image, supervoxels = (Given(small_volumes()[role].read()) for role in ("image", "supervoxels"))
    affinities = np.random.default_rng(1).random((3, *SHAPE), dtype=np.float32)
    return Case(image, supervoxels, Given(affinities) if with_affinities else None)


def _supervoxels(**changes: Any) -> Callable[[Case], Case]:
    return lambda case: replace(case, supervoxels=replace(case.supervoxels, **changes))


def _affinities(data: np.ndarray, **changes: Any) -> Callable[[Case], Case]:
    return lambda case: replace(case, affinities=Given(data, **changes))


def _values(low: float, high: float, dtype: Any = np.float32, channels: int = 3) -> np.ndarray:
    data = np.full((channels, *SHAPE), low, dtype=dtype)
    data[0, 1, 0, 0] = high
    return data


def _gaps() -> np.ndarray:
    labels = np.zeros(SHAPE, np.uint64)
    labels[2:4], labels[8:10] = 1, 2
    return labels


MOVED = (
    "Open the matching level or crop, or correct one of them: in the window scale and translation of its "
    "layer, in a file with celis convert --voxel-size."
)
CROP = "Crop one of them, or open both at the same level and offset."
LARGER = "Open a crop or a coarser level, or make larger voxels with `celis convert --resample Z Y X`."

MISTAKES = {
    "other shape": Mistake(
        _supervoxels(data=np.ones((3, 4, 5), np.uint64)),
        "The supervoxels volume “{supervoxels}” has the shape 3 × 4 × 5, but the image volume “{image}” has "
        f"the shape 12 × 20 × 20. {CROP}",
    ),
    "other voxel size": Mistake(
        _supervoxels(voxel_size_nm=(40.0, 4.0, 4.0)),
        "The supervoxels volume “{supervoxels}” has voxels of 40 × 4 × 4 nm, but the image volume “{image}” "
        f"has voxels of 10 × 10 × 10 nm. {MOVED}",
    ),
    "other position": Mistake(
        _supervoxels(offset_nm=(50.0, 0.0, 0.0)),
        "The supervoxels volume “{supervoxels}” has the position 50 × 0 × 0 nm, but the image volume "
        f"“{{image}}” has the position 0 × 0 × 0 nm. {MOVED}",
    ),
    "labels that are floats": Mistake(
        _supervoxels(data=np.ones(SHAPE, np.float32)),
        "The supervoxels volume “{supervoxels}” holds float32 values, but labels must be integers. "
        "Is this the image? Otherwise save the labels as uint32 or uint64.",
    ),
    "nothing but background": Mistake(
        _supervoxels(data=np.zeros(SHAPE, np.uint64)),
        "The supervoxels volume “{supervoxels}” holds nothing but background: every label is 0. "
        "Check that this is the right dataset.",
    ),
    "no two supervoxels touch": Mistake(
        _supervoxels(data=_gaps()),
        "No two supervoxels touch, so there is nothing to merge. "
        "Give supervoxels without gaps between them, or none: they are then made from the affinities.",
    ),
    "threshold is not a number": Mistake(
        lambda case: replace(case, threshold=np.nan),
        "The threshold is nan, but scores are compared with it, so it must be a finite number. "
        "Choose another one; 1e9 is above every score.",
    ),
    "threshold is infinite": Mistake(
        lambda case: replace(case, threshold=np.inf),
        "The threshold is inf, but scores are compared with it, so it must be a finite number. "
        "Choose another one; 1e9 is above every score.",
    ),
    "image with NaN": Mistake(
        lambda case: replace(case, image=Given(np.where(np.indices(SHAPE)[0] == 3, np.nan, 1.0))),
        "The image volume “{image}” holds 400 or more values that are NaN or infinite. "
        "Replace them, for example with numpy.nan_to_num, and save it again.",
    ),
    "model of another voxel size": Mistake(
        lambda case: replace(
            case,
            image=replace(case.image, voxel_size_nm=(20.0, 20.0, 20.0)),
            supervoxels=replace(case.supervoxels, voxel_size_nm=(20.0, 20.0, 20.0)),
        ),
        "The model was trained on voxels of 10 × 10 × 10 nm, but those of this volume measure 20 × 20 × 20 "
        "nm. Resample it (celis convert IN OUT --resample 10 10 10; the tab Data has a button), or go on "
        "anyway with --any-voxel-size, in the window with “Use the model anyway”.",
    ),
    "affinities of another shape": Mistake(
        _affinities(np.zeros((3, 12, 20, 19), np.float32)),
        "The affinities volume “{affinities}” has the shape 12 × 20 × 19, but the image volume “{image}” has "
        f"the shape 12 × 20 × 20. {CROP}",
    ),
    "affinities at another place": Mistake(
        _affinities(_values(0.5, 0.5), offset_nm=(0.0, 10.0, 0.0)),
        "The affinities volume “{affinities}” has the position 0 × 10 × 0 nm, but the image volume “{image}” "
        f"has the position 0 × 0 × 0 nm. {MOVED}",
    ),
    "too few channels": Mistake(
        _affinities(_values(0.5, 0.5, channels=2)),
        "The affinities volume “{affinities}” has shape 2 × 12 × 20 × 20, but affinities have four axes: "
        "three or more channels, then z, y, x. Check that this is the right dataset.",
    ),
    "affinities that are whole numbers": Mistake(
        _affinities(_values(0, 1, np.int32)),
        "The affinities volume “{affinities}” holds int32 values, but affinities are floats from 0 to 1 or "
        "uint8 from 0 to 255. Convert them.",
    ),
    "affinities above 1": Mistake(
        _affinities(_values(0.5, 3.0)),
        "The affinities volume “{affinities}” runs from 0.5 to 3 in channel 0, but affinities lie between 0 "
        "and 1. Scale them, and replace NaN.",
    ),
    "affinities below 0": Mistake(
        _affinities(_values(0.5, -2.0)),
        "The affinities volume “{affinities}” runs from -2 to 0.5 in channel 0, but affinities lie between 0 "
        "and 1. Scale them, and replace NaN.",
    ),
    "affinities with NaN": Mistake(
        _affinities(_values(0.5, np.nan)),
        "The affinities volume “{affinities}” runs from nan to nan in channel 0, but affinities lie between "
        "0 and 1. Scale them, and replace NaN.",
    ),
    "no nearest neighbour": Mistake(
        _affinities(_values(0.5, 0.5), offsets=[[-1, 0, 0], [0, -1, 0], [0, 0, -9]]),
        "The affinities volume “{affinities}” has no channel for the nearest neighbour along x; its offsets "
        "are [[-1, 0, 0], [0, -1, 0], [0, 0, -9]]. Choose affinities that hold offset 1 along every axis.",
    ),
    "offsets of other channels": Mistake(
        _affinities(_values(0.5, 0.5), offsets=[[-1, 0, 0], [0, -1, 0]]),
        "The affinities volume “{affinities}” has 3 channels but an entry `offsets` that is not one row "
        "(z, y, x) for each. Correct or remove it.",
    ),
    "contacts without affinities": Mistake(
        lambda case: replace(case, image=None),
        "There is no image yet, and there are no affinities. Give one of them, in the window by opening or "
        "dropping a file, choosing a layer, or loading the sample.",
    ),
    "not enough memory": Mistake(
        lambda case: replace(case, free_bytes=2_000_000),
        "Agglomerating “{image}” (12 × 20 × 20 voxels) needs * GB of memory, but 0.002 GB are free. "
        + LARGER,
    ),
}

"""What a person should know about the outcome of a run before using it."""

from __future__ import annotations

import numpy as np

from napari_celis.core.supervoxels import Supervoxels

FEWEST_SUPERVOXELS = 10
"""Of fewer supervoxels, one segment may well be right."""
LARGEST_SHARE = 0.95
"""No segment of neuropil fills more of a volume than this, unless everything ran together."""
MOST_SEGMENTS, FEWEST_VOXELS = 2000, 1000
"""More segments than this, of fewer voxels on average, are more than anybody can look at."""


def result_remark(supervoxels: Supervoxels, segment_ids: np.ndarray) -> str:
    """Say what is suspicious about a segmentation, and what to do; "" if nothing is.

    Parameters
    ----------
    supervoxels : Supervoxels
        What was merged.
    segment_ids : ndarray of uint64, shape (N + 1,)
        Segment of every supervoxel.
    """
    _, index = np.unique(segment_ids[1:], return_inverse=True)
    voxels = np.bincount(index.ravel(), weights=supervoxels.sizes[1:])
    voxels = voxels[voxels > 0]
    n_supervoxels = int(np.count_nonzero(supervoxels.sizes[1:]))
    if len(voxels) and n_supervoxels >= FEWEST_SUPERVOXELS and voxels.max() > LARGEST_SHARE * voxels.sum():
        what = (
            f"All {n_supervoxels:,} supervoxels became one segment"
            if len(voxels) == 1
            else f"One segment holds {voxels.max() / voxels.sum():.0%} of the volume"
        )
        return (
            f"{what}. The model probably does not fit this volume (another voxel size, contrast or tissue): "
            "check the voxel size, use another model, or lower the threshold."
        )
    if len(voxels) > MOST_SEGMENTS and voxels.mean() < FEWEST_VOXELS:
        return (
            f"{len(voxels):,} segments are left, {voxels.mean():,.0f} voxels each on average: more than "
            "anybody can look at. Raise the threshold, begin with larger supervoxels (none given: they are "
            "made from the image), or use a model that was trained on such a volume."
        )
    return ""

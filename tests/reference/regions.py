"""What one connectivity region holds and who is seen from where, straight from the voxels."""

from __future__ import annotations

import numpy as np

from reference.energy import centres_of, faces, region_of


def centres_by_region(shape, spec):
    """The centres that each region owns, keyed by the region's first voxel and end."""
    regions = {}
    for centre in centres_of(shape, spec):
        regions.setdefault(region_of(centre, shape, spec), []).append(centre)
    return regions


def block_of(labels, region):
    """Cut one region out."""
    low, high = region
    return labels[tuple(slice(a, b) for a, b in zip(low, high, strict=True))]


def supervoxels_in(labels, region):
    """Supervoxels with a voxel inside, ascending."""
    return sorted(int(u) for u in np.unique(block_of(labels, region)) if u)


def actions_in(labels, region):
    """Actions with a face inside, as sorted pairs, ascending."""
    return sorted({tuple(sorted(pair)) for _, _, pair in faces(block_of(labels, region))})


def seen_by(labels, centre, spec):
    """Supervoxels that the descriptor at one centre samples."""
    ends = spec.pairs.reshape(-1, 3) + np.array(centre)
    return {int(labels[tuple(end)]) for end in ends} - {0}

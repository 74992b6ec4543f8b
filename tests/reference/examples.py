"""Training examples straight from their definition: every merge is tried at every centre."""

from __future__ import annotations

import numpy as np

from reference.energy import components_of, descriptor, faces
from reference.metrics import conditional_entropy, pair_counts
from reference.regions import block_of, centres_by_region


def variation_of_information(segmentation, truth):
    """Both conditional entropies in bits, over the voxels with a segment and a true object."""
    counts = pair_counts(segmentation, np.where(segmentation > 0, truth, 0))
    return sum(sum(conditional_entropy(counts, given).values()) for given in (0, 1))


def merge_examples(labels, truth, spec, taken):
    """Descriptor before and after, and change of the error, of every merge at every centre where it shows.

    `taken` is a set of pairs of supervoxel ids. The result is {(centre, after): (before, change)}; two merges
    never set the same bits at a centre. The change is that of the whole segments, wherever they meet.
    """
    segments = components_of(labels, taken)
    error, changes = variation_of_information(segments, truth), {}
    segment_of = dict(zip(labels.ravel().tolist(), segments.ravel().tolist(), strict=True))

    def change(pair):
        joined = tuple(sorted({segment_of[u] for u in pair}))
        if joined not in changes:
            after = np.where(segments == joined[-1], joined[0], segments)
            changes[joined] = variation_of_information(after, truth) - error
        return changes[joined]

    found = {}
    for region, centres in centres_by_region(labels.shape, spec).items():
        block = block_of(labels, region)
        now = components_of(block, taken)
        for pair in {pair for _, _, pair in faces(block)} - taken:
            then = components_of(block, taken | {pair})
            for centre in centres:
                place = np.subtract(centre, region[0])
                before, after = (descriptor(components, place, spec) for components in (now, then))
                if (before != after).any():
                    found[centre, tuple(after)] = tuple(before), change(pair)
    return found

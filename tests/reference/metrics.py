"""The metrics as their definitions read, one voxel and one pair of voxels at a time."""

from collections import Counter
from itertools import combinations, product
from math import log2


def pair_counts(segmentation, truth):
    pairs = zip(segmentation.ravel().tolist(), truth.ravel().tolist(), strict=True)
    return Counter((segment, true) for segment, true in pairs if true != 0)


def conditional_entropy(counts, given):
    """H(other | given) in bits, as {given id: what it adds}; `given` is 0 (segment) or 1 (truth)."""
    n_voxels = sum(counts.values())
    sizes = Counter()
    for pair, count in counts.items():
        sizes[pair[given]] += count
    shares = Counter()
    for pair, count in counts.items():
        shares[pair[given]] -= count / n_voxels * log2(count / sizes[pair[given]])
    return shares


def rand_f1(segmentation, truth):
    labelled = [
        (segment, true)
        for segment, true in zip(segmentation.ravel().tolist(), truth.ravel().tolist(), strict=True)
        if true != 0
    ]
    both = only_segmentation = only_truth = 0
    for (segment_1, true_1), (segment_2, true_2) in combinations(labelled, 2):
        both += segment_1 == segment_2 and true_1 == true_2
        only_segmentation += segment_1 == segment_2 and true_1 != true_2
        only_truth += segment_1 != segment_2 and true_1 == true_2
    pairs = 2 * both + only_segmentation + only_truth
    return 2 * both / pairs if pairs else 1.0


def near_boundary(truth, n):
    """Voxels with another id at most `n` face steps away."""
    voxels = list(product(*(range(size) for size in truth.shape)))
    marked = set()
    for here, there in product(voxels, voxels):
        steps = sum(abs(a - b) for a, b in zip(here, there, strict=True))
        if steps <= n and truth[here] != truth[there]:
            marked.add(here)
    return marked

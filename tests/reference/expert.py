"""Greedy on the variation of information, recomputed from the voxels before every merge."""

from __future__ import annotations

from reference.metrics import variation_of_information


def vi_after(labels, truth, u, v):
    """Variation of information in bits when label v becomes u; truth 0 is left out."""
    merged = labels.copy()
    merged[merged == v] = u
    return variation_of_information(merged, truth)

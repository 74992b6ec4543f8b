"""Combinatorial energy learning for image segmentation (CELIS), for napari and without it."""

__version__ = "0.1.0"

"""Guess whether a volume is an image or labels."""

from __future__ import annotations

import re

from napari_celis.core.volume import Volume
from napari_celis.io.blocks import Kind
from napari_celis.io.targets import split_target

LABEL_WORDS = {
    *("label", "labels", "seg", "segs", "segments", "segmentation", "supervoxels", "neuron", "neurons"),
    *("id", "ids", "body", "bodies", "truth", "gt", "groundtruth", "mask", "clefts"),
}
IMAGE_WORDS = {"raw", "image", "images", "em", "img", "grey", "gray", "grayscale", "greyscale"}


def guess_kind(volume: Volume, target: str = "") -> Kind:
    """Guess what the voxels mean.

    Floats are an image. Otherwise the last telling word counts, of the target's name first and then of the
    volume's; otherwise integers of 32 bits and more are labels, narrower ones an image.

    Parameters
    ----------
    volume : Volume
        Its name is that of its file and dataset.
    target : str
        Where it is going to be written.

    Returns
    -------
    kind : {"image", "labels"}
    """
    if volume.dtype.kind == "f":
        return "image"
    for name in (target, volume.name):
        for word in reversed(_words(name)):
            if word in LABEL_WORDS:
                return "labels"
            if word in IMAGE_WORDS:
                return "image"
    return "labels" if volume.dtype.itemsize >= 4 else "image"


def _words(name: str) -> list[str]:
    """Take the words of a file's name and of the dataset in it; the folders around it say little."""
    if not name:
        return []
    split = split_target(name)
    return re.split(r"[^a-z]+", f"{split.path.name}/{split.dataset or ''}".lower())

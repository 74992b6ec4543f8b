"""Slabs of a volume that are judged, each with the block beside it that everything is learned from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np

GAP = 5
"""Sections between what is learned from and what is judged."""
SHARE = 0.28
"""Part of the axis that is judged."""
RAW, TRUTH, SUPERVOXELS = "volumes/raw", "volumes/labels/neuron_ids", "volumes/labels/supervoxels"


@dataclass(frozen=True, eq=False)
class Block:
    """A part of the annotated volume."""

    image: np.ndarray
    truth: np.ndarray
    supervoxels: np.ndarray


@dataclass(frozen=True, eq=False)
class AnnotatedVolume:
    """Image, truth and supervoxels of one file in the CREMI layout."""

    whole: Block
    voxel_size_nm: tuple[float, float, float]

    @classmethod
    def read(cls, path: Path) -> AnnotatedVolume:
        """Read all three datasets and the voxel size."""
        with h5py.File(path) as file:
            z, y, x = (float(value) for value in file[RAW].attrs["resolution"])
            return cls(Block(file[RAW][:], file[TRUTH][:], file[SUPERVOXELS][:]), (z, y, x))

    def fold(self, name: str) -> tuple[Block, Block]:
        """Cut the volume for one fold: the block to learn from, and the slab to judge.

        Parameters
        ----------
        name : str
            Axis and end of the judged slab, such as `z-low` or `y-high`.
        """
        axis_name, end = name.split("-")
        axis = "zyx".index(axis_name)
        size = self.whole.image.shape[axis]
        judged = round(SHARE * size)
        if end == "low":
            return self._part(axis, slice(judged + GAP, None)), self._part(axis, slice(0, judged))
        return self._part(axis, slice(0, size - judged - GAP)), self._part(axis, slice(size - judged, None))

    def _part(self, axis: int, part: slice) -> Block:
        where = tuple(part if other == axis else slice(None) for other in range(3))
        whole = self.whole
        return Block(*(np.ascontiguousarray(a[where]) for a in (whole.image, whole.truth, whole.supervoxels)))


FOLDS = ("z-high", "z-low", "y-low", "y-high")

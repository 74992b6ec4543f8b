"""Labels that change colour without touching a voxel."""

from __future__ import annotations

from typing import Any

import numpy as np


class LiveLabels:
    """An array-like that looks its values up while it is read: `lut[dense[key]]`.

    Parameters
    ----------
    dense : ndarray of int32, shape (Z, Y, X)
        Index of the supervoxel of every voxel.
    lut : ndarray of uint64, shape (N + 1,)
        Value of every index; assign another one and refresh the layer to recolour it.
    """

    def __init__(self, dense: np.ndarray, lut: np.ndarray) -> None:
        self.dense = dense
        self.lut = lut

    @property
    def shape(self) -> tuple[int, ...]:
        """Size along z, y, x."""
        return self.dense.shape

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self.dense.ndim

    @property
    def size(self) -> int:
        """Number of voxels."""
        return self.dense.size

    @property
    def nbytes(self) -> int:
        """Bytes of the whole array, once it is read."""
        return self.size * self.dtype.itemsize

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values."""
        return self.lut.dtype

    def __len__(self) -> int:
        return len(self.dense)

    def __getitem__(self, key: Any) -> np.ndarray:
        values: np.ndarray = self.lut[self.dense[key]]
        return values

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        values: np.ndarray = self.lut[self.dense]
        return values if dtype is None else values.astype(dtype, copy=False)

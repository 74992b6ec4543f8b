"""Check voxel size and offset as files state them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from napari_celis.core.errors import CorruptFileError, VolumeError
from napari_celis.core.volume import Triple, as_triple


@dataclass(frozen=True)
class Geometry:
    """Where a volume lies, as far as its file says."""

    voxel_size_nm: Triple | None = None
    """None when the file does not say."""
    offset_nm: Triple | None = None
    """None when the file does not say."""

    def as_json(self) -> dict[str, list[float]]:
        """Write it as the two keys that our own files carry; JSON keeps every digit of a float."""
        keys = {"voxel_size_nm": self.voxel_size_nm, "offset_nm": self.offset_nm}
        return {key: list(value) for key, value in keys.items() if value is not None}

    @classmethod
    def from_json(cls, fields: Any, name: str) -> Geometry:
        """Read the two keys, if they are there.

        Parameters
        ----------
        fields : any
            What the file holds.
        name : str
            What messages call it.
        """
        if not isinstance(fields, dict):
            return cls()
        return cls(
            voxel_size_from(fields.get("voxel_size_nm"), name, "voxel_size_nm"),
            offset_from(fields.get("offset_nm"), name, "offset_nm"),
        )


def voxel_size_from(values: Any, name: str, source: str) -> Triple | None:
    """Check three stored edge lengths.

    Parameters
    ----------
    values : object
        What the file holds, in nanometres, z y x; None when it holds nothing.
    name : str
        The dataset, as messages call it.
    source : str
        The attribute or tag the values come from.

    Returns
    -------
    voxel_size_nm : tuple of float, or None
    """
    triple = _finite_triple(values, name, source)
    if triple is not None and min(triple) <= 0:
        raise CorruptFileError(
            f"{name} says in `{source}` that its voxels measure {format_nm(triple)} nm, which cannot be. "
            "Correct or remove that entry."
        )
    return triple


def offset_from(values: Any, name: str, source: str) -> Triple | None:
    """Check a stored position; see `voxel_size_from`.

    Parameters
    ----------
    values : any
        What the file says.
    name : str
        What messages call it.
    source : str
        Where in the file it stands.
    """
    return _finite_triple(values, name, source)


def require_geometry(voxel_size_nm: Iterable[float], offset_nm: Iterable[float], name: str) -> None:
    """Refuse to write a voxel size or an offset that no reader could use.

    Parameters
    ----------
    voxel_size_nm : sequence of float
        Voxel size along z, y, x.
    offset_nm : sequence of float
        Position of the first voxel.
    name : str
        What messages call it.
    """
    size, offset = as_triple(voxel_size_nm), as_triple(offset_nm)
    if not all(math.isfinite(value) for value in size + offset) or min(size) <= 0:
        raise VolumeError(
            f"{name} has voxel size {format_nm(size)} nm and offset {format_nm(offset)} nm, which cannot be "
            "stored. Give it a positive voxel size and a finite offset."
        )


def format_nm(triple: Iterable[float]) -> str:
    """Write three lengths the way messages show them, such as `40 × 4 × 4`."""
    return " × ".join(f"{value:g}" for value in triple)


def _finite_triple(values: Any, name: str, source: str) -> Triple | None:
    """Turn what a file holds into three finite floats."""
    if values is None:
        return None
    try:
        numbers = np.asarray(values)
        triple = as_triple(numbers.astype(np.float64).ravel()) if numbers.dtype.kind in "buif" else None
    except (TypeError, ValueError):
        triple = None
    if triple is None or not all(math.isfinite(value) for value in triple):
        raise CorruptFileError(
            f"{name} has an entry `{source}` that is not three numbers (z, y, x). Correct or remove it."
        )
    return triple

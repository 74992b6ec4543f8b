"""What a file holds, and which part of it the user means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from napari_celis.core.errors import AmbiguousDatasetError, MissingDatasetError, VolumeError
from napari_celis.core.volume import ArrayLike3D, Triple, Volume, format_shape
from napari_celis.io.geometry import Geometry

MAX_LISTED = 20
"""Messages list this many datasets, then say how many more there are."""


@dataclass(frozen=True)
class DatasetInfo:
    """One array in a file, without its voxels."""

    name: str
    """What follows the colon in `path:dataset`; empty when the path alone is enough."""
    shape: tuple[int, ...]
    dtype: str
    voxel_size_nm: Triple | None = None
    """None when the file does not say."""
    offset_nm: Triple | None = None
    """None when the file does not say."""
    n_levels: int = 1
    """Number of resolutions, for pyramids."""

    @property
    def is_volume(self) -> bool:
        """Tell whether it has three axes."""
        return len(self.shape) == 3


def choose_dataset(path: Path, dataset: str | None, found: Sequence[DatasetInfo]) -> DatasetInfo:
    """Find the dataset the user means.

    Parameters
    ----------
    path : Path
        The file, for messages.
    dataset : str or None
        What the user wrote after the colon.
    found : sequence of DatasetInfo
        Everything in the file.

    Returns
    -------
    chosen : DatasetInfo
        The one named; without a name, the only volume there is.

    Raises
    ------
    MissingDatasetError
        If there is no dataset of that name; the message lists those that exist.
    AmbiguousDatasetError
        If no name was given and there are several volumes.
    """
    if not found:
        raise MissingDatasetError(f"{path} holds no dataset. Check that the export finished.")
    if dataset is not None:
        wanted = dataset.strip("/")
        for info in found:
            if info.name == wanted:
                return info
        raise MissingDatasetError(
            f"{path} has no dataset `{wanted}`. It holds: {_listing(found)}. "
            f"Name one of them, as in {path.name}:{found[0].name}."
        )
    volumes = [info for info in found if info.is_volume]
    if len(volumes) > 1:
        raise AmbiguousDatasetError(
            f"{path} holds several volumes: {_listing(volumes)}. "
            f"Name one of them, as in {path.name}:{volumes[0].name}."
        )
    return (volumes or list(found))[0]


def require_dataset_unnamed(path: Path, dataset: str | None) -> None:
    """Refuse a dataset name where the format holds one volume only.

    Parameters
    ----------
    path : Path
        The file or folder.
    dataset : str or None
        Which of its volumes; None where it holds only one.
    """
    if dataset is not None:
        raise MissingDatasetError(
            f"{path} holds one volume without a name, so `:{dataset}` points nowhere. Leave it out."
        )


def require_level(path: Path, level: int | None, n_levels: int) -> int:
    """Return the resolution level to read, 0 unless the user asks for another.

    Parameters
    ----------
    path : Path
        The file or folder.
    level : int or None
        Resolution of a pyramid; None is the finest.
    n_levels : int
        How many there are.
    """
    if level is None:
        return 0
    if not 0 <= level < n_levels:
        raise VolumeError(
            f"{path} has no level {level}: it has {n_levels} "
            f"({'only 0' if n_levels == 1 else f'0 to {n_levels - 1}'}). Choose one of these."
        )
    return level


def display_name(path: Path, dataset: str | None = None) -> str:
    """Name a volume the way the user would write it.

    Parameters
    ----------
    path : Path
        The file or folder.
    dataset : str, optional
        Which of its volumes; None where it holds only one.
    """
    return f"{path}:{dataset}" if dataset else str(path)


def make_volume(data: ArrayLike3D, geometry: Geometry, name: str) -> Volume:
    """Build a volume; where the file says nothing, voxels measure 1 nm and lie at the origin.

    Parameters
    ----------
    data : ArrayLike3D
        The voxels.
    geometry : Geometry
        Voxel size and offset, as far as the file says.
    name : str
        What messages call it.
    """
    return Volume(
        data, geometry.voxel_size_nm or (1.0, 1.0, 1.0), geometry.offset_nm or (0.0, 0.0, 0.0), name=name
    )


def _listing(found: Sequence[DatasetInfo]) -> str:
    """Write datasets as one line."""
    shown = ", ".join(
        f"{info.name or '(the root)'} ({format_shape(info.shape)} {info.dtype})"
        for info in found[:MAX_LISTED]
    )
    more = len(found) - MAX_LISTED
    return f"{shown} and {more} more" if more > 0 else shown

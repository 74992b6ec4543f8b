"""OME-Zarr metadata: the levels of a pyramid, their axes, scales and translations.

Read by hand: ome-zarr-models refuses files of versions 0.1 to 0.3, and of 0.4 those whose axes have no type
or whose translation stands before the scale. All of them are in use and say clearly what they mean, so a
tolerant layer around the library would read everything itself. What we write is checked with it in the tests.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from napari_celis.core.errors import CorruptFileError, VolumeError
from napari_celis.core.volume import Triple, as_triple
from napari_celis.io.geometry import Geometry, offset_from, voxel_size_from
from napari_celis.io.units import nm_per_unit

AXES = ("z", "y", "x")


@dataclass(frozen=True)
class Level:
    """One resolution."""

    path: str
    """Relative to the group."""
    geometry: Geometry


@dataclass(frozen=True)
class Multiscale:
    """A pyramid."""

    axes: tuple[str, ...] | None
    """Names in the stored order; None for versions that do not tell."""
    levels: tuple[Level, ...]

    @property
    def level_folders(self) -> set[str]:
        """Folders inside the group that belong to the pyramid."""
        return {PurePosixPath(level.path).parts[0] for level in self.levels}


def parse_multiscale(attributes: dict[str, Any], name: str) -> Multiscale | None:
    """Read the first pyramid of a group.

    Parameters
    ----------
    attributes : dict
        The group's attributes: `ome.multiscales` since version 0.5, `multiscales` before.
    name : str
        What messages call the group.

    Returns
    -------
    multiscale : Multiscale or None
        None when the group is no pyramid.
    """
    ome = attributes.get("ome", attributes)
    found = ome.get("multiscales") if isinstance(ome, dict) else None
    if not found:
        return None
    try:
        return _parse(found[0], name)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise CorruptFileError(
            f"{name} has OME-Zarr metadata that cannot be understood ({type(error).__name__}: {error}). "
            "Write it again, or open one of its arrays by name."
        ) from error


def spatial_axes(axes: tuple[str, ...] | None, shape: tuple[int, ...], name: str) -> tuple[int, ...]:
    """Find z, y and x among the axes of a level.

    Parameters
    ----------
    axes : tuple of str or None
        Names in the stored order; without names, the last three are z, y, x.
    shape : tuple of int
        Of the stored array.
    name : str
        What messages call it.

    Returns
    -------
    positions : tuple of int
        Of z, y and x; fewer than three when the array is flat.

    Raises
    ------
    VolumeError
        If another axis, such as the channel, holds more than one entry.
    """
    if axes is None:
        axes = (
            ("t", "c", *AXES)[-len(shape) :] if len(shape) <= 5 else tuple(str(i) for i in range(len(shape)))
        )
    if len(axes) != len(shape):
        raise CorruptFileError(
            f"{name} has {len(shape)} axes but its OME-Zarr metadata names {len(axes)}. Write it again."
        )
    for axis, size in zip(axes, shape, strict=True):
        if axis not in AXES and size != 1:
            what = {"c": "channels", "t": "time points"}.get(axis, f"entries along `{axis}`")
            raise VolumeError(
                f"{name} holds {size} {what}, but a volume has one. Save the one you need as its own volume."
            )
    return tuple(axes.index(axis) for axis in AXES if axis in axes)


def multiscale_attributes(
    levels: list[tuple[str, Triple, Triple]], *, name: str, is_labels: bool
) -> dict[str, Any]:
    """Write version 0.5 metadata for a z, y, x pyramid in nanometres.

    Parameters
    ----------
    levels : list of (path, voxel size, position of the first voxel)
        From fine to coarse.
    name : str
        Name of the image.
    is_labels : bool
        Labels shrink by majority and say that they are labels.

    Returns
    -------
    attributes : dict
    """
    datasets = [
        {
            "path": path,
            "coordinateTransformations": [
                {"type": "scale", "scale": list(size)},
                {"type": "translation", "translation": list(offset)},
            ],
        }
        for path, size, offset in levels
    ]
    multiscale = {
        "name": name,
        "axes": [{"name": axis, "type": "space", "unit": "nanometer"} for axis in AXES],
        "datasets": datasets,
        "type": "mode" if is_labels else "mean",
    }
    ome: dict[str, Any] = {"version": "0.5", "multiscales": [multiscale]}
    if is_labels:
        ome["image-label"] = {"version": "0.5"}
    return {"ome": ome}


def _parse(multiscale: dict[str, Any], name: str) -> Multiscale:
    """Read one pyramid; whatever is missing or of the wrong type raises."""
    entries = multiscale.get("axes")
    axes = None if entries is None else tuple(_axis_name(entry) for entry in entries)
    units = [] if entries is None else [_axis_unit(entry) for entry in entries]
    outer = multiscale.get("coordinateTransformations")
    levels = []
    for dataset in multiscale["datasets"]:
        path = str(dataset["path"])
        if PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts or path in ("", "."):
            raise ValueError(f"the path {path!r} leaves the group")
        geometry = _geometry(axes, units, dataset.get("coordinateTransformations"), outer, f"{name}/{path}")
        levels.append(Level(path, geometry))
    if not levels:
        raise ValueError("there are no datasets")
    return Multiscale(axes, tuple(levels))


def _axis_name(entry: Any) -> str:
    """Name an axis: an object since version 0.4, a letter before."""
    return str(entry["name"] if isinstance(entry, dict) else entry).lower()


def _axis_unit(entry: Any) -> float:
    """Length of an axis's unit in nm; numbers without a known unit are taken as nanometres."""
    unit = nm_per_unit(entry.get("unit")) if isinstance(entry, dict) else None
    return 1.0 if unit is None else unit


def _geometry(
    axes: tuple[str, ...] | None, units: list[float], inner: Any, outer: Any, name: str
) -> Geometry:
    """Combine the transformations of a level with those of the whole pyramid."""
    if axes is None or inner is None or not all(axis in axes for axis in AXES):
        return Geometry()
    scale, translation = _scale_and_translation(inner, len(axes))
    if outer:
        outer_scale, outer_translation = _scale_and_translation(outer, len(axes))
        scale = [a * b for a, b in zip(outer_scale, scale, strict=True)]
        translation = [a * b + c for a, b, c in zip(outer_scale, translation, outer_translation, strict=True)]
    where = [axes.index(axis) for axis in AXES]
    return Geometry(
        voxel_size_from(as_triple(scale[i] * units[i] for i in where), name, "scale"),
        offset_from(as_triple(translation[i] * units[i] for i in where), name, "translation"),
    )


def _scale_and_translation(transformations: Any, n_axes: int) -> tuple[list[float], list[float]]:
    """Read a list of transformations; a missing one changes nothing."""
    scale, translation = [1.0] * n_axes, [0.0] * n_axes
    for transformation in transformations:
        if transformation["type"] == "scale":
            scale = [float(value) for value in transformation["scale"]]
        elif transformation["type"] == "translation":
            translation = [float(value) for value in transformation["translation"]]
        elif transformation["type"] != "identity":
            raise ValueError(f"the transformation {transformation['type']!r} is unknown")
    if len(scale) != n_axes or len(translation) != n_axes:
        raise ValueError(f"a transformation does not have {n_axes} entries")
    return scale, translation

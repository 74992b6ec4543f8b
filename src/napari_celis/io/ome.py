"""OME-Zarr metadata, versions 0.1 to 0.6: the levels of a pyramid, their axes, scales and translations.

Read by hand: ome-zarr-models knows neither versions 0.1 to 0.3 nor the coordinate systems of 0.6, and refuses
files of 0.4 whose axes have no type or whose translation stands before the scale. All of them are in use and
say clearly what they mean, so a tolerant layer around the library would read everything itself. What we write
is checked with it in the tests.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from napari_celis.core.errors import CorruptFileError, VolumeError
from napari_celis.core.volume import as_triple
from napari_celis.io.geometry import Geometry, offset_from, voxel_size_from
from napari_celis.io.units import nm_per_unit

AXES = ("z", "y", "x")
KNOWN_VERSIONS = re.compile(r"0\.[1-6](?!\d).*")
"""Also drafts and corrections of them, such as `0.6rc0` and `0.5.2`."""


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
    version: str | None = None
    """Of the metadata; None where they do not tell."""

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
        version = ome.get("version", found[0].get("version"))
        _require_known(version, name)
        return _parse(found[0], version, name)
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


def _require_known(version: Any, name: str) -> None:
    """Refuse versions that may say where voxels lie in a way that we would overlook."""
    if version is not None and KNOWN_VERSIONS.fullmatch(str(version)) is None:
        raise VolumeError(
            f"{name} is OME-Zarr of version {version}, but versions 0.1 to 0.6 can be read. Write it as one "
            "of these, or open one of its arrays by name."
        )


def _parse(multiscale: dict[str, Any], version: Any, name: str) -> Multiscale:
    """Read one pyramid; whatever is missing or of the wrong type raises."""
    datasets = multiscale["datasets"]
    if not datasets:
        raise ValueError("there are no datasets")
    space = _space_of(multiscale, datasets[0])
    levels = []
    for dataset in datasets:
        path = str(dataset["path"])
        if PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts or path in ("", "."):
            raise ValueError(f"the path {path!r} leaves the group")
        geometry = _geometry(space, dataset.get("coordinateTransformations"), f"{name}/{path}")
        levels.append(Level(path, geometry))
    return Multiscale(space.axes, tuple(levels), None if version is None else str(version))


@dataclass(frozen=True)
class _Space:
    """The axes that levels are placed in, and what is done to all levels on the way there."""

    axes: tuple[str, ...] | None
    units: tuple[float | None, ...] = ()
    """Nanometres per unit; None for one that is no length."""
    outer: Any = None
    """Transformations behind those of a level."""

    @classmethod
    def from_entries(cls, entries: Any, outer: Any = None) -> _Space:
        """Read a list of axes: objects since version 0.4, letters before."""
        names = tuple(str(entry["name"] if isinstance(entry, dict) else entry).lower() for entry in entries)
        units = (nm_per_unit(entry.get("unit")) if isinstance(entry, dict) else None for entry in entries)
        return cls(names, tuple(units), outer)

    @property
    def is_measured(self) -> bool:
        """Whether z, y and x are all there, and have lengths."""
        lengths = dict(zip(self.axes or (), self.units, strict=True))
        return all(lengths.get(axis) is not None for axis in AXES)


def _space_of(multiscale: dict[str, Any], dataset: dict[str, Any]) -> _Space:
    """Find the axes: beside the levels up to version 0.5, in coordinate systems since 0.6."""
    outer = multiscale.get("coordinateTransformations")
    if "coordinateSystems" not in multiscale:
        entries = multiscale.get("axes")
        return _Space(None) if entries is None else _Space.from_entries(entries, outer)
    systems = {str(system["name"]): system["axes"] for system in multiscale["coordinateSystems"]}
    intrinsic = _system_name(dataset["coordinateTransformations"][0]["output"])
    space = _Space.from_entries(systems[intrinsic])
    # The standard asks to use the system that levels are in; one in voxels leads on to one with lengths.
    for transformation in () if space.is_measured else outer or ():
        target = systems.get(_system_name(transformation["output"]))
        if target is not None and _system_name(transformation["input"]) == intrinsic:
            further = _Space.from_entries(target, [transformation])
            if further.is_measured:
                return further
    return space


def _system_name(reference: Any) -> str:
    """Read the name of a coordinate system: an object, or text in drafts of version 0.6."""
    return str(reference["name"] if isinstance(reference, dict) else reference)


def _geometry(space: _Space, inner: Any, name: str) -> Geometry:
    """Combine the transformations of a level with those of the whole pyramid."""
    axes = space.axes
    if axes is None or inner is None or not all(axis in axes for axis in AXES):
        return Geometry()
    scale, translation = _scale_and_translation(inner, len(axes))
    if space.outer:
        scale, translation = _chained((scale, translation), _scale_and_translation(space.outer, len(axes)))
    where = [axes.index(axis) for axis in AXES]
    # Numbers without a known unit are taken as nanometres.
    units = [1.0 if unit is None else unit for unit in space.units]
    return Geometry(
        voxel_size_from(as_triple(scale[i] * units[i] for i in where), name, "scale"),
        offset_from(as_triple(translation[i] * units[i] for i in where), name, "translation"),
    )


_Affine = tuple[list[float], list[float]]
"""Scale and translation of every axis, the scale being done first."""


def _chained(first: _Affine, second: _Affine) -> _Affine:
    """Do one after the other."""
    scale = [a * b for a, b in zip(second[0], first[0], strict=True)]
    return scale, [a * b + c for a, b, c in zip(second[0], first[1], second[1], strict=True)]


def _scale_and_translation(transformations: Any, n_axes: int) -> _Affine:
    """Read a list of transformations; a missing one changes nothing.

    In a list the scale counts first, wherever it stands: writers of version 0.4 differed. A sequence is done
    in its order.
    """
    scale, translation = [1.0] * n_axes, [0.0] * n_axes
    for transformation in transformations:
        kind = transformation["type"]
        if kind == "scale":
            scale = [float(value) for value in transformation["scale"]]
        elif kind == "translation":
            translation = [float(value) for value in transformation["translation"]]
        elif kind == "sequence":
            for part in transformation["transformations"]:
                scale, translation = _chained((scale, translation), _scale_and_translation([part], n_axes))
        elif kind != "identity":
            raise ValueError(f"the transformation {kind!r} is unknown")
    if len(scale) != n_axes or len(translation) != n_axes:
        raise ValueError(f"a transformation does not have {n_axes} entries")
    return scale, translation

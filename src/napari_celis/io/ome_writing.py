"""OME-Zarr metadata as we write them: pyramids, and what is said about labels."""

from __future__ import annotations

import colorsys
from collections.abc import Mapping
from typing import Any, Literal

from napari_celis.core.volume import Triple
from napari_celis.io.ome import AXES

Version = Literal["0.5", "0.6"]
Value = str | int | float | bool
Properties = Mapping[int, Mapping[str, Value]]
"""What is known about segments: by id, by the name of a property."""

SYSTEM = "physical"
"""Name of the coordinate system that levels of version 0.6 lie in."""
MAX_LISTED = 10_000
"""Labels are listed one by one up to this many; beyond it, only those that somebody said something about."""
GOLDEN = 0.6180339887498949
"""Steps of this share around the circle of colours never come close to an earlier one."""


def multiscale_attributes(
    levels: list[tuple[str, Triple, Triple]],
    *,
    name: str,
    is_labels: bool,
    version: Version = "0.5",
    image_label: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Describe a z, y, x pyramid in nanometres.

    Parameters
    ----------
    levels : list of (path, voxel size, position of the first voxel)
        From fine to coarse.
    name : str
        Name of the image.
    is_labels : bool
        Labels shrink by majority and say that they are labels.
    version : {"0.5", "0.6"}
        Of the metadata; one hierarchy has one version.
    image_label : dict, optional
        What `image_label` says about labels.

    Returns
    -------
    attributes : dict
    """
    axes = [{"name": axis, "type": "space", "unit": "nanometer"} for axis in AXES]
    multiscale: dict[str, Any] = {"name": name}
    multiscale |= (
        {"axes": axes} if version == "0.5" else {"coordinateSystems": [{"name": SYSTEM, "axes": axes}]}
    )
    multiscale["datasets"] = [
        {"path": path, "coordinateTransformations": _transformations(path, size, offset, version)}
        for path, size, offset in levels
    ]
    multiscale["type"] = "mode" if is_labels else "mean"
    ome: dict[str, Any] = {"version": version, "multiscales": [multiscale]}
    if is_labels:
        # Version 0.6 says its version once, above.
        ome["image-label"] = {**({"version": version} if version == "0.5" else {}), **(image_label or {})}
    return {"ome": ome}


def image_label(
    sizes: Mapping[int, int] | None, properties: Properties | None, source: str | None
) -> dict[str, Any]:
    """Describe labels: a colour and what is known about each, and the image that they belong to.

    Parameters
    ----------
    sizes : mapping of int to int, or None
        Voxels of every label; None if they are too many to list.
    properties : mapping, optional
        What is known about segments.
    source : str or None
        The image, seen from the labels.

    Returns
    -------
    section : dict
        Colours and properties are about the same labels, as the standard's checker asks.
    """
    known = properties or {}
    listed = sorted({*(sizes or ()), *known})
    section: dict[str, Any] = {}
    if listed:
        section["colors"] = [{"label-value": label, "rgba": [*label_colour(label), 255]} for label in listed]
        section["properties"] = [
            {
                **({"voxels": sizes[label]} if sizes and label in sizes else {}),
                **known.get(label, {}),
                "label-value": label,
            }
            for label in listed
        ]
    if source is not None:
        section["source"] = {"image": source}
    return section


def label_colour(label: int) -> tuple[int, int, int]:
    """Choose a colour for a label: always the same, and far from that of its neighbours in number."""
    hue = label % 2**32 * GOLDEN % 1.0
    bright = 1.0 - 0.25 * (label % 3) / 2
    red, green, blue = colorsys.hsv_to_rgb(hue, 0.75, bright)
    return round(255 * red), round(255 * green), round(255 * blue)


def _transformations(path: str, size: Triple, offset: Triple, version: Version) -> list[dict[str, Any]]:
    """Say where a level lies."""
    steps = [{"type": "scale", "scale": list(size)}, {"type": "translation", "translation": list(offset)}]
    if version == "0.5":
        return steps
    ends = {"input": {"path": path}, "output": {"name": SYSTEM}}
    return [{"type": "sequence", "transformations": steps, **ends}]

"""Volumes as napari layers, and back; nothing else turns one into the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pint
from napari.components import LayerList
from napari.layers import Labels, Layer

from napari_celis.core.errors import CelisError, VolumeError
from napari_celis.core.volume import Volume, as_labels, as_triple
from napari_celis.gui.layers.live_labels import LiveLabels
from napari_celis.io.affinities import AffinityVolume
from napari_celis.io.blocks import Kind
from napari_celis.io.targets import split_target

LayerData = tuple[Any, dict[str, Any], str]

AXES = ("z", "y", "x")

KINDS: dict[str, Kind] = {"image": "image", "truth": "labels", "supervoxels": "labels"}
"""Layers by role, from the lowest to the highest."""

# The truth waits to be switched on: two sets of colours at once cannot be told apart.
LOOKS: dict[str, dict[str, Any]] = {
    "image": {"interpolation2d": "linear"},
    "truth": {"opacity": 0.3, "visible": False},
    "supervoxels": {"opacity": 0.3},
}


def volume_to_layer(volume: Volume, kind: Kind, coarser: Sequence[Volume] = ()) -> LayerData:
    """Describe `volume` the way napari wants it: data, settings, type of layer.

    Parameters
    ----------
    volume : Volume
        Stays lazy: napari reads the slices it shows.
    kind : {"image", "labels"}
        Type of the layer.
    coarser : sequence of Volume, optional
        The further levels of a pyramid, from fine to coarse.

    Returns
    -------
    layer : tuple of (data, dict, str)
        For `Layer.create`, or to return from a reader.
    """
    settings: dict[str, Any] = {
        "name": volume.name,
        "scale": volume.voxel_size_nm,
        "translate": volume.offset_nm,
        "units": ("nm", "nm", "nm"),
        "axis_labels": AXES,
        "metadata": {
            "celis": {
                "voxel_size_nm": volume.voxel_size_nm,
                "offset_nm": volume.offset_nm,
                "kind": kind,
                "source": volume.name,
            }
        },
        "multiscale": bool(coarser),
    }
    levels = [_shown(level, kind) for level in (volume, *coarser)]
    return levels if coarser else levels[0], settings, kind


def _shown(volume: Volume, kind: Kind) -> Any:
    """Return the voxels in a type that the layer takes: a labels layer cannot show a lazy mask."""
    if kind == "labels" and volume.dtype.kind == "b":
        return as_labels(volume.read(), volume.name)
    return volume.data


def called(role: str, name: str) -> str:
    """Name a layer in a sentence: by what it is used as, if that is known, and as in the list of layers.

    Parameters
    ----------
    role : str
        What it is used as, or "".
    name : str
        As in the list of layers.
    """
    return f"{role} layer “{name}”".strip()


def layer_to_volume(data: Any, settings: Mapping[str, Any], role: str = "") -> Volume:
    """Read voxel size, offset and name off a layer.

    Parameters
    ----------
    data : array-like, or list of them
        The voxels; of a pyramid the finest level counts.
    settings : mapping
        As in a layer-data tuple. Lengths without a unit count as nanometres.
    role : str
        What the layer is used as, for sentences about what is wrong with it.
    """
    name = str(settings.get("name", "layer"))
    what = called(role, name)
    if settings.get("rgb"):
        raise VolumeError(
            f"The {what} is a colour image, but a volume has one grey value per voxel. "
            "Convert it to grey, or split it into channels, first."
        )
    finest = data[0] if settings.get("multiscale") else data
    if len(finest.shape) != 3:
        raise VolumeError(
            f"The {what} has {len(finest.shape)} axes but a volume has three (z, y, x). "
            "Take one channel or time point, or stack the sections first."
        )
    _require_upright(what, settings)
    nm = _nanometres(what, settings.get("units"))
    return Volume(
        data=finest,
        voxel_size_nm=as_triple(nm * settings.get("scale", (1, 1, 1))),
        offset_nm=as_triple(nm * settings.get("translate", (0, 0, 0))),
        name=name,
    )


def layer_to_affinities(data: Any, settings: Mapping[str, Any]) -> AffinityVolume:
    """Read channels, voxel size and offset off a layer with four axes.

    Parameters
    ----------
    data : array-like, or list of them
        Channels first; of a pyramid the finest level counts.
    settings : mapping
        As in a layer-data tuple. The entry `offsets` of the metadata, or `neighborhood`, tells what each
        channel is about.
    """
    name, metadata = str(settings.get("name", "layer")), settings.get("metadata", {})
    finest = data[0] if settings.get("multiscale") else data
    nm = _nanometres(called("affinities", name), (settings.get("units") or ("nm",) * 3)[-3:])
    size = as_triple(nm * settings.get("scale", (1, 1, 1))[-3:])
    offset = as_triple(nm * settings.get("translate", (0, 0, 0))[-3:])
    is_placed = (size, offset) != (as_triple((1, 1, 1)), as_triple((0, 0, 0)))
    return AffinityVolume(
        finest,
        metadata.get("offsets", metadata.get("neighborhood")),
        size if is_placed else None,
        offset if is_placed else None,
        name,
    )


def _require_upright(what: str, settings: Mapping[str, Any]) -> None:
    """Refuse a layer that was turned or sheared: no file format of ours can say so."""
    expected = {"rotate": np.eye(3), "shear": np.zeros(3), "affine": np.eye(4)}
    for key, identity in expected.items():
        if settings.get(key) is not None and not np.allclose(settings[key], identity):
            raise VolumeError(
                f"The {what} has its own {key}, but a volume has only a voxel size and an offset. "
                "Resample it, or reset its transform, first."
            )


def _nanometres(what: str, units: Sequence[Any] | None) -> np.ndarray:
    """Return the length of one unit of each axis."""
    return np.array([_in_nanometres(what, unit) for unit in units or ("nm",) * 3])


def _in_nanometres(what: str, unit: Any) -> float:
    try:
        return _length_nm(unit)
    except pint.DimensionalityError as error:
        raise VolumeError(
            f"The {what} is measured in {pint.Unit(unit):~}, which is no length. "
            "Set its units to nm or µm first."
        ) from error


@cache
def _length_nm(unit: Any) -> float:
    """Convert a unit; remembered, for pint takes milliseconds and every change of a layer asks."""
    registry = pint.get_application_registry()
    quantity = registry.Quantity(1, unit)
    if quantity.units == registry.pixel:
        return 1.0
    # Rounded because pint makes 999.9999999999999 nm of a micrometre.
    return float(f"{quantity.to('nm').magnitude:.12g}")


def labels_layer_like(labels: np.ndarray, like: Layer, name: str) -> Labels:
    """Make a labels layer that lies exactly over another layer.

    Parameters
    ----------
    labels : ndarray of integers, shape (Z, Y, X)
        Its voxels.
    like : Layer
        Where it lies.
    name : str
        Its name in the list of layers.
    """
    return Labels(labels, name=name, opacity=0.3, **placement_of(like))


def labels_layer_at(volume: Volume) -> Labels:
    """Make a labels layer where the volume says."""
    data, settings, _ = volume_to_layer(volume, "labels")
    return Labels(data, opacity=0.3, **settings)


def segmentation_layer(live: LiveLabels, placement: Mapping[str, Any]) -> Labels:
    """Make the layer that shows a run as it goes; it cannot be painted on.

    Parameters
    ----------
    live : LiveLabels
        Change its `lut` and refresh the layer to recolour it.
    placement : mapping
        Scale, position and units, from `placement_of` a layer of the same shape.
    """
    layer = Labels(live, name="segmentation", opacity=0.4, **placement)
    layer.metadata["celis"] = {"kind": "labels", "is_live": True}
    layer.editable = False
    return layer


def redraw(layer: Layer, layers: LayerList) -> None:
    """Draw a layer again whose values changed, and nothing but it.

    The list of layers would paint its row again, and with it the whole window a second time.

    Parameters
    ----------
    layer : Layer
        What has changed.
    layers : LayerList
        The list that it is in.
    """
    with layers.events.blocker_all():
        layer.refresh(extent=False, thumbnail=False, highlight=False)


def placement_of(layer: Layer) -> dict[str, Any]:
    """Collect scale, position and units of a layer, the way layer-data tuples do."""
    return {
        "scale": layer.scale,
        "translate": layer.translate,
        "rotate": layer.rotate,
        "shear": layer.shear,
        "affine": layer.affine.affine_matrix,
        "units": layer.units,
        "axis_labels": layer.axis_labels,
    }


def is_live(layer: Layer) -> bool:
    """Tell whether a layer is one of ours that shows a run."""
    return bool(layer.metadata.get("celis", {}).get("is_live", False))


def source_of(layer: Layer | None, placeholder: str) -> str:
    """Tell the path[:dataset] that a layer was opened from, or a placeholder.

    Parameters
    ----------
    layer : Layer, optional
        Where it came from is told.
    placeholder : str
        Returned where that is not known.
    """
    if layer is None:
        return placeholder
    source = layer.metadata.get("celis", {}).get("source", "")
    try:
        is_stored = bool(source) and Path(split_target(source).path).exists()
    except CelisError:
        is_stored = False
    return source if is_stored else str(layer.source.path or placeholder)

"""Layers as volumes that another process can open: the file they came from, or a copy of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from napari.layers import Layer

from napari_celis.core.volume import Volume
from napari_celis.gui.layers.volume_layers import layer_to_volume, source_of
from napari_celis.io.blocks import Kind
from napari_celis.io.lazy import LazyArray
from napari_celis.io.volumes import write_volume
from napari_celis.pipeline.stages import Report


@dataclass(frozen=True, eq=False)
class VolumeFile:
    """A volume with a name that other processes can open."""

    target: str
    """`path[:dataset]`."""
    volume: Volume
    kind: Kind
    is_written: bool
    """Whether it lies there already."""


def volume_of(layer: Layer) -> Volume:
    """Describe a layer as a volume; no voxel is read."""
    data, settings, _ = layer.as_layer_data_tuple()
    return layer_to_volume(data, settings)


def file_of(layer: Layer, role: str, folder: Path) -> VolumeFile:
    """Find the file that holds what a layer shows, or name a copy of it in `folder`.

    Parameters
    ----------
    layer : Layer
        What to hand over.
    role : str
        "image", or one of the kinds of labels; gives a copy its name.
    folder : Path
        Where copies go.
    """
    volume = volume_of(layer)
    kind: Kind = "image" if role == "image" else "labels"
    source = source_of(layer, "")
    if source and _is_unchanged(layer, volume):
        return VolumeFile(source, volume, kind, is_written=True)
    return VolumeFile(str(folder / f"{role}.npy"), volume, kind, is_written=False)


def write_missing(files: Mapping[str, VolumeFile], report: Report) -> dict[str, str]:
    """Write the copies that are missing, and return all names by role.

    Parameters
    ----------
    files : mapping of str to VolumeFile
        By role.
    report : callable
        Told the stage and the finished share.
    """
    missing = [(role, file) for role, file in files.items() if not file.is_written]
    for index, (role, file) in enumerate(missing):

        def show(done: int, total: int, role: str = role, index: int = index) -> None:
            report(f"writing {role}", (index + done / total) / len(missing))

        show(0, 1)
        write_volume(file.volume, file.target, kind=file.kind, progress=show)
    return {role: file.target for role, file in files.items()}


def _is_unchanged(layer: Layer, volume: Volume) -> bool:
    """Tell whether a layer still shows its file: voxels that cannot be painted on, at their old size."""
    stored = layer.metadata.get("celis", {}).get("voxel_size_nm")
    return (
        isinstance(volume.data, LazyArray)
        and stored is not None
        and np.allclose(stored, volume.voxel_size_nm)
    )

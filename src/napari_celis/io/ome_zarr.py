"""Write OME-Zarr 0.5: Zarr version 3, a pyramid, no shards, everything in nanometres.

Labels inside the group of an image are of the image's version.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import zarr
from zarr.codecs import BloscCodec

from napari_celis.core.errors import VolumeError
from napari_celis.core.volume import Triple, Volume
from napari_celis.io.atomic import atomic_file, atomic_folder
from napari_celis.io.blocks import Kind, Progress, iterate_boxes, read_blocks, stored_type
from napari_celis.io.confinement import require_inside
from napari_celis.io.label_sizes import LabelSizes
from napari_celis.io.lazy import Box
from napari_celis.io.ome import AXES, parse_multiscale
from napari_celis.io.ome_labels import HostImage, add_to_list, host_image
from napari_celis.io.ome_writing import MAX_LISTED, Properties, image_label, multiscale_attributes
from napari_celis.io.pyramid import (
    Factors,
    choose_factors,
    coarser_geometry,
    coarser_shape,
    shrink_image,
    shrink_labels,
)
from napari_celis.io.zarr_nodes import METADATA_FILES, read_json, read_node

CHUNK = 64
"""Edge of a chunk in voxels. No shards: writing parts of one from several processes loses voxels."""


def write_volume(
    volume: Volume,
    path: Path,
    dataset: str | None,
    kind: Kind,
    progress: Progress | None,
    properties: Properties | None = None,
) -> None:
    """Write a pyramid at `path`, or as a group inside it; inside an image, as its labels."""
    if dataset is None:
        with atomic_folder(path, may_replace=is_one_volume, kind="a single Zarr volume") as temporary:
            _Pyramid(temporary, path.name, kind, properties).write(volume, progress)
    elif not path.exists():
        with atomic_folder(path, may_replace=is_one_volume, kind="a single Zarr volume") as temporary:
            _make_groups(temporary, dataset)
            _Pyramid(temporary / dataset, dataset, kind, properties).write(volume, progress)
    else:
        require_inside(path / dataset, path)
        _require_group(path)
        image = host_image(path, dataset, kind)
        _make_groups(path, dataset)
        with atomic_folder(
            path / dataset, may_replace=is_one_volume, kind="a single Zarr volume"
        ) as temporary:
            _Pyramid(temporary, dataset, kind, properties, image).write(volume, progress)
        if image is not None:
            add_to_list(image)


def is_one_volume(folder: Path) -> bool:
    """Tell whether a folder is one array or one pyramid, with nothing else in it that could get lost."""
    node = read_node(folder)
    if node is None or node.is_array:
        return node is not None
    multiscale = parse_multiscale(node.attributes, str(folder))
    if multiscale is None:
        return False
    return {entry.name for entry in folder.iterdir()} <= multiscale.level_folders.union(METADATA_FILES)


@dataclass(frozen=True)
class _Pyramid:
    """A pyramid that is to be written."""

    folder: Path
    name: str
    kind: Kind
    properties: Properties | None = None
    image: HostImage | None = None
    """What it holds the labels of."""

    def write(self, volume: Volume, progress: Progress | None) -> None:
        """Write every level, each from the one before, then the metadata."""
        sizes = LabelSizes(MAX_LISTED)
        array = _create_array(self.folder / "0", volume.shape, stored_type(volume, self.kind))
        for box, voxels in read_blocks(volume, self.kind, array.chunks, progress):
            array[box] = voxels
            if self.kind == "labels":
                sizes.add(voxels)
        levels: list[tuple[str, Triple, Triple]] = [("0", volume.voxel_size_nm, volume.offset_nm)]
        while (factors := choose_factors(array.shape, levels[-1][1])) is not None:
            coarser = _create_array(
                self.folder / str(len(levels)), coarser_shape(array.shape, factors), np.dtype(array.dtype)
            )
            _shrink(array, coarser, factors, self.kind)
            levels.append((str(len(levels)), *coarser_geometry(levels[-1][1], levels[-1][2], factors)))
            array = coarser
        attributes = self._attributes(levels, sizes)
        zarr.create_group(str(self.folder), zarr_format=3, attributes=attributes, overwrite=False)

    def _attributes(self, levels: list[tuple[str, Triple, Triple]], sizes: LabelSizes) -> dict[str, Any]:
        """Say where the levels lie, and what is known of labels."""
        is_labels = self.kind == "labels"
        source = self.image.source if self.image else None
        section = image_label(sizes.counts, self.properties, source) if is_labels else None
        version = self.image.version if self.image else "0.5"
        return multiscale_attributes(
            levels, name=self.name, is_labels=is_labels, version=version, image_label=section
        )


def _create_array(folder: Path, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """Create one level."""
    return zarr.create_array(
        str(folder),
        shape=shape,
        dtype=dtype,
        chunks=tuple(min(CHUNK, size) for size in shape),
        compressors=BloscCodec(cname="zstd", clevel=3, shuffle="shuffle"),
        fill_value=0,
        zarr_format=3,
        dimension_names=AXES,
    )


def _shrink(fine: Any, coarse: Any, factors: Factors, kind: Kind) -> None:
    """Fill a coarse level from a fine one, block by block."""
    shrink = shrink_labels if kind == "labels" else shrink_image
    n_bytes = np.dtype(fine.dtype).itemsize * int(np.prod(factors))
    for box in iterate_boxes(coarse.shape, n_bytes, coarse.chunks):
        coarse[box] = shrink(np.asarray(fine[_finer_box(box, factors)]), factors)


def _finer_box(box: Box, factors: Factors) -> Box:
    """Find the voxels that a coarse box stands for; slices may end beyond the border."""
    z, y, x = (
        slice(part.start * factor, part.stop * factor) for part, factor in zip(box, factors, strict=True)
    )
    return z, y, x


def _require_group(path: Path) -> None:
    """Check that a volume can be added to what exists, and drop metadata that would hide it."""
    node = read_node(path) if path.is_dir() else None
    if node is None or node.is_array or node.zarr_format != 3:
        raise VolumeError(
            f"{path} exists and is not a Zarr version 3 group, so no volume can be added to it. "
            "Choose another name."
        )
    fields = read_json(path / "zarr.json")
    if fields.pop("consolidated_metadata", None) is not None:
        with atomic_file(path / "zarr.json") as temporary:
            temporary.write_text(json.dumps(fields, indent=2))


def _make_groups(root: Path, dataset: str) -> None:
    """Make sure that every folder on the way to `dataset` is a group."""
    for parent in [root, *reversed([root / p for p in Path(dataset).parents if p != Path(".")])]:
        node = read_node(parent) if parent.is_dir() else None
        if node is None:
            zarr.create_group(str(parent), zarr_format=3)
        elif node.is_array:
            raise VolumeError(
                f"{parent} is an array, so no volume can be written inside it. Choose another dataset name."
            )

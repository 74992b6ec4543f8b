"""The scales of a precomputed volume: where they lie, and their voxels."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from napari_celis.core.volume import Volume, as_triple
from napari_celis.io.blocks import Kind, Progress, iterate_boxes, read_blocks
from napari_celis.io.geometry import Geometry
from napari_celis.io.label_sizes import LabelSizes
from napari_celis.io.lazy import Box
from napari_celis.io.pyramid import Factors, choose_factors
from napari_celis.io.tensorstore import import_tensorstore, open_store, write_part

CHUNK = 64
"""Edge of a chunk in voxels."""
FARTHEST_OFFSET = 2**40
"""In voxels; the format wants whole numbers, the exact offset is kept beside them."""
COMPRESSIBLE_TYPES = ("uint32", "uint64")
"""Types that the compressed encoding for segmentations exists for."""
OWN_KEY = "celis"
"""Holds exact voxel size and offset, and the values of the standard that they belong to."""
MAX_COUNTED = 100_000
"""Labels are listed one by one up to this many."""


def precomputed_info(volume: Volume, data_type: str, kind: Kind) -> dict[str, Any]:
    """Describe a volume and its scales; everything in the standard runs x, y, z.

    Parameters
    ----------
    volume : Volume
        The finest scale.
    data_type : str
        As it is stored.
    kind : {"image", "labels"}
        What it holds.
    """
    size, offset = volume.voxel_size_nm, volume.offset_nm
    first = [
        round(max(-FARTHEST_OFFSET, min(FARTHEST_OFFSET, start / length)))
        for start, length in zip(offset, size, strict=True)
    ]
    scales = [_scale(0, volume.shape, size, first, data_type, kind)]
    shape: tuple[int, ...] = volume.shape
    while (factors := choose_factors(shape, size)) is not None:
        # Coarse voxels lie on a grid through the origin, as the standard and tensorstore have it.
        last = [-(-(start + n) // factor) for start, n, factor in zip(first, shape, factors, strict=True)]
        first = [start // factor for start, factor in zip(first, factors, strict=True)]
        z, y, x = (end - start for start, end in zip(first, last, strict=True))
        shape = (z, y, x)
        size = as_triple(length * factor for length, factor in zip(size, factors, strict=True))
        scales.append(_scale(len(scales), shape, size, first, data_type, kind))
    exact = Geometry(volume.voxel_size_nm, volume.offset_nm).as_json()
    return {
        "@type": "neuroglancer_multiscale_volume",
        "type": "segmentation" if kind == "labels" else "image",
        "data_type": data_type,
        "num_channels": 1,
        "scales": scales,
        OWN_KEY: {
            **exact,
            "resolution": scales[0]["resolution"],
            "voxel_offset": scales[0]["voxel_offset"],
        },
    }


def write_scales(
    volume: Volume, folder: Path, info: dict[str, Any], kind: Kind, progress: Progress | None
) -> dict[int, int] | None:
    """Write the voxels of all scales, each from the one before.

    Parameters
    ----------
    volume : Volume
        The finest scale.
    folder : Path
        Holds the file `info`, and nothing else yet.
    info : dict
        What it says.
    kind : {"image", "labels"}
        Images are averaged, labels take the majority.
    progress : callable, optional
        Told about the finest scale, which takes nearly all of the time.

    Returns
    -------
    sizes : dict of int to int, or None
        Voxels of every label; None for an image, and for too many labels.
    """
    tensorstore = import_tensorstore(folder)
    sizes = LabelSizes(MAX_COUNTED)
    fine = open_scale(folder, 0, write=True)
    for box, voxels in read_blocks(volume, kind, (CHUNK, CHUNK, CHUNK), progress):
        write_part(fine[_shifted(fine, box)], voxels)
        if kind == "labels":
            sizes.add(voxels)
    for index in range(1, len(info["scales"])):
        coarse = open_scale(folder, index, write=True)
        view = tensorstore.downsample(fine, _factors(info, index), "mode" if kind == "labels" else "mean")
        for box in iterate_boxes(coarse.shape, 8 * fine.dtype.numpy_dtype.itemsize, (CHUNK, CHUNK, CHUNK)):
            place = _shifted(coarse, box)
            write_part(coarse[place], view[place].read().result())
        fine = coarse
    return sizes.counts if kind == "labels" else None


def open_scale(folder: Path, index: int, *, write: bool = False) -> Any:
    """Open a scale with its axes in the order z, y, x; it begins at its offset.

    Parameters
    ----------
    folder : Path
        The volume.
    index : int
        0 is the finest.
    write : bool
        Whether voxels will be written.
    """
    spec = {"driver": "neuroglancer_precomputed", "scale_index": index}
    return open_store(spec, folder, write=write)[..., 0].T


def _scale(
    index: int, shape: tuple[int, ...], size: Any, first: list[int], data_type: str, kind: Kind
) -> dict[str, Any]:
    """Describe one scale."""
    scale: dict[str, Any] = {
        "key": str(index),
        "size": list(shape[::-1]),
        "resolution": list(size[::-1]),
        "voxel_offset": first[::-1],
        "chunk_sizes": [[CHUNK, CHUNK, CHUNK]],
        "encoding": "raw",
    }
    if kind == "labels" and data_type in COMPRESSIBLE_TYPES:
        scale |= {"encoding": "compressed_segmentation", "compressed_segmentation_block_size": [8, 8, 8]}
    return scale


def _factors(info: dict[str, Any], index: int) -> Factors:
    """Say how many voxels of the scale before become one, along z, y, x."""
    fine, coarse = (info["scales"][i]["resolution"][::-1] for i in (index - 1, index))
    z, y, x = (round(b / a) for a, b in zip(fine, coarse, strict=True))
    return z, y, x


def _shifted(store: Any, box: Box) -> tuple[slice, ...]:
    """Move a box to where a store begins."""
    return tuple(_slices(store.domain.origin, box))


def _slices(origin: Any, box: Box) -> Iterator[slice]:
    for start, part in zip(origin, box, strict=True):
        yield slice(start + part.start, start + part.stop)

"""`celis info` and `celis convert`: what is in a volume, and copies of it in other formats."""

from __future__ import annotations

from dataclasses import asdict, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from napari_celis.cli.app import app
from napari_celis.cli.options import JsonOption, require_outputs, require_target, write_json
from napari_celis.cli.outputs import require_distinct

if TYPE_CHECKING:
    from napari_celis.core.volume import Volume
    from napari_celis.io.catalog import DatasetInfo

MAX_SCANNED_BYTES = 512 * 2**20
"""Larger volumes are described by their header alone."""


class KindOption(StrEnum):
    """What the voxels mean."""

    image = "image"
    labels = "labels"


LevelOption = Annotated[int | None, typer.Option(metavar="N", min=0, help="Level of a pyramid, 0 = finest.")]


@app.command()
def info(
    target: Annotated[str, typer.Argument(metavar="V", help="Volume, written path[:dataset].")],
    level: LevelOption = None,
    json: JsonOption = None,
) -> None:
    """Show what is in a file: datasets, shapes, types, voxel size, offset, range of values."""
    from napari_celis.core.errors import AmbiguousDatasetError
    from napari_celis.io.volumes import list_datasets, open_volume, volume_format

    require_outputs(json)
    require_distinct({"--json": json}, {"V": target})
    figures: dict[str, Any] = {"path": target, "format": volume_format(target)}
    try:
        volume = open_volume(target, level=level)
    except AmbiguousDatasetError:
        found = list_datasets(target)
        figures["datasets"] = [asdict(dataset) for dataset in found]
        print(f"{target}: {figures['format']} with {len(found)} datasets")
        for dataset in found:
            print(f"  {_dataset_line(dataset)}")
    else:
        figures |= _describe(volume)
        figures["voxel_size_stored"] = _states_voxel_size(target)
        _print_figures(figures)
    write_json(json, figures)


@app.command()
def convert(
    source: Annotated[str, typer.Argument(metavar="IN", help="Volume to copy, written path[:dataset].")],
    target: Annotated[
        str,
        typer.Argument(
            metavar="OUT",
            help="Copy: .zarr, .h5[:dataset], .tif, .npy or .precomputed; IMAGE.zarr:labels/NAME adds labels "
            "to an image.",
        ),
    ],
    kind: Annotated[
        KindOption | None, typer.Option(help="What the voxels mean; by default it is guessed.")
    ] = None,
    level: LevelOption = None,
    voxel_size: Annotated[
        tuple[float, float, float] | None,
        typer.Option(metavar="Z Y X", help="Voxel size in nm, where the file has none or a wrong one."),
    ] = None,
    resample_to: Annotated[
        tuple[float, float, float] | None,
        typer.Option("--resample", metavar="Z Y X", help="Write voxels of this size in nm instead."),
    ] = None,
    properties: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Table (.csv) of what is known about labels, with a column `id`; .zarr and .precomputed.",
        ),
    ] = None,
    meshes: Annotated[
        bool, typer.Option(help="Write surfaces of labels into .precomputed, for the 3-D view.")
    ] = True,
    json: JsonOption = None,
) -> None:
    """Copy a volume into another format; ids stay, voxel size and position too unless options differ."""
    import time

    from napari_celis.cli.progress import bar
    from napari_celis.core.volume import as_triple
    from napari_celis.io.hdf5 import DEFAULT_DATASET
    from napari_celis.io.kinds import guess_kind
    from napari_celis.io.precomputed_segments import HAS_MESHES
    from napari_celis.io.property_table import read_properties
    from napari_celis.io.resampled import resample
    from napari_celis.io.volumes import open_volume, write_volume

    require_target(target)
    require_outputs(json)
    started = time.perf_counter()
    volume = open_volume(source, level=level)
    if voxel_size is not None:
        volume = replace(volume, voxel_size_nm=as_triple(voxel_size))
    chosen = kind.value if kind is not None else guess_kind(volume, target)
    inputs = {"IN": source, **({"--properties": properties} if properties else {})}
    require_distinct({"OUT": target, "--json": json}, inputs, unnamed=DEFAULT_DATASET[chosen])
    known = None if properties is None else read_properties(properties)
    if resample_to is not None:
        volume = resample(volume, as_triple(resample_to), chosen)
    with bar("Converting", unit="voxel") as progress:
        path = write_volume(
            volume,
            target,
            kind=chosen,
            progress=progress,
            properties=known,
            meshes=meshes and chosen == "labels" and HAS_MESHES,
        )
    print(f"{target}: wrote {_size_line(volume)} as {chosen}")
    figures = {"path": str(path), "kind": chosen, **_header(volume)}
    write_json(json, {**figures, "seconds": time.perf_counter() - started})


def _states_voxel_size(target: str) -> bool:
    """Tell whether the file says how large its voxels are."""
    from napari_celis.io.targets import split_target
    from napari_celis.io.volumes import list_datasets

    dataset = split_target(target).dataset
    found = [info for info in list_datasets(target) if info.name == (dataset or info.name)]
    return not found or any(info.voxel_size_nm is not None for info in found)


def _header(volume: Volume) -> dict[str, Any]:
    """Describe a volume without reading it."""
    return {
        "shape": list(volume.shape),
        "dtype": str(volume.dtype),
        "voxel_size_nm": list(volume.voxel_size_nm),
        "offset_nm": list(volume.offset_nm),
        "gb": volume.nbytes / 1e9,
    }


def _describe(volume: Volume) -> dict[str, Any]:
    """Describe a volume; small ones are read for their range and their number of ids."""
    from napari_celis.io.kinds import guess_kind

    figures = _header(volume)
    figures["kind"] = guess_kind(volume)
    if volume.nbytes <= MAX_SCANNED_BYTES:
        voxels = volume.read()
        figures["minimum"], figures["maximum"] = voxels.min().item(), voxels.max().item()
        if figures["kind"] == "labels":
            import fastremap

            ids = fastremap.unique(voxels)
            figures["n_ids"] = int(ids.size - (ids == 0).sum())
    return figures


def _print_figures(figures: dict[str, Any]) -> None:
    """Print one line per figure."""
    from napari_celis.core.volume import format_shape
    from napari_celis.io.geometry import format_nm

    shown = {
        "format": figures["format"],
        "shape (z, y, x)": format_shape(figures["shape"]),
        "type": f"{figures['dtype']}, probably {'an image' if figures['kind'] == 'image' else 'labels'}",
        "voxel size (nm)": format_nm(figures["voxel_size_nm"]),
        "offset (nm)": ", ".join(f"{value:g}" for value in figures["offset_nm"]),
        "size (GB)": f"{figures['gb']:.3g}",
    }
    if not figures["voxel_size_stored"]:
        shown["voxel size (nm)"] += " (not stored, assumed)"
    if "minimum" in figures:
        shown["values"] = f"{figures['minimum']} to {figures['maximum']}"
    if "n_ids" in figures:
        shown["ids (without 0)"] = str(figures["n_ids"])
    print(figures["path"])
    for label, value in shown.items():
        print(f"  {label:<16} {value}")


def _dataset_line(dataset: DatasetInfo) -> str:
    """Describe a dataset in one line."""
    from napari_celis.core.volume import format_shape
    from napari_celis.io.geometry import format_nm

    size = f", voxels {format_nm(dataset.voxel_size_nm)} nm" if dataset.voxel_size_nm else ""
    levels = f", {dataset.n_levels} levels" if dataset.n_levels > 1 else ""
    return f"{dataset.name or '(the root)'}: {format_shape(dataset.shape)} {dataset.dtype}{size}{levels}"


def _size_line(volume: Volume) -> str:
    """Describe a volume in one line."""
    from napari_celis.core.volume import format_shape
    from napari_celis.io.geometry import format_nm

    return f"{format_shape(volume.shape)} {volume.dtype}, voxels {format_nm(volume.voxel_size_nm)} nm"

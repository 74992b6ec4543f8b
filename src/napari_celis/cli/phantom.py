"""`celis phantom`: synthetic neuropil with its truth."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from napari_celis.cli.app import app
from napari_celis.cli.options import JsonOption, require_folder, require_outputs, write_json
from napari_celis.cli.outputs import require_distinct
from napari_celis.cli.progress import stage_bars

if TYPE_CHECKING:
    from napari_celis.synthetic.phantom import Phantom, PhantomSettings

IMAGE, TRUTH = "volumes/raw", "volumes/labels/neuron_ids"
BYTES_PER_VOXEL = 64
"""What making a phantom takes at its peak, measured at 256³."""


@app.command()
def phantom(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="File to write, .h5 or .zarr.")],
    shape: Annotated[
        tuple[int, int, int], typer.Option(metavar="Z Y X", help="Number of voxels along each axis.")
    ] = (96, 160, 160),
    seed: Annotated[int, typer.Option(metavar="N", help="Same seed, same voxels.")] = 0,
    voxel_size: Annotated[
        tuple[float, float, float], typer.Option(metavar="Z Y X", help="Edge lengths of a voxel in nm.")
    ] = (10.0, 10.0, 10.0),
    json: JsonOption = None,
) -> None:
    """Make synthetic neuropil: an image in OUT:volumes/raw, its truth in OUT:volumes/labels/neuron_ids."""
    from napari_celis.synthetic.phantom import PhantomSettings, make_phantom

    settings = PhantomSettings(shape_zyx=shape, voxel_size_nm=voxel_size, seed=seed)
    require_folder(out)
    require_outputs(json)
    require_distinct({"OUT": out, "--json": json}, {})
    _require_target(out)
    _require_room(settings)
    with stage_bars(delay=2) as report:
        made = make_phantom(settings, lambda stage, done: report(stage, 0.95 * done))
        report("writing", 0.95)
        _write(made, out)
    figures = _figures(made, settings)
    write_json(json, figures)
    typer.echo(
        f"{out}: {figures['objects']} objects and {len(made.necks)} thin necks in "
        f"{' × '.join(map(str, shape))} voxels, in {IMAGE} and {TRUTH}"
    )


def _require_target(out: Path) -> None:
    """Refuse a name that cannot hold two volumes, or that holds something else."""
    from napari_celis.core.errors import VolumeError

    if out.suffix.lower() not in (".h5", ".hdf5", ".zarr"):
        raise VolumeError(
            f"{out} cannot hold an image and its truth. Give it a name that ends in .h5, .hdf5 or .zarr."
        )
    if out.exists() and not _is_phantom(out):
        raise VolumeError(
            f"{out} exists and holds something else than a phantom, which would be lost. Choose another name."
        )


def _is_phantom(out: Path) -> bool:
    """Tell whether a file or folder holds the two volumes of a phantom, or some of them, and nothing else."""
    from napari_celis.io.ome_zarr import is_one_volume
    from napari_celis.io.volumes import list_datasets

    if out.is_file():
        return out.suffix.lower() != ".zarr" and {info.name for info in list_datasets(out)} <= {IMAGE, TRUTH}
    expected = {"": {"volumes"}, "volumes": {"raw", "labels"}, "volumes/labels": {"neuron_ids"}}
    folders = {out / name: inside for name, inside in expected.items() if (out / name).is_dir()}
    return all(
        {entry.name for entry in folder.iterdir()} <= {"zarr.json", *inside}
        for folder, inside in folders.items()
    ) and all(is_one_volume(out / name) for name in (IMAGE, TRUTH) if (out / name).exists())


def _require_room(settings: PhantomSettings) -> None:
    """Refuse a phantom that does not fit into memory, before an hour is spent on it."""
    from napari_celis.core.errors import NotEnoughMemoryError
    from napari_celis.io.memory import available_bytes, format_gb

    z, y, x = settings.shape_zyx
    needed, free = z * y * x * BYTES_PER_VOXEL, available_bytes()
    if needed > free:
        raise NotEnoughMemoryError(
            f"A phantom of {z} × {y} × {x} voxels needs {format_gb(needed)} of memory, but {format_gb(free)} "
            "are free. Ask for a smaller one."
        )


def _write(made: Phantom, out: Path) -> None:
    """Write both volumes beside `out`, then put them in its place in one step."""
    from napari_celis.core.volume import Volume
    from napari_celis.io.atomic import put_in_place, scratch_name
    from napari_celis.io.volumes import write_volume

    with scratch_name(out) as folder:
        new = folder / out.name
        write_volume(Volume(made.image, made.voxel_size_nm, name="image"), f"{new}:{IMAGE}", kind="image")
        write_volume(Volume(made.truth, made.voxel_size_nm, name="truth"), f"{new}:{TRUTH}", kind="labels")
        put_in_place(new, out)


def _figures(made: Phantom, settings: PhantomSettings) -> dict[str, Any]:
    """Collect what there is to know, ready for JSON."""
    return {
        "shape_zyx": list(settings.shape_zyx),
        "voxel_size_nm": list(settings.voxel_size_nm),
        "seed": settings.seed,
        "objects": int(made.truth.max()),
        "necks": made.necks.as_records(),
    }

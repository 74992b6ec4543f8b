"""`celis watershed`: affinities to supervoxels."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from napari_celis.cli.app import app
from napari_celis.cli.options import JsonOption, require_outputs, require_target, write_json
from napari_celis.cli.outputs import require_distinct

SUPERVOXELS = "volumes/labels/supervoxels"
"""Where an HDF5 file gets them; the place that other labels default to is the truth's."""
BYTES_PER_VOXEL = 16
"""What the watershed takes at its peak besides the affinities: 5 to 6 on real ones, 14 on pure noise."""
NOTABLE_BACKGROUND = 0.2
"""From this share of background on, say how to get less."""


@app.command()
def watershed(
    affinities: Annotated[
        str, typer.Argument(metavar="V", help="Affinities, written path[:dataset]: channel, z, y, x.")
    ],
    output: Annotated[
        str,
        typer.Option("--output", "-o", metavar="OUT", help="Supervoxels: .zarr, .h5[:dataset], .tif, .npy …"),
    ],
    low: Annotated[float, typer.Option(metavar="T", help="Cut edges below this affinity (T_l).")] = 0.95,
    high: Annotated[
        float, typer.Option(metavar="T", help="Never cut edges from this affinity on (T_h).")
    ] = 0.95,
    merge: Annotated[
        float, typer.Option(metavar="T", help="Merge small segments across affinities from this on (T_e).")
    ] = 0.5,
    size: Annotated[
        int, typer.Option(metavar="N", help="A segment of fewer voxels is small (T_s); 0 merges none.")
    ] = 1000,
    json: JsonOption = None,
) -> None:
    """Turn affinities into supervoxels: watershed, then merging of small segments."""
    import sys
    import time

    from tqdm import tqdm

    from napari_celis.core import watershed as core
    from napari_celis.core.volume import Volume
    from napari_celis.io.affinities import read_affinities
    from napari_celis.io.memory import require_memory
    from napari_celis.io.volumes import write_volume

    settings = core.WatershedSettings(low, high, merge, size)
    target = _with_dataset(output)
    require_target(target)
    require_outputs(json)
    require_distinct({"--output": target, "--json": json}, {}, affinities={"V": affinities})
    read = read_affinities(affinities)
    require_memory(read.data[0].size * BYTES_PER_VOXEL, f"supervoxels for {read.name}")
    started = time.perf_counter()
    labels = core.watershed(read.data, settings)
    seconds = time.perf_counter() - started
    n_supervoxels, n_background = int(labels.max()), int((labels == 0).sum())
    if n_supervoxels == 0:
        raise core.WatershedError(
            f"No affinity in {read.name} reaches --low {low:g}, so every voxel would be background. Lower it."
        )
    volume = Volume(labels, read.voxel_size_nm, read.offset_nm, name="supervoxels")
    with tqdm(desc="Writing", unit="voxel", unit_scale=True, file=sys.stderr, disable=None, delay=2) as bar:

        def show(n_done: int, n_voxels: int) -> None:
            bar.total = n_voxels
            bar.update(n_done - bar.n)

        path = write_volume(volume, target, kind="labels", progress=show)
    share = n_background / labels.size
    typer.echo(f"{target}: {n_supervoxels:,} supervoxels, {share:.1%} background, in {seconds:.1f} s")
    if share >= NOTABLE_BACKGROUND:
        typer.echo("  a lower --low leaves less background, and --low 0 none")
    figures = {"path": str(path), "shape": list(labels.shape), "voxel_size_nm": list(read.voxel_size_nm)}
    counts = {"supervoxels": n_supervoxels, "background_voxels": n_background}
    write_json(json, {**figures, **counts, "settings": asdict(settings), "seconds": seconds})


def _with_dataset(output: str) -> str:
    """Name the dataset of an HDF5 file where the user does not."""
    from napari_celis.io.targets import Format, format_to_write, split_target

    split = split_target(output)
    if format_to_write(split) is Format.HDF5 and split.dataset is None:
        return f"{split.path}:{SUPERVOXELS}"
    return output

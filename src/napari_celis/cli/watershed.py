"""`celis watershed`: affinities to supervoxels."""

from __future__ import annotations

from dataclasses import asdict
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from napari_celis.cli.app import app
from napari_celis.cli.options import JsonOption, require_outputs, require_target, write_json
from napari_celis.cli.outputs import require_distinct

if TYPE_CHECKING:
    from napari_celis.core.seeded_watershed import SeededSettings
    from napari_celis.core.watershed import WatershedSettings

SUPERVOXELS = "volumes/labels/supervoxels"
"""Where an HDF5 file gets them; other labels default to the dataset of the truth."""
BYTES_PER_VOXEL = {"paper": 16, "seeded": 28}
"""What each method takes at its peak besides the affinities: the paper's 5 to 6 on real ones and 14 on pure
noise, the seeded one 21."""
NOTABLE_BACKGROUND = 0.2
"""From this share of background on, say how to get less."""


class WatershedMethod(StrEnum):
    """Ways to cut."""

    paper = "paper"
    seeded = "seeded"


@app.command()
def watershed(
    affinities: Annotated[
        str, typer.Argument(metavar="V", help="Affinities, written path[:dataset]: channel, z, y, x.")
    ],
    output: Annotated[
        str,
        typer.Option("--output", "-o", metavar="OUT", help="Supervoxels: .zarr, .h5[:dataset], .tif, .npy …"),
    ],
    method: Annotated[
        WatershedMethod,
        typer.Option(
            help="From the middles of cells (seeded), or as in the CELIS paper, by four thresholds."
        ),
    ] = WatershedMethod.paper,
    low: Annotated[
        float | None, typer.Option(metavar="T", help="paper: cut edges below this affinity (T_l); 0.95.")
    ] = None,
    high: Annotated[
        float | None,
        typer.Option(metavar="T", help="paper: never cut edges from this affinity on (T_h); 0.95."),
    ] = None,
    merge: Annotated[
        float | None,
        typer.Option(
            metavar="T", help="paper: merge small segments across affinities from this on (T_e); 0.5."
        ),
    ] = None,
    size: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="paper: a segment of fewer voxels is small (T_s), 0 merges none; 1000."
        ),
    ] = None,
    foreground: Annotated[
        float | None,
        typer.Option(metavar="T", help="seeded: a voxel is inside above this mean affinity; 0.7."),
    ] = None,
    separation: Annotated[
        float | None,
        typer.Option(metavar="NM", help="seeded: a seed is the highest up to this far, in nm; 10."),
    ] = None,
    json: JsonOption = None,
) -> None:
    """Turn affinities into supervoxels: watershed, then merging of small segments."""
    import time

    from napari_celis.cli.progress import bar
    from napari_celis.core import watershed as core
    from napari_celis.core.seeded_watershed import SeededSettings, seeded_watershed
    from napari_celis.core.volume import Volume
    from napari_celis.io.affinities import read_affinities
    from napari_celis.io.memory import require_memory
    from napari_celis.io.volumes import write_volume

    settings = _settings(
        method,
        {"low": low, "high": high, "merge": merge, "size": size},
        {"foreground": foreground, "separation": separation},
    )
    target = _with_dataset(output)
    require_target(target)
    require_outputs(json)
    require_distinct({"--output": target, "--json": json}, {}, affinities={"V": affinities})
    read = read_affinities(affinities)
    require_memory(read.data[0].size * BYTES_PER_VOXEL[method.value], f"supervoxels for {read.name}")
    started = time.perf_counter()
    if isinstance(settings, SeededSettings):
        labels = seeded_watershed(read.data, read.voxel_size_nm, settings)
    else:
        labels = core.watershed(read.data, settings)
    seconds = time.perf_counter() - started
    n_supervoxels, n_background = int(labels.max()), int((labels == 0).sum())
    if isinstance(settings, core.WatershedSettings) and n_supervoxels == 0:
        raise core.WatershedError(
            f"No affinity in {read.name} reaches --low {settings.low:g}, so every voxel would be background. "
            "Lower it."
        )
    volume = Volume(labels, read.voxel_size_nm, read.offset_nm, name="supervoxels")
    with bar("Writing", unit="voxel", delay=2) as progress:
        path = write_volume(volume, target, kind="labels", progress=progress)
    share = n_background / labels.size
    typer.echo(f"{target}: {n_supervoxels:,} supervoxels, {share:.1%} background, in {seconds:.1f} s")
    if method is WatershedMethod.paper and share >= NOTABLE_BACKGROUND:
        typer.echo("  a lower --low leaves less background, and --low 0 none")
    figures = {"path": str(path), "shape": list(labels.shape), "voxel_size_nm": list(read.voxel_size_nm)}
    counts = {"supervoxels": n_supervoxels, "background_voxels": n_background}
    write_json(
        json, {**figures, **counts, "method": method.value, "settings": asdict(settings), "seconds": seconds}
    )


def _settings(
    method: WatershedMethod, paper: dict[str, float | None], seeded: dict[str, float | None]
) -> WatershedSettings | SeededSettings:
    """Make the settings of a method, and refuse options of the other one."""
    from napari_celis.core.seeded_watershed import SeededSettings
    from napari_celis.core.watershed import WatershedError, WatershedSettings

    own, other = (paper, seeded) if method is WatershedMethod.paper else (seeded, paper)
    foreign = [f"--{name}" for name, value in other.items() if value is not None]
    if foreign:
        wanted = WatershedMethod.seeded if method is WatershedMethod.paper else WatershedMethod.paper
        raise WatershedError(
            f"{', '.join(foreign)}: not an option of --method {method.value}. Leave out, or give --method "
            f"{wanted.value}."
        )
    given: dict[str, Any] = {name: value for name, value in own.items() if value is not None}
    if method is WatershedMethod.paper:
        return WatershedSettings(**given)
    if "separation" in given:
        given["separation_nm"] = given.pop("separation")
    return SeededSettings(**given)


def _with_dataset(output: str) -> str:
    """Name the dataset of an HDF5 file where the user does not."""
    from napari_celis.io.targets import Format, format_to_write, split_target

    split = split_target(output)
    if format_to_write(split) is Format.HDF5 and split.dataset is None:
        return f"{split.path}:{SUPERVOXELS}"
    return output

"""`celis plan`: what a block-wise run would cost."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from napari_celis.cli.app import app
from napari_celis.cli.options import JsonOption, require_outputs, write_json

if TYPE_CHECKING:
    from napari_celis.scale.plan import Plan


@app.command()
def plan(
    shape: Annotated[tuple[int, int, int], typer.Option(metavar="Z Y X", help="Voxels of the volume.")],
    model: Annotated[
        Path | None, typer.Option(metavar="MODEL", help="Model file; the bundled FIB-SEM model by default.")
    ] = None,
    image: Annotated[
        str | None, typer.Option(metavar="V", help="Measure on the middle of this volume, not on the sample.")
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Workers, one processor each; those of this computer."),
    ] = None,
    block: Annotated[
        tuple[int, int, int] | None, typer.Option(metavar="Z Y X", help="Voxels of a block.")
    ] = None,
    halo: Annotated[
        tuple[int, int, int] | None, typer.Option(metavar="Z Y X", help="Voxels around a block.")
    ] = None,
    json: JsonOption = None,
) -> None:
    """Say what celis blockwise would take for a volume: blocks, memory, CPU hours, storage."""
    from napari_celis.cli.progress import stage_bars
    from napari_celis.core.errors import CelisError
    from napari_celis.core.parallel import default_threads
    from napari_celis.io.memory import available_bytes
    from napari_celis.io.samples import bundled_models
    from napari_celis.models.model_file import load_model
    from napari_celis.scale.plan import make_plan, measure_rates

    require_outputs(json)
    if min(shape) < 1:
        raise CelisError(f"--shape needs three lengths of at least 1, got {' '.join(map(str, shape))}.")
    path = model or bundled_models()["fibsem-medulla"]
    loaded, n_cores, free = load_model(path), default_threads(), available_bytes()
    with stage_bars("measuring: ") as report:
        rates = measure_rates(path, image, report)
    found = make_plan(shape, loaded, rates, block_zyx=block, halo_zyx=halo, workers=workers or n_cores)
    _report(found, n_cores, free / 1e9)
    write_json(
        json,
        {
            **found.to_json(),
            "rates": rates.seconds,
            "stored_bytes_per_voxel": rates.stored,
            "pairs": rates.pairs,
        },
    )


def _report(found: Plan, n_cores: int, free_gb: float) -> None:
    """Print a plan."""
    from napari_celis.core.volume import count_voxels, format_shape

    fitting = min(n_cores, int(free_gb // found.worker_gb))
    storage = sum(found.storage_gb.values())
    typer.echo(
        f"Volume        {format_shape(found.shape)} ({count_voxels(found.shape) / 1e9:,.3g} gigavoxels)\n"
        f"Blocks        {found.n_blocks:,} of {format_shape(found.block_zyx)} with a halo of "
        f"{format_shape(found.halo_zyx)}\n"
        f"Memory        {found.worker_gb:.1f} GB per worker; {found.join_gb:.1f} GB once, to join blocks\n"
        f"CPU hours     {found.cpu_hours:,.3g} of processors like this one\n"
        f"Time          {found.hours:,.3g} hours with {found.workers:,} workers\n"
        f"Storage       {storage:,.3g} GB: "
        + ", ".join(f"{name} {size:,.3g}" for name, size in found.storage_gb.items())
    )
    for stage, hours in sorted(found.stages.items(), key=lambda item: -item[1])[:4]:
        typer.echo(f"  {stage:12}{hours:,.3g} CPU hours ({hours / found.cpu_hours:.0%})")
    typer.echo(
        f"This computer could run {fitting} workers at a time."
        if fitting
        else f"This computer has {free_gb:.1f} GB free, too little for one worker: take smaller blocks."
    )

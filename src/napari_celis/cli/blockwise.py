"""`celis blockwise`: agglomerate a volume that does not fit into one computer's memory."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from napari_celis.cli.app import app
from napari_celis.cli.options import AnyVoxelSizeOption, JsonOption, Policy, require_outputs, write_json
from napari_celis.cli.outputs import require_distinct
from napari_celis.core.words import counted

if TYPE_CHECKING:
    from napari_celis.scale.begin import Request
    from napari_celis.scale.runner import Outcome
    from napari_celis.scale.status import RunStatus


class Rule(StrEnum):
    """When a pair that several blocks saw is merged."""

    all = "all"
    owner = "owner"
    any = "any"


@app.command()
def blockwise(
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="OUT.zarr", help="Result, a folder or a URL.")
    ],
    model: Annotated[
        Path | None, typer.Option("--model", metavar="MODEL", help="Model file made by celis train.")
    ] = None,
    image: Annotated[
        str | None,
        typer.Option(metavar="V", help="Image, a path or a URL; not needed where affinities are given."),
    ] = None,
    supervoxels: Annotated[
        str | None, typer.Option(metavar="V", help="Oversegmentation; made from the image if not given.")
    ] = None,
    affinities: Annotated[
        str | None, typer.Option(metavar="V", help="Affinities of any network, instead of the model's.")
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Dask scheduler; workers of this computer if none.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Workers to start here; one per processor.")
    ] = None,
    block: Annotated[
        tuple[int, int, int] | None, typer.Option(metavar="Z Y X", help="Voxels of a block.")
    ] = None,
    halo: Annotated[
        tuple[int, int, int] | None, typer.Option(metavar="Z Y X", help="Voxels around a block.")
    ] = None,
    threshold: Annotated[
        float | None, typer.Option(metavar="T", help="Stop at this score; the model's own by default.")
    ] = None,
    policy: Annotated[Policy | None, typer.Option(help="How merges are ordered.")] = None,
    rule: Annotated[
        Rule, typer.Option(help="Which blocks have to agree before a pair of supervoxels is merged.")
    ] = Rule.all,
    rechunk: Annotated[
        bool, typer.Option("--rechunk", help="First copy the image into chunks that fit the blocks.")
    ] = False,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Take up blocks again that failed before.")
    ] = False,
    status: Annotated[
        bool, typer.Option("--status", help="Only say how far the run is; needs nothing but --output.")
    ] = False,
    dashboard: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="Where local workers show Dask's dashboard.")
    ] = "127.0.0.1:0",
    any_voxel_size: AnyVoxelSizeOption = False,
    records: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Append progress here, one line of JSON per record.")
    ] = None,
    json: JsonOption = None,
) -> None:
    """Agglomerate a large volume block by block; the same command goes on after a crash."""
    require_outputs(json, records)
    if status:
        _show_status(output, json)
        return
    if model is None:
        raise typer.BadParameter("A model is needed: give --model.")
    _require_distinct(output, json, model, image, supervoxels, affinities)
    from napari_celis.scale.begin import Request

    request = Request(
        model=model,
        output=output,
        image=image,
        supervoxels=supervoxels,
        affinities=affinities,
        block_zyx=block,
        halo_zyx=halo,
        policy=None if policy is None else policy.value,
        threshold=threshold,
        rule=rule.value,
        rechunk=rechunk,
        any_voxel_size=any_voxel_size,
    )
    from napari_celis.cli.progress import recorded

    with recorded(records):
        figures = _run(request, scheduler, workers, dashboard, retry_failed)
    write_json(json, figures)
    if figures["failed"] or figures["lost"]:
        raise typer.Exit(1)


def _require_distinct(
    output: str,
    json: Path | None,
    model: Path,
    image: str | None,
    supervoxels: str | None,
    affinities: str | None,
) -> None:
    """Refuse outputs that are inputs; what lies in object stores is refused by the run itself."""
    from napari_celis.scale.run import MODEL
    from napari_celis.scale.storage import is_url

    def local(target: str | None) -> str | None:
        return None if target is None or is_url(target) else target

    # A run keeps a copy of its model, which nothing writes again: it may go on with that one.
    is_own = not is_url(output) and model.absolute() == Path(output).absolute() / MODEL
    require_distinct(
        {"--json": json, "--output": local(output)},
        {
            "--image": local(image),
            "--supervoxels": local(supervoxels),
            "--model": None if is_own else model,
        },
        affinities={"--affinities": local(affinities)},
    )


def _run(
    request: Request, scheduler: str | None, workers: int | None, dashboard: str, retry_failed: bool
) -> dict[str, Any]:
    """Begin or resume a run, and tell how it ended."""
    import time

    from napari_celis.cli.progress import block_bars
    from napari_celis.scale.begin import begin_run
    from napari_celis.scale.cluster import connect
    from napari_celis.scale.lock import driving
    from napari_celis.scale.runner import run_stages
    from napari_celis.scale.status import read_status

    begin = time.monotonic()
    run = begin_run(request)
    with driving(run.store), connect(scheduler, n_workers=workers, dashboard=dashboard) as client:
        typer.echo(f"Dashboard: {client.dashboard_link}", err=True)
        with block_bars() as show:
            outcome = run_stages(run, client, retry_failed=retry_failed, on_progress=show)
    status = read_status(run)
    figures = {
        **status.figures,
        "computed": outcome.computed,
        "failed": [vars(failure) for failure in outcome.failures],
        "lost": outcome.lost,
        "seconds": time.monotonic() - begin,
        "output": run.store.url,
    }
    _report(outcome, status, request.output)
    return figures


def _report(outcome: Outcome, status: RunStatus, output: str) -> None:
    """Say what was done, and what could not be."""
    for failure in outcome.failures:
        typer.echo(
            f"Failed: {failure.stage}, block {failure.block} ({failure.place}): {failure.error}", err=True
        )
    if outcome.lost:
        typer.echo(
            f"{counted(outcome.lost, 'block')} {'was' if outcome.lost == 1 else 'were'} lost with the "
            "workers, which were killed or ran out of memory. "
            "Give the same command again, with fewer --workers or smaller blocks if it was memory.",
            err=True,
        )
        return
    found = status.figures
    typer.echo(
        f"Wrote {output}: {counted(found['supervoxels'], 'supervoxel')} became "
        f"{counted(found['segments'], 'segment')}; blocks disagreed on {found['disputed']:,} of "
        f"{counted(found['pairs'], 'pair')}."
    )
    if outcome.failures:
        n_failed = len(outcome.failures)
        typer.echo(
            f"{counted(n_failed, 'block')} failed and {'is' if n_failed == 1 else 'are'} empty in it. "
            "Put right what is said above, then give the same command with --retry-failed.",
            err=True,
        )


def _show_status(output: str, json: Path | None) -> None:
    """Tell how far a run is."""
    from napari_celis.scale.run import BlockRun
    from napari_celis.scale.status import read_status
    from napari_celis.scale.storage import RunStore

    status = read_status(BlockRun(RunStore(output)))
    for stage in status.stages:
        failed = f", {stage.failed} failed" if stage.failed else ""
        typer.echo(f"{stage.title:28} {stage.done:>7,} of {stage.total:,} blocks{failed}")
    for failure in status.failures:
        typer.echo(f"Failed: {failure.stage}, block {failure.block} ({failure.place}): {failure.error}")
    typer.echo("Finished." if status.is_finished else "Not finished: give the same command again to go on.")
    write_json(json, status.to_json())

"""`celis agglomerate`: a greedy run without a viewer."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from napari_celis.cli.app import app
from napari_celis.cli.options import (
    AnyVoxelSizeOption,
    JsonOption,
    ModelOption,
    SupervoxelsOption,
    require_outputs,
    require_target,
    say,
    write_json,
)
from napari_celis.cli.outputs import require_distinct

if TYPE_CHECKING:
    from napari_celis.core.agglomerator import Agglomerator


class PolicyOption(StrEnum):
    """Ways to order merges."""

    energy = "energy"
    learned = "learned"


@app.command()
def agglomerate(
    model: ModelOption,
    output: Annotated[str, typer.Option("--output", "-o", metavar="SEG", help="Segmentation to write.")],
    image: Annotated[
        str | None, typer.Option(metavar="V", help="Image; not needed where affinities are given.")
    ] = None,
    supervoxels: SupervoxelsOption = None,
    affinities: Annotated[
        str | None,
        typer.Option(metavar="V", help="Affinities of any network, to use instead of the model's."),
    ] = None,
    threshold: Annotated[
        float | None, typer.Option(metavar="T", help="Stop at this score; the model's own by default.")
    ] = None,
    policy: Annotated[
        PolicyOption | None, typer.Option(help="How merges are ordered; the model's own policy by default.")
    ] = None,
    any_voxel_size: AnyVoxelSizeOption = False,
    json: JsonOption = None,
) -> None:
    """Merge supervoxels greedily by energy, and write the segmentation."""
    import time

    from napari_celis.cli.progress import stage_bars
    from napari_celis.core.volume import Volume
    from napari_celis.io.affinities import open_affinities
    from napari_celis.io.volumes import open_volume, write_volume
    from napari_celis.models.model_file import load_model
    from napari_celis.pipeline.choice import Choice
    from napari_celis.pipeline.recipe import prepare

    require_target(output)
    require_outputs(json)
    inputs = {"--image": image, "--model": model, "--supervoxels": supervoxels}
    require_distinct({"--output": output, "--json": json}, inputs, affinities={"--affinities": affinities})
    choice = Choice(
        image=None if image is None else open_volume(image),
        supervoxels=None if supervoxels is None else open_volume(supervoxels),
        affinities=None if affinities is None else open_affinities(affinities),
        model=load_model(model),
        policy=None if policy is None else policy.value,
        threshold=threshold,
        any_voxel_size=any_voxel_size,
        is_lazy=True,
    )
    begin = time.monotonic()
    with stage_bars() as report:
        prepared = prepare(choice, report, say=say)
    with prepared.agglomerator as agglomerator:
        figures = {"policy": prepared.policy, **_run(agglomerator, prepared.threshold)}
        segmentation = agglomerator.labels()
    figures["seconds"] = time.monotonic() - begin
    written = Volume(segmentation, choice.voxel_size_nm, choice.offset_nm, "segmentation")
    write_volume(written, output, kind="labels")
    _report(figures, output)
    write_json(json, {**figures, "output": output})


def _run(agglomerator: Agglomerator, threshold: float) -> dict[str, Any]:
    """Take steps until none is below the threshold, and tell what happened."""
    from tqdm import tqdm

    steps = list(tqdm(agglomerator.steps(threshold), desc="merges", unit=""))
    best_score = steps[0].score if steps else None
    if not steps and (lowest := agglomerator.best_action()) >= 0:
        best_score = agglomerator.score(lowest)
    return {
        "threshold": threshold,
        "steps": len(steps),
        "supervoxels": agglomerator.supervoxels.n,
        "segments": agglomerator.n_segments,
        "energy_before": agglomerator.energy - agglomerator.energy_change,
        "energy": agglomerator.energy,
        "best_first_score": best_score,
    }


def _report(figures: dict[str, Any], output: str) -> None:
    """Say what was done, and why if nothing was."""
    if not figures["steps"]:
        score = figures["best_first_score"]
        reason = "no centre sees any contact" if score is None else f"the best score is {score:.3g}"
        typer.echo(f"No merge was made: {reason}, and the threshold is {figures['threshold']:.3g}.")
    typer.echo(
        f"Wrote {output}: {figures['supervoxels']:,} supervoxels became {figures['segments']:,} segments "
        f"in {figures['steps']:,} steps."
    )

"""`celis agglomerate`: a greedy run without a viewer."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from napari_celis.cli.app import app
from napari_celis.cli.options import (
    AnyVoxelSizeOption,
    ImageOption,
    JsonOption,
    ModelOption,
    SupervoxelsOption,
    affinities_for,
    open_for_model,
    require_memory_for,
    require_outputs,
    require_target,
    write_json,
)
from napari_celis.cli.outputs import require_distinct
from napari_celis.cli.remarks import remark_on_roles

if TYPE_CHECKING:
    from napari_celis.core.agglomerator import Agglomerator


class Policy(StrEnum):
    """Ways to order merges."""

    energy = "energy"
    learned = "learned"


@app.command()
def agglomerate(
    image: ImageOption,
    model: ModelOption,
    output: Annotated[str, typer.Option("--output", "-o", metavar="SEG", help="Segmentation to write.")],
    supervoxels: SupervoxelsOption = None,
    threshold: Annotated[
        float | None, typer.Option(metavar="T", help="Stop at this score; the model's own by default.")
    ] = None,
    policy: Annotated[
        Policy | None, typer.Option(help="How merges are ordered; the model's own policy by default.")
    ] = None,
    any_voxel_size: AnyVoxelSizeOption = False,
    json: JsonOption = None,
) -> None:
    """Merge supervoxels greedily by energy, and write the segmentation."""
    import time

    from napari_celis.cli.progress import bar
    from napari_celis.core.errors import ModelError
    from napari_celis.core.supervoxels import Supervoxels
    from napari_celis.core.volume import Volume
    from napari_celis.io.volumes import open_volume, read_image, read_labels, require_same_shape, write_volume
    from napari_celis.models.apply import agglomerator_of, supervoxels_of

    require_target(output)
    require_outputs(json)
    inputs = {"--image": image, "--model": model, "--supervoxels": supervoxels}
    require_distinct({"--output": output, "--json": json}, inputs)
    loaded, volume = open_for_model(image, model, any_voxel_size)
    if policy is not None and policy.value not in loaded.policies:
        raise ModelError(f"{model} knows only the policy {', '.join(loaded.policies)}.")
    require_memory_for("Agglomerating", volume)
    begin = time.monotonic()
    labels = None
    if supervoxels is not None:
        label_volume = open_volume(supervoxels)
        require_same_shape(image=volume, supervoxels=label_volume)
        labels = read_labels(label_volume)
    grey = read_image(volume)
    remark_on_roles(grey, labels)
    affinities = affinities_for(loaded, grey)
    if labels is None:
        labels = supervoxels_of(affinities)
    chosen = loaded.policy if policy is None else policy.value
    stop_at = loaded.thresholds[chosen] if threshold is None else threshold
    with (
        bar("first scores") as progress,
        agglomerator_of(
            loaded,
            Supervoxels.from_labels(labels),
            affinities,
            policy=chosen,
            progress=lambda share: progress(round(100 * share), 100),
        ) as agglomerator,
    ):
        figures = {"policy": chosen, **_run(agglomerator, stop_at)}
        segmentation = agglomerator.labels()
    figures["seconds"] = time.monotonic() - begin
    written = Volume(segmentation, volume.voxel_size_nm, volume.offset_nm, volume.name)
    write_volume(written, output, kind="labels")
    _report(figures, output)
    write_json(json, {**figures, "output": output})


def _run(agglomerator: Agglomerator, threshold: float) -> dict[str, Any]:
    """Take steps until none is below the threshold, and tell what happened."""
    from tqdm import tqdm

    before, n_before = agglomerator.energy, agglomerator.n_segments
    lowest = agglomerator.best_action()
    best_score = float(agglomerator.scores()[lowest]) if lowest >= 0 else None
    steps = sum(1 for _ in tqdm(agglomerator.steps(threshold), desc="merges", unit=""))
    return {
        "threshold": threshold,
        "steps": steps,
        "supervoxels": n_before,
        "segments": agglomerator.n_segments,
        "energy_before": before,
        "energy": agglomerator.energy,
        "best_first_score": best_score,
    }


def _report(figures: dict[str, Any], output: str) -> None:
    """Say what was done, and why if nothing was."""
    if not figures["steps"]:
        score = figures["best_first_score"]
        reason = "no two supervoxels touch" if score is None else f"the best score is {score:.3g}"
        typer.echo(f"No merge was made: {reason}, and the threshold is {figures['threshold']:.3g}.")
    typer.echo(
        f"Wrote {output}: {figures['supervoxels']:,} supervoxels became {figures['segments']:,} segments "
        f"in {figures['steps']:,} steps."
    )

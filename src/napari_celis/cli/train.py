"""`celis train`: from an annotated volume to a model file."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from napari_celis.cli.app import app
from napari_celis.cli.options import ImageOption, JsonOption, SupervoxelsOption, write_json


class EnergyPreset(StrEnum):
    """Sizes of the energy models."""

    fast = "fast"
    paper = "paper"


class AffinityPreset(StrEnum):
    """Kinds of affinity network."""

    unet = "unet"
    paper = "paper"


@app.command()
def train(
    image: ImageOption,
    truth: Annotated[str, typer.Option(metavar="V", help="True segmentation; 0 is unknown.")],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="MODEL", help="Model file to write.")],
    supervoxels: SupervoxelsOption = None,
    preset: Annotated[EnergyPreset, typer.Option(help="Size of the energy models.")] = EnergyPreset.fast,
    affinity: Annotated[AffinityPreset, typer.Option(help="Affinity network.")] = AffinityPreset.unet,
    minutes: Annotated[float, typer.Option(metavar="N", min=0.1, help="Time for everything.")] = 30.0,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Source of every random choice.")] = 0,
    attribution: Annotated[
        str, typer.Option(metavar="TEXT", help="Whose data it is; kept in the model.")
    ] = "",
    json: JsonOption = None,
) -> None:
    """Train the affinity network and the energy models on one annotated volume."""
    from tqdm import tqdm

    from napari_celis.io.volumes import open_volume, read_image, read_labels, require_same_shape
    from napari_celis.models.checkpoint import save_model
    from napari_celis.training.pipeline import TrainSettings, train_model

    volumes = {"image": open_volume(image), "truth": open_volume(truth)}
    if supervoxels is not None:
        volumes["supervoxels"] = open_volume(supervoxels)
    require_same_shape(**volumes)
    labels = read_labels(volumes["supervoxels"]) if supervoxels is not None else None
    records = train_model(
        read_image(volumes["image"]),
        read_labels(volumes["truth"]),
        labels,
        volumes["image"].voxel_size_nm,
        TrainSettings(preset.value, affinity.value, minutes, seed=seed),
        attribution=attribution,
    )
    with tqdm(total=1.0, bar_format="{l_bar}{bar}| {elapsed}{postfix}") as bar:
        while True:
            try:
                record = next(records)
            except StopIteration as stop:
                model = stop.value
                break
            bar.set_description(record.stage)
            bar.set_postfix({key: f"{value:.3f}" for key, value in record.figures.items()})
            bar.update(max(0.0, record.done - bar.n))
    save_model(model, output)
    typer.echo(f"Wrote {output}; agglomeration stops at a score of {model.threshold:.3g}.")
    write_json(json, {"model": str(output), "threshold": model.threshold, **model.figures})

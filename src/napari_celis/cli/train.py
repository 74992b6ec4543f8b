"""`celis train`: from an annotated volume to a model file."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import asdict
from enum import StrEnum
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from napari_celis.cli.annotated import named, require_pairs
from napari_celis.cli.app import app
from napari_celis.cli.options import JsonOption, require_outputs, require_target, say, write_json
from napari_celis.cli.outputs import require_distinct
from napari_celis.training import AFFINITY_SHARE, DEFAULT_MINUTES

if TYPE_CHECKING:
    from napari_celis.training.pipeline import Trained
    from napari_celis.training.records import Records


MOST_MINUTES = 60 * 24 * 365
LARGEST_SEED = 2**32 - 1
"""What every library takes."""


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
    image: Annotated[
        list[str], typer.Option(metavar="V", help="Image; repeat --image, --truth … for several volumes.")
    ],
    truth: Annotated[list[str], typer.Option(metavar="V", help="True segmentation; 0 is unknown.")],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="MODEL", help="Model file to write.")],
    supervoxels: Annotated[
        list[str] | None,
        typer.Option(metavar="V", help="Oversegmentation; made from the image if not given."),
    ] = None,
    preset: Annotated[EnergyPreset, typer.Option(help="Size of the energy models.")] = EnergyPreset.fast,
    affinity: Annotated[AffinityPreset, typer.Option(help="Affinity network.")] = AffinityPreset.unet,
    minutes: Annotated[
        float,
        typer.Option(metavar="N", min=0.1, max=MOST_MINUTES, help="Processor time per core, for everything."),
    ] = DEFAULT_MINUTES,
    affinity_share: Annotated[
        float,
        typer.Option(metavar="N", min=0.1, max=0.9, help="Share of that time for the affinity networks."),
    ] = AFFINITY_SHARE,
    seed: Annotated[
        int, typer.Option(metavar="N", min=0, max=LARGEST_SEED, help="Source of every random choice.")
    ] = 0,
    second_round: Annotated[
        bool,
        typer.Option(
            "--second-round",
            help="Train a second time, on states that the trained model reaches (as in DAgger).",
        ),
    ] = False,
    unsure: Annotated[
        bool,
        typer.Option(
            "--unsure",
            help="Let shape learn where affinities are unsure: after all merges that they are sure of.",
        ),
    ] = False,
    attribution: Annotated[
        str, typer.Option(metavar="TEXT", help="Whose data it is; kept in the model.")
    ] = "",
    affinities: Annotated[
        list[str] | None,
        typer.Option(
            metavar="OUT",
            help="Also write the affinities of this image, each half predicted by a network trained on the "
            "other, for `celis compare --train-affinities`.",
        ),
    ] = None,
    dilation: Annotated[
        int,
        typer.Option(metavar="N", min=0, max=8, help="Widen the true boundaries by this many voxels."),
    ] = 0,
    min_voxels: Annotated[
        int, typer.Option(metavar="N", min=0, help="Leave smaller true objects out of the boundaries.")
    ] = 0,
    device: Annotated[
        str, typer.Option(metavar="NAME", help="cpu, cuda or mps; the best one by default.")
    ] = "auto",
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Continue an interrupted training with the same data and settings."),
    ] = False,
    restart: Annotated[
        bool, typer.Option("--restart", help="Delete an interrupted training of this model and start again.")
    ] = False,
    anew: Annotated[bool, typer.Option("--anew", hidden=True, help="Old name of --restart.")] = False,
    records: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Append progress here, one line of JSON per record.")
    ] = None,
    json: JsonOption = None,
) -> None:
    """Train affinity network, energy models and policy on one or several annotated volumes."""
    from napari_celis.core.errors import CelisError
    from napari_celis.io.affinities import DEFAULT_DATASET, Affinities, write_affinities
    from napari_celis.io.volumes import open_volume
    from napari_celis.models.model_file import save_model
    from napari_celis.training.pipeline import TrainSettings, train_model
    from napari_celis.training.reading import read_annotated

    if minutes != minutes:
        raise typer.BadParameter("this is not a number.", param_hint="--minutes")
    restart = restart or anew
    if resume and restart:
        raise typer.BadParameter("give only one of them.", param_hint="--resume, --restart")
    require_outputs(json, output, records)
    supervoxels, affinities = supervoxels or [], affinities or []
    require_pairs(image, truth, supervoxels, affinities)
    for target in affinities:
        require_target(target, is_affinities=True)
    outputs = {"--output": output, **named("--affinities", affinities), "--records": records, "--json": json}
    inputs = named("--image", image) | named("--truth", truth) | named("--supervoxels", supervoxels)
    require_distinct(outputs, inputs, unnamed=DEFAULT_DATASET)
    unfinished = output.with_name(f"{output.name}.training")
    if unfinished.exists() and not (resume or restart):
        raise CelisError(
            f"There is an unfinished training of {output}. Add --resume to continue it, or --restart to "
            "delete it and start again."
        )
    opened = [[open_volume(target) for target in targets] for targets in (image, truth, supervoxels)]
    volumes, voxel_size_nm = read_annotated(*opened, names=image, say=say)
    settings = TrainSettings(
        preset.value,
        affinity.value,
        minutes,
        affinity_share=affinity_share,
        second_round=second_round,
        unsure=unsure,
        seed=seed,
        dilation=dilation,
        min_voxels=min_voxels,
        device=device,
    )
    training = train_model(
        volumes, voxel_size_nm, settings, attribution=attribution, folder=unfinished, resume=resume
    )
    try:
        trained = _follow(training, records)
    except KeyboardInterrupt:
        typer.echo("Finished parts are kept. Run the same command with --resume to continue.", err=True)
        raise
    model = save_model(trained.model, output)
    for own, target in zip(trained.affinities, affinities, strict=False):
        write_affinities(Affinities(own, voxel_size_nm), target)
    trained.checkpoint.clear()
    for sentence in _told(trained.model.figures):
        typer.echo(sentence)
    thresholds = trained.model.thresholds
    typer.echo(f"Wrote {model}; agglomeration stops at a score of {trained.model.threshold:.3g}.")
    write_json(json, {"model": str(output), "thresholds": dict(thresholds), **trained.model.figures})


def _told(figures: Mapping[str, Any]) -> list[str]:
    """Say why the training ended where it did, and how well each volume does."""
    sentences = []
    for number, one in enumerate(figures["affinity_networks"], start=1):
        why = "it no longer got better" if one["ended"] == "no longer better" else "its time was used"
        sentences.append(f"Affinity network {number}: {one['steps']:,} steps, then {why}.")
    if figures["share_of_area"] < 1:
        sentences.append(
            f"Energy models and policy learned from {figures['share_of_area']:.0%} of each section: more "
            "--minutes let them see all."
        )
    for one in figures["volumes"]:
        sentences.append(
            f"{one['name']}, by what did not learn from it: AUC of affinities {one['affinity_auc']:.3f}; VI "
            f"{one['vi_supervoxels']:.3f} bits before, {one['vi_energy']:.3f} by energy, "
            f"{one['vi_learned']:.3f} by the learned policy."
        )
        if own := one.get("own"):
            sentences.append(
                f"From its image alone, with own supervoxels: {own['vi_supervoxels']:.3f} bits before, "
                f"{own['vi_energy']:.3f} by energy, {own['vi_learned']:.3f} by the learned policy."
            )
    return sentences


def _follow(records: Records[Trained], path: Path | None) -> Trained:
    """Show the records on a bar and write them to a file, until there is a result."""
    import time

    from tqdm import tqdm

    begin = time.monotonic()
    with (
        tqdm(total=1.0, bar_format="{l_bar}{bar}| {elapsed}{postfix}") as bar,
        nullcontext() if path is None else path.open("a") as file,
    ):
        while True:
            try:
                record = next(records)
            except StopIteration as stop:
                trained: Trained = stop.value
                return trained
            bar.set_description(record.stage)
            bar.set_postfix({key: f"{value:.3f}" for key, value in record.figures.items()})
            bar.update(max(0.0, record.done - bar.n))
            if file is not None:
                line = {**asdict(record), "seconds": time.monotonic() - begin}
                file.write(dumps(line) + "\n")
                file.flush()

"""`celis reproduce`: the experiments of the paper at our scale, as one report."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from napari_celis.cli.app import app
from napari_celis.cli.options import AnyVoxelSizeOption, require_folder, say
from napari_celis.cli.outputs import require_distinct, require_folder_output
from napari_celis.cli.progress import stage_bars

if TYPE_CHECKING:
    from napari_celis.bench.reproduce.section import Section
    from napari_celis.pipeline.choice import Choice
    from napari_celis.pipeline.stages import Report

OWN = ("--image", "--truth", "--model", "--train-image", "--train-truth")
"""Options that belong together: a volume to judge on, one to tune on, and a model that has seen neither."""


@app.command()
def reproduce(
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="DIR", help="Folder for report.html and numbers.json.")
    ] = Path("reproduction"),
    image: Annotated[
        str | None, typer.Option(metavar="V", help="Image to judge on; the bundled phantom by default.")
    ] = None,
    truth: Annotated[str | None, typer.Option(metavar="V", help="True segmentation of the image.")] = None,
    supervoxels: Annotated[
        str | None, typer.Option(metavar="V", help="Oversegmentation; made from the image if not given.")
    ] = None,
    affinities: Annotated[
        str | None, typer.Option(metavar="V", help="Affinities to use instead of the model's.")
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(metavar="MODEL", help="Model made by celis train, which has seen neither image."),
    ] = None,
    train_image: Annotated[
        str | None, typer.Option(metavar="V", help="Image to fit and tune other methods on.")
    ] = None,
    train_truth: Annotated[
        str | None, typer.Option(metavar="V", help="True segmentation of the training image.")
    ] = None,
    train_supervoxels: Annotated[
        str | None, typer.Option(metavar="V", help="Oversegmentation of the training image.")
    ] = None,
    train_affinities: Annotated[
        str | None, typer.Option(metavar="V", help="Affinities of the training image.")
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="SECTION", help="Measure this section alone; may be given several times."),
    ] = None,
    seed: Annotated[
        int, typer.Option(metavar="N", min=0, max=2**32 - 1, help="Of forests, networks and sampled pairs.")
    ] = 0,
    restart: Annotated[bool, typer.Option(help="Delete what the folder holds and start again.")] = False,
    any_voxel_size: AnyVoxelSizeOption = False,
) -> None:
    """Repeat the experiments of the paper, and write one report with figures and one file with all numbers.

    What is finished is kept: the same command goes on where it was interrupted.
    """
    sections = _chosen(only)
    require_folder_output("--output", output)
    require_folder(output)
    volumes = {"--image": image, "--truth": truth, "--supervoxels": supervoxels, "--affinities": affinities}
    volumes |= {"--train-image": train_image, "--train-truth": train_truth}
    volumes |= {"--train-supervoxels": train_supervoxels, "--train-affinities": train_affinities}
    given: dict[str, str | None] = {**volumes, "--model": None if model is None else str(model)}
    _require_complete(given)
    four_axes = {name: target for name, target in volumes.items() if name.endswith("affinities")}
    three_axes = {name: target for name, target in given.items() if name not in four_axes}
    require_distinct({"--output": output}, three_axes, affinities=four_axes)
    from napari_celis.bench.reproduce.experiment import Experiment
    from napari_celis.bench.reproduce.identity import BUNDLED, settings_of
    from napari_celis.bench.reproduce.run import REPORT, Results, require_own
    from napari_celis.bench.reproduce.run import reproduce as measure
    from napari_celis.bench.reproduce.sections import SECTIONS
    from napari_celis.io.samples import bundled_models

    require_own(output)
    with stage_bars() as report:
        test, train = _choices(given, report, any_voxel_size=any_voxel_size)
        experiment = Experiment(test, train, seed=seed, report=report, say=say)
        names = {name.strip("-"): target for name, target in given.items() if target is not None}
        settings = settings_of(experiment, model or bundled_models()["phantom"], names or BUNDLED)
        results = Results(output, settings)
        with results.opened(restart=restart):
            try:
                measure(experiment, results, sections, report)
            finally:
                results.write(SECTIONS, shlex.join(["celis", *sys.argv[1:]]))
    typer.echo(f"{output / REPORT}: open it in a browser. All numbers are in numbers.json beside it.")


def _chosen(only: list[str] | None) -> tuple[Section, ...]:
    """Find the sections that are asked for; all by default."""
    from napari_celis.bench.reproduce.sections import SECTIONS

    known = [section.name for section in SECTIONS]
    unknown = [name for name in only or () if name not in known]
    if unknown:
        raise typer.BadParameter(
            f"there is no section {unknown[0]!r}; there are: {', '.join(known)}", param_hint="--only"
        )
    return tuple(section for section in SECTIONS if not only or section.name in only)


def _require_complete(given: Mapping[str, str | None]) -> None:
    """Refuse some of the volumes without the others: numbers would mix the phantom with them."""
    from napari_celis.core.errors import CelisError

    missing = [name for name in OWN if given[name] is None]
    if missing and any(target is not None for target in given.values()):
        raise CelisError(
            f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing. Give {', '.join(OWN)} "
            "together, or none of them for the bundled phantom."
        )


def _choices(
    given: Mapping[str, str | None], report: Report, *, any_voxel_size: bool
) -> tuple[Choice, Choice]:
    """Open the volumes to judge and to tune on."""
    from napari_celis.bench.reproduce.experiment import bundled_choices

    if given["--image"] is None:
        return bundled_choices(report)
    from napari_celis.io.affinities import open_affinities
    from napari_celis.io.volumes import open_volume
    from napari_celis.models.model_file import load_model
    from napari_celis.pipeline.choice import Choice

    model = load_model(given["--model"] or "")

    def choice(prefix: str) -> Choice:
        image, truth, labels, affinities = (
            given[f"--{prefix}{role}"] for role in ("image", "truth", "supervoxels", "affinities")
        )
        return Choice(
            image=open_volume(image or ""),
            truth=open_volume(truth or ""),
            supervoxels=None if labels is None else open_volume(labels),
            affinities=None if affinities is None else open_affinities(affinities),
            model=model,
            any_voxel_size=any_voxel_size,
        )

    return choice(""), choice("train-")

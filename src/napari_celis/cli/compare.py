"""`celis compare`: every way to agglomerate, on the same supervoxels and the same affinities."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from napari_celis.cli.app import app
from napari_celis.cli.options import JsonOption, require_outputs, say, write_json
from napari_celis.cli.outputs import require_distinct
from napari_celis.core.errors import CelisError

if TYPE_CHECKING:
    from napari_celis.models.model_file import CelisModel
    from napari_celis.pipeline.choice import Choice

COLUMNS = (
    ("VI", "vi", ".3f"),
    ("split", "vi_split", ".3f"),
    ("merge", "vi_merge", ".3f"),
    ("Rand F1", "rand_f1", ".3f"),
)


FEW_VOLUMES = (
    "Without --train-image and --train-truth, methods are tuned on the first half of the volume. Give both, "
    "or leave out all other options of the training volume and --affinities."
)


class _Volumes(NamedTuple):
    """The names of the volumes of one problem."""

    image: str
    truth: str
    supervoxels: str | None
    affinities: str | None


@app.command()
def compare(
    image: Annotated[str, typer.Option(metavar="V", help="Image to judge on.")],
    truth: Annotated[str, typer.Option(metavar="V", help="True segmentation of the image; 0 is unlabelled.")],
    model: Annotated[Path, typer.Option(metavar="MODEL", help="Model file made by celis train.")],
    train_image: Annotated[
        str | None,
        typer.Option(
            metavar="V",
            help="Image to fit and tune on; without it the first half along z of the given volumes, and only "
            "their second half is judged.",
        ),
    ] = None,
    train_truth: Annotated[
        str | None, typer.Option(metavar="V", help="True segmentation of the training image.")
    ] = None,
    supervoxels: Annotated[
        str | None, typer.Option(metavar="V", help="Oversegmentation; made from the image if not given.")
    ] = None,
    train_supervoxels: Annotated[
        str | None, typer.Option(metavar="V", help="Oversegmentation of the training image.")
    ] = None,
    affinities: Annotated[
        str | None, typer.Option(metavar="V", help="Affinities to use instead of the model's.")
    ] = None,
    train_affinities: Annotated[
        str | None,
        typer.Option(
            metavar="V",
            help="Affinities of the training image, best from a network not trained on it.",
        ),
    ] = None,
    ignore_boundary: Annotated[
        int,
        typer.Option(
            metavar="N", min=0, help="Judge a second time without voxels within N of a truth boundary."
        ),
    ] = 2,
    seed: Annotated[int, typer.Option(metavar="N", min=0, max=2**32 - 1, help="Seed of the forests.")] = 0,
    any_voxel_size: Annotated[
        bool, typer.Option(help="Use the model although it was trained on other voxel sizes.")
    ] = False,
    records: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Append progress here, one line of JSON per record.")
    ] = None,
    json: JsonOption = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw split against merge error: .png, .pdf or .svg.")
    ] = None,
) -> None:
    """Fit and tune every method on one volume, judge it on another, and print the table of the paper."""
    from napari_celis.api import compare
    from napari_celis.baselines.compare import baseline_methods
    from napari_celis.cli.progress import recorded, stage_bars
    from napari_celis.models.model_file import load_model

    require_outputs(json, records, plot=plot)
    inputs: dict[str, str | Path | None] = {"--image": image, "--truth": truth, "--model": model}
    inputs |= {"--train-image": train_image, "--train-truth": train_truth}
    inputs |= {"--supervoxels": supervoxels, "--train-supervoxels": train_supervoxels}
    given = {"--affinities": affinities, "--train-affinities": train_affinities}
    require_distinct({"--json": json, "--plot": plot, "--records": records}, inputs, affinities=given)
    has_halves = train_image is None or train_truth is None
    further = (train_image, train_truth, train_supervoxels, affinities, train_affinities)
    if has_halves and any(one is not None for one in further):
        raise CelisError(FEW_VOLUMES)
    loaded = load_model(model)
    test = _choice(loaded, _Volumes(image, truth, supervoxels, affinities), any_voxel_size)
    if train_image is None or train_truth is None:
        train, test = _halves(test)
    else:
        named = _Volumes(train_image, train_truth, train_supervoxels, train_affinities)
        train = _choice(loaded, named, any_voxel_size)
    _, notes = baseline_methods()
    with recorded(records), stage_bars() as report:
        results = compare(train, test, boundary=ignore_boundary, seed=seed, report=report, say=say)
    if train_affinities is None:
        notes.append(
            "Other methods were tuned with affinities of this model. If it has seen the training image, they "
            "are too sure of themselves: give --train-affinities from a network that has not."
        )
    _print(results, notes, ignore_boundary)
    write_json(json, results)
    if plot is not None:
        from napari_celis.bench.compare_plot import draw
        from napari_celis.io.atomic import atomic_file

        with atomic_file(plot) as temporary:
            draw(results, temporary, plot.suffix.lower().lstrip("."))


def _choice(model: CelisModel, names: _Volumes, any_voxel_size: bool) -> Choice:
    """Open the volumes of one problem."""
    from napari_celis.io.affinities import open_affinities
    from napari_celis.io.volumes import open_volume
    from napari_celis.pipeline.choice import Choice

    return Choice(
        image=open_volume(names.image),
        supervoxels=None if names.supervoxels is None else open_volume(names.supervoxels),
        truth=open_volume(names.truth),
        affinities=None if names.affinities is None else open_affinities(names.affinities),
        model=model,
        any_voxel_size=any_voxel_size,
    )


def _halves(choice: Choice) -> tuple[Choice, Choice]:
    """Cut all volumes of a problem in two along z: one to tune on, the other to judge by."""
    from napari_celis.pipeline.checks import check_volumes
    from napari_celis.pipeline.halves import halves

    check_volumes(choice)
    parts = {role: halves(volume) for role, volume in choice.volumes.items()}
    first: dict[str, Any] = {role: pair[0] for role, pair in parts.items()}
    second: dict[str, Any] = {role: pair[1] for role, pair in parts.items()}
    return replace(choice, **first), replace(choice, **second)


def _print(results: dict[str, dict[str, Any]], notes: list[str], n: int) -> None:
    """Print the table: all voxels on the left, without the boundary on the right."""
    titles = "".join(f"{title:>9}" for title, _, _ in COLUMNS)
    width = 9 * len(COLUMNS)
    typer.echo(f"{'':<16}{'all voxels (bits)':^{width}}  {f'> {n} from boundary':^{width}}")
    typer.echo(f"{'':<16}{titles}  {titles}{'segments':>10}{'threshold':>11}{'tuned on':>10}{'seconds':>9}")
    for name, result in results.items():
        both = "  ".join(
            "".join(f"{figures[key]:>9{form}}" for _, key, form in COLUMNS)
            for figures in (result, result["ignore_boundary"])
        )
        threshold = "–" if result["threshold"] is None else f"{result['threshold']:.3f}"
        typer.echo(
            f"{name:<16}{both}{result['segments']:>10,}{threshold:>11}{result['tuned_on'] or '–':>10}"
            f"{result['seconds']:>9.1f}"
        )
    for note in notes:
        typer.echo(note)

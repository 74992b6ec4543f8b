"""`celis pruning-report`: what every pruning rule of the paper saves, its lower bound, and what we need."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from napari_celis.cli.app import app
from napari_celis.cli.options import JsonOption, require_outputs, write_json
from napari_celis.cli.outputs import require_distinct
from napari_celis.cli.progress import stage_bars

if TYPE_CHECKING:
    from napari_celis.core.descriptors import DescriptorSpec
    from napari_celis.core.volume import Volume

EVALUATION_LINES = (
    ("the paper, each descriptor once", "lower_bound"),
    ("the paper, as listed", "paper_evaluations"),
    ("ours", "ours_evaluations"),
)
RATIO_LINES = (
    ("our evaluations ÷ lower bound", "evaluations_vs_lower_bound"),
    ("our evaluations ÷ the paper's, as listed", "evaluations_vs_paper"),
    ("our look-ups ÷ the paper's, all four rules", "lookups_vs_paper"),
)
RULE_NAMES = {"visibility": "visibility", "zone": "zones", "graph": "graph", "ours": "ours"}


@app.command()
def pruning_report(
    supervoxels: Annotated[str, typer.Option(metavar="V", help="Supervoxels to agglomerate.")],
    crop: Annotated[
        tuple[int, int, int] | None,
        typer.Option(metavar="Z Y X", help="Take a block of this size from the middle."),
    ] = None,
    steps: Annotated[int, typer.Option(metavar="N", min=1, help="Count this many merges.")] = 250,
    stride: Annotated[
        int, typer.Option(metavar="N", min=1, help="Distance of centres in voxels; 1 is the paper.")
    ] = 4,
    specs: Annotated[
        str, typer.Option(metavar="NAMES", help="`paper`, or some of its specs: pairwise9,center17.")
    ] = "paper",
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Seed of the sampled pairs.")] = 0,
    json: JsonOption = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the curves: .png, .pdf or .svg.")
    ] = None,
) -> None:
    """Count descriptors and energies of a greedy run: the paper's rules, its lower bound, and ours.

    There is no trained model in it: a stand-in energy decides what is merged.
    """
    from napari_celis.bench.pruning_counts import count_costs
    from napari_celis.core.supervoxels import Supervoxels
    from napari_celis.io.volumes import open_volume, read_labels

    require_outputs(json, plot=plot)
    require_distinct({"--json": json, "--plot": plot}, {"--supervoxels": supervoxels})
    volume = open_volume(supervoxels)
    chosen = _choose_specs(specs, seed, stride, volume)
    atoms = Supervoxels.from_labels(read_labels(_crop(volume, crop)))
    with stage_bars(delay=2) as report:
        counted = count_costs(atoms, chosen, steps, report)
    figures = {"stride": stride, "seed": seed, "specs": [spec.name for spec in chosen], **counted}
    _print(figures)
    write_json(json, figures)
    if plot is not None:
        from napari_celis.bench.pruning_plot import draw
        from napari_celis.io.atomic import atomic_file

        with atomic_file(plot) as temporary:
            draw(figures, temporary, plot.suffix.lower().lstrip("."))


def _choose_specs(names: str, seed: int, stride: int, volume: Volume) -> tuple[DescriptorSpec, ...]:
    """Make the specs of the paper, all or those that are named."""
    from napari_celis.core.descriptors import paper_specs
    from napari_celis.core.errors import SpecError

    every = paper_specs(seed=seed, voxel_size_nm=volume.voxel_size_nm, strides=(stride, stride, stride))
    if names == "paper":
        return every
    by_name = {spec.name: spec for spec in every}
    unknown = [name for name in names.split(",") if name not in by_name]
    if unknown:
        raise SpecError(
            f"There is no spec `{unknown[0]}`. Choose from {', '.join(by_name)}, or `paper` for all of them."
        )
    return tuple(spec for spec in every if spec.name in names.split(","))


def _crop(volume: Volume, size_zyx: tuple[int, int, int] | None) -> Volume:
    """Cut a block out of the middle, still unread."""
    from napari_celis.core.errors import VolumeError
    from napari_celis.core.volume import format_shape

    if size_zyx is None:
        return volume
    if any(not 1 <= size <= whole for size, whole in zip(size_zyx, volume.shape, strict=True)):
        raise VolumeError(
            f"A block of {format_shape(size_zyx)} cannot be cut from {volume.name}, which has "
            f"{format_shape(volume.shape)} voxels. Give a smaller --crop."
        )
    first = [(whole - size) // 2 for size, whole in zip(size_zyx, volume.shape, strict=True)]
    block = tuple(slice(begin, begin + size) for begin, size in zip(first, size_zyx, strict=True))
    return replace(volume, data=volume.data[block])


def _print(figures: dict[str, Any]) -> None:
    """Print the counts as tables."""
    from napari_celis.bench.pruning_counts import DESCRIPTOR_LINES

    shape = " × ".join(map(str, figures["shape_zyx"]))
    typer.echo(
        f"{shape} voxels, {figures['supervoxels']:,} supervoxels, {figures['actions']:,} actions, "
        f"{len(figures['specs'])} specs, stride {figures['stride']}; "
        f"{figures['steps']:,} merges by a stand-in energy\n"
    )
    merges = f"{figures['steps']:,} merges"
    for title, lines in (
        ("Descriptors computed", DESCRIPTOR_LINES),
        ("Energies evaluated", EVALUATION_LINES),
    ):
        typer.echo(f"{title:<34}{'first scores':>20}{merges:>20}{'÷ lower bound':>16}")
        for line, key in lines:
            first, updates = figures["first_scores"][key], figures["updates"][key]
            bound = figures["updates"]["lower_bound"]
            share = f"{updates / bound:,.3g}" if bound else "–"
            typer.echo(f"  {line:<32}{first:>20,}{updates:>20,}{share:>16}")
        typer.echo("")
    typer.echo("Centres that a rule keeps, of those in the regions of a merge")
    for key, name in RULE_NAMES.items():
        rule = figures["rules"][key]
        share = f"{rule['kept'] / rule['examined']:.1%}" if rule["examined"] else "–"
        typer.echo(f"  {name:<32}{rule['kept']:>20,}{rule['examined']:>20,}{share:>16}")
    typer.echo("\nUpdates only, first scores left out")
    for line, key in RATIO_LINES:
        typer.echo(f"  {line:<72}{'–' if figures[key] is None else format(figures[key], '.4f'):>16}")

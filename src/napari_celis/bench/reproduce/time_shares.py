"""Where the time of an agglomeration goes: descriptors, energy model, and the rest."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from time import perf_counter
from typing import Any

from napari_celis.bench.agglomeration import crop_middle, random_network_energy
from napari_celis.bench.pruning_plot import GREY, INK, SKY, VERMILION
from napari_celis.bench.reproduce.drawing import dress, new_figure, svg_of
from napari_celis.bench.reproduce.experiment import Experiment
from napari_celis.bench.reproduce.section import (
    Block,
    Finding,
    Numbers,
    Paragraph,
    Picture,
    Section,
    Table,
    percent,
)
from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.descriptors import paper_specs
from napari_celis.core.policy import EnergyPolicy
from napari_celis.core.supervoxels import Supervoxels
from napari_celis.models.apply import energy_of
from napari_celis.pipeline.stages import Report

PAPER_DESCRIPTORS = 0.20
"""About; the paper says less than 1 % for pruning and preprocessing, and the rest for the energy model."""
WARM_UP_STEPS = 3
STRIDES = (8, 8, 8)


@dataclass(frozen=True)
class Share:
    """Seconds of one thread."""

    what: str
    steps: int
    evaluations: int
    seconds: float
    descriptors: float
    """Looking up pairs, and making descriptors of them."""
    energy: float
    """The energy model."""


def time_run(what: str, agglomerator: Agglomerator, begin: float, threshold: float, most: int) -> Share:
    """Run greedily and tell where the time went, first scores included.

    Parameters
    ----------
    what : str
        What is timed.
    agglomerator : Agglomerator
        With one thread, no step taken.
    begin : float
        When it began to be made.
    threshold : float
        Score to stop at.
    most : int
        Steps at most.
    """
    steps = 0
    while steps < most and agglomerator.step(threshold) is not None:
        steps += 1
    seconds = perf_counter() - begin
    counters = [counter for scores in agglomerator.specs for counter in (scores.initial, scores.incremental)]
    return Share(
        what,
        steps,
        sum(counter.evaluations for counter in counters),
        seconds,
        sum(counter.lookup_seconds for counter in counters),
        sum(counter.energy_seconds for counter in counters),
    )


def measure(experiment: Experiment, report: Report) -> Numbers:
    """Time the model on the judged volume, and networks of the paper's size on a block of it.

    Parameters
    ----------
    experiment : Experiment
        The volumes.
    report : callable
        Called as `report(stage, share)`.
    """
    report("timing", 0.0)
    shares = [_time_model(experiment)]
    report("timing", 0.5)
    small = _time_paper_size(experiment)
    return {"shares": [asdict(share) for share in (*shares, *small)]}


def _time_model(experiment: Experiment) -> Share:
    """Time a run by energy to the model's threshold."""
    model, problem = experiment.model, experiment.test
    energy = energy_of(model, problem.affinities)
    threshold = model.thresholds["energy"]

    def run(most: int) -> Share:
        begin = perf_counter()
        with Agglomerator(
            problem.supervoxels,
            model.specs,
            energy,
            actions=problem.actions,
            policy=EnergyPolicy(),
            threads=1,
        ) as agglomerator:
            return time_run("the model", agglomerator, begin, threshold, most)

    # The first steps of a process load compiled loops.
    run(WARM_UP_STEPS)
    return run(len(problem.actions))


def _time_paper_size(experiment: Experiment) -> list[Share]:
    """Time random networks of the paper's size, if a block has room for its descriptors."""
    labels = crop_middle(experiment.test.supervoxels.dense, experiment.extent.timed_edge)
    specs = [
        spec
        for spec in paper_specs(seed=experiment.seed, voxel_size_nm=experiment.voxel_size_nm, strides=STRIDES)
        if all(side >= box for side, box in zip(labels.shape, spec.region_zyx, strict=True))
    ]
    if not specs:
        return []
    energy = random_network_energy(labels.shape, specs, experiment.seed, "paper")
    begin = perf_counter()
    with Agglomerator(Supervoxels.from_labels(labels), specs, energy, threads=1) as agglomerator:
        return [
            time_run(
                "networks of the paper's size",
                agglomerator,
                begin,
                float("inf"),
                experiment.extent.timed_steps,
            )
        ]


def describe(numbers: Numbers) -> list[Block]:
    """Draw the shares, and tell the seconds."""
    shares = numbers["shares"]
    rows = [
        [
            one["what"],
            f"{one['steps']:,}",
            f"{one['evaluations']:,}",
            f"{one['seconds']:.1f}",
            *(percent(one[key] / one["seconds"]) for key in ("descriptors", "energy")),
            percent(1 - (one["descriptors"] + one["energy"]) / one["seconds"]),
        ]
        for one in shares
    ]
    rows.insert(0, ["the paper", "–", "–", "–", "about 20 %", "about 80 %", "< 1 %"])
    heading = ("", "merges", "energies evaluated", "seconds", "descriptors", "energy model", "the rest")
    return [
        Paragraph(
            "One thread, time of the clock, first scores included, affinities and image features known. "
            "*The model* agglomerates the whole judged volume by energy with its own small networks; "
            "*networks of the paper's size* (2048 wide, 512 image features, random weights, its five "
            "descriptors) take some merges on a block from the middle. One pass per centre gives all its "
            "descriptors here, so they cost less than in the paper; with small networks the queue and the "
            "graph of segments count too."
        ),
        Picture(draw(shares), "Shares of descriptors, energy model and the rest as bars: the paper and here"),
        Table(heading, rows),
    ]


def draw(shares: list[dict[str, Any]]) -> bytes:
    """Draw one bar per run, and one for the paper."""
    figure = new_figure(0.9 + 0.55 * (len(shares) + 1))
    axes = figure.subplots()
    bars = [("the paper", PAPER_DESCRIPTORS, 1 - PAPER_DESCRIPTORS)]
    bars += [
        (one["what"], one["descriptors"] / one["seconds"], one["energy"] / one["seconds"]) for one in shares
    ]
    for row, (_, descriptors, energy) in enumerate(bars):
        left = 0.0
        for width, colour in ((descriptors, SKY), (energy, VERMILION), (1 - descriptors - energy, "#b8b8b8")):
            axes.barh(row, width, left=left, color=colour, height=0.6)
            if width > 0.05:
                colour = INK if colour == "#b8b8b8" else "white"
                axes.text(
                    left + width / 2, row, percent(width), ha="center", va="center", color=colour, fontsize=9
                )
            left += width
    axes.set_yticks(range(len(bars)), [name for name, _, _ in bars], fontsize=10)
    axes.invert_yaxis()
    dress(axes, "", "", "")
    axes.grid(visible=False)
    axes.set_xticks([])
    for side in ("left", "bottom"):
        axes.spines[side].set_visible(False)
    axes.set_xlim(0, 1)
    for place, (name, colour) in enumerate(
        (("descriptors", SKY), ("energy model", VERMILION), ("the rest", GREY))
    ):
        axes.text(
            0.02 + 0.2 * place,
            1.02,
            name,
            color=colour,
            fontsize=10,
            fontweight="bold",
            transform=axes.transAxes,
        )
    return svg_of(figure)


def summarise(numbers: Numbers) -> list[Finding]:
    """Put the shares of descriptors side by side."""
    return [
        Finding(
            f"Share of time in descriptors, {one['what']}",
            "about 20 %",
            percent(one["descriptors"] / one["seconds"]),
        )
        for one in numbers["shares"]
    ]


SECTION = Section(
    "time",
    "Share of time",
    "Performance results (supplement): “computation of shape descriptors accounted for about 20 % of the "
    "cost”",
    measure,
    describe,
    summarise,
)

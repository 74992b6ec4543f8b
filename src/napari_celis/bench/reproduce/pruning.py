"""Descriptors computed under each pruning rule: the paper's last figure."""

from __future__ import annotations

from napari_celis.bench.agglomeration import crop_middle
from napari_celis.bench.pruning_counts import DESCRIPTOR_LINES, count_costs
from napari_celis.bench.pruning_plot import draw
from napari_celis.bench.reproduce.drawing import written
from napari_celis.bench.reproduce.experiment import Experiment
from napari_celis.bench.reproduce.section import Block, Finding, Numbers, Paragraph, Picture, Section, Table
from napari_celis.core.descriptors import paper_specs
from napari_celis.core.supervoxels import Supervoxels
from napari_celis.pipeline.stages import Report

LINES = (*DESCRIPTOR_LINES, ("ours: energies evaluated", "ours_evaluations"))
PAPER_SAVING = "several orders of magnitude"


def measure(experiment: Experiment, report: Report) -> Numbers:
    """Count on a block from the middle of the judged volume, with the five specs of the paper.

    Parameters
    ----------
    experiment : Experiment
        The volumes.
    report : callable
        Called as `report(stage, share)`.
    """
    extent, stride = experiment.extent, experiment.extent.counted_stride
    labels = crop_middle(experiment.test.supervoxels.dense, extent.counted_edge)
    specs = [
        spec
        for spec in paper_specs(
            seed=experiment.seed, voxel_size_nm=experiment.voxel_size_nm, strides=(stride, stride, stride)
        )
        # A small volume has no room for the largest boxes.
        if all(side >= box for side, box in zip(labels.shape, spec.region_zyx, strict=True))
    ]
    if not specs:
        return {"specs": []}
    counted = count_costs(
        Supervoxels.from_labels(labels), specs, extent.counted_steps, lambda _, share: report("merges", share)
    )
    return {"stride": stride, "specs": [spec.name for spec in specs], **counted}


def describe(numbers: Numbers) -> list[Block]:
    """Draw the curves, and tell the totals."""
    if not numbers["specs"]:
        return [Paragraph("The volume is too small for any descriptor of the paper, so nothing was counted.")]
    first, updates = numbers["first_scores"], numbers["updates"]
    bound = updates["lower_bound"]
    rows = [
        [line, f"{first[key]:,}", f"{updates[key]:,}", _ratio(updates[key], bound)] for line, key in LINES
    ]
    shape = " × ".join(map(str, numbers["shape_zyx"]))
    return [
        Paragraph(
            f"A block of {shape} voxels from the middle, {numbers['supervoxels']:,} supervoxels, "
            f"descriptors {', '.join(numbers['specs'])} with a centre every {numbers['stride']} voxels, "
            f"{numbers['steps']:,} merges. The paper counts on 100³ voxels of its training set with a "
            f"centre at every voxel, so its counts are larger, by about {numbers['stride'] ** 3}. A "
            "stand-in energy decides the merges: counting needs a plausible order and no model."
        ),
        Picture(
            written(lambda file: draw(numbers, file, "svg")),
            "Cumulative number of descriptors per merge under each combination of pruning rules, on a "
            "logarithmic axis",
        ),
        Table(
            ("descriptors computed", "first scores", f"{numbers['steps']:,} merges", "÷ lower bound"),
            rows,
            "The paper gives the curves and no numbers.",
        ),
    ]


def _ratio(count: int, bound: int) -> str:
    """Write how many times the lower bound a count is."""
    ratio = count / bound if bound else float("nan")
    return "–" if not bound else f"{ratio:,.0f}" if ratio >= 100 else f"{ratio:.3g}"


def summarise(numbers: Numbers) -> list[Finding]:
    """Tell what pruning saves."""
    if not numbers["specs"] or not numbers["updates"]["all"]:
        return []
    updates = numbers["updates"]
    saved = updates["non_incremental"] / updates["all"]
    findings = [Finding("Descriptors without pruning ÷ with all four rules", PAPER_SAVING, f"{saved:,.0f}")]
    if updates["lower_bound"]:
        ratio = updates["ours_evaluations"] / updates["lower_bound"]
        findings.append(Finding("Energies evaluated by us ÷ the paper's lower bound", "1", f"{ratio:.2f}"))
    return findings


SECTION = Section(
    "pruning",
    "Pruning",
    "Figure 12, the last one (supplement): effect of pruning on the number of shape descriptors computed",
    measure,
    describe,
    summarise,
)

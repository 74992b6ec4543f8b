"""Say what the error of a trained fold consists of, in bits per cause, and draw the worst of it.

    python benchmarks/accuracy/errors.py VOLUME.h5 z-low MODEL.safetensors [--policy energy] [--picture PNG]

The floor is what the oracle leaves. From the segmentation of the policy, the expert goes on merging as long
as that lowers the VI: what it gains are merges that were missed. What is left above the floor are wrong ones.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from folds import AnnotatedVolume, Block
from napari_celis.baselines.celis import Celis
from napari_celis.baselines.judge import Judge
from napari_celis.baselines.problem import Problem
from napari_celis.baselines.simple import Oracle
from napari_celis.core.segment_graph import SegmentGraph
from napari_celis.evaluation.expert import expert_steps
from napari_celis.evaluation.overlaps import RunningOverlaps, overlap
from napari_celis.models.apply import affinities_of
from napari_celis.models.model_file import load_model

HALF = 50
"""Voxels from the middle of a picture to its sides."""
N_WORST = 3
ORANGE, SKY, GREEN = (0.90, 0.62, 0.0), (0.34, 0.71, 0.91), (0.0, 0.62, 0.45)


@dataclass(frozen=True, eq=False)
class Mistake:
    """A single merge that was missed, or that was wrong."""

    kind: str
    bits: float
    centre_zyx: np.ndarray
    sides: tuple[np.ndarray, np.ndarray]
    """Which supervoxels belong to either side, two arrays of bool (N + 1,)."""


def missed_merges(problem: Problem, segment: np.ndarray) -> tuple[list[Mistake], np.ndarray]:
    """Let the expert go on from a segmentation; returns what it did and the segmentation it comes to."""
    actions = problem.actions
    graph = SegmentGraph(actions, problem.supervoxels.sizes, segment)
    rows = overlap(problem.supervoxels, problem.known_truth()).of_segments(segment)
    found, now = [], segment.copy()
    for step in expert_steps(graph, rows):
        action = step.action_index
        a, b = now[actions.u[action]], now[actions.v[action]]
        found.append(Mistake("missed", -step.change, actions.centroid[action], (now == a, now == b)))
        now[now == b] = a
    return found, now


def wrong_merges(problem: Problem, taken: np.ndarray) -> list[Mistake]:
    """List the merges of a run that made the VI worse when they were taken."""
    actions, now = problem.actions, np.arange(problem.supervoxels.n + 1)
    running = RunningOverlaps(overlap(problem.supervoxels, problem.known_truth()))
    found = []
    for action in taken.tolist():
        a, b = (int(now[end[action]]) for end in (actions.u, actions.v))
        if a == b:
            continue
        change = running.change(a, b)
        if change > 0:
            found.append(Mistake("wrong", change, actions.centroid[action], (now == a, now == b)))
        running.join(a, b)
        now[now == b] = a
    return found


def draw(block: Block, problem: Problem, mistakes: list[Mistake], path: Path) -> None:
    """Draw each mistake in the three planes through the middle of the contact."""
    figure = Figure(figsize=(9.6, 3.25 * len(mistakes)), dpi=110)
    FigureCanvasAgg(figure)
    axes = figure.subplots(len(mistakes), 3, squeeze=False)
    for line, mistake in zip(axes, mistakes, strict=True):
        for axis, cell in enumerate(line):
            _draw_plane(cell, block, problem, mistake, axis)
        line[0].set_ylabel(f"{mistake.kind}, {mistake.bits:.3f} bits", fontsize=11)
    figure.tight_layout(pad=0.6)
    figure.savefig(path)


def _draw_plane(cell: Any, block: Block, problem: Problem, mistake: Mistake, axis: int) -> None:
    """Show grey values, both sides in colour, and the true boundaries in green."""
    centre = mistake.centre_zyx.round().astype(int)
    where = [
        slice(max(0, middle - HALF), min(size, middle + HALF))
        for middle, size in zip(centre, block.image.shape, strict=True)
    ]
    where[axis] = slice(centre[axis], centre[axis] + 1)
    crop = tuple(where)
    grey, truth = (np.squeeze(array[crop], axis) for array in (block.image, block.truth))
    labels = np.squeeze(problem.supervoxels.dense[crop], axis)
    picture = np.repeat(grey[..., None] / 255.0, 3, axis=2)
    for side, colour in zip(mistake.sides, (ORANGE, SKY), strict=True):
        picture[side[labels]] = 0.6 * picture[side[labels]] + 0.4 * np.array(colour)
    edge = np.zeros(truth.shape, dtype=bool)
    edge[1:] |= truth[1:] != truth[:-1]
    edge[:, 1:] |= truth[:, 1:] != truth[:, :-1]
    picture[edge] = GREEN
    cell.imshow(picture, interpolation="nearest")
    cell.set_title(f"{'zyx'[axis]} = {centre[axis]}", fontsize=9)
    cell.set_xticks([])
    cell.set_yticks([])


def main() -> None:
    """Print one line per cause, and one per large mistake."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("volume", type=Path)
    parser.add_argument("fold")
    parser.add_argument("model", type=Path)
    parser.add_argument("--policy", default="learned", choices=("energy", "learned"))
    parser.add_argument("--picture", type=Path)
    arguments = parser.parse_args()
    _, block = AnnotatedVolume.read(arguments.volume).fold(arguments.fold)
    model, policy = load_model(arguments.model), arguments.policy
    problem = Problem.from_labels(block.supervoxels, affinities_of(model, block.image), truth=block.truth)
    sweep = Celis(model, policy).sweep(problem)
    threshold = model.thresholds[policy]
    taken = sweep.actions[: sweep.n_merges(threshold)]
    segment = sweep.segments(threshold)
    missed, continued = missed_merges(problem, segment)
    judge, dense = Judge(block.truth, 2), problem.supervoxels.dense
    own, after = judge.figures(segment[dense]), judge.figures(continued[dense])
    floor = judge.figures(Oracle().sweep(problem).labels(0.0))
    for name, pick in (("all voxels", lambda f: f["vi"]), ("inside", lambda f: f["ignore_boundary"]["vi"])):
        print(
            f"{name:<11} VI {pick(own):.3f} = floor {pick(floor):.3f} + missed {pick(own) - pick(after):.3f} "
            f"+ wrong {pick(after) - pick(floor):.3f}"
        )
    mistakes = sorted([*missed, *wrong_merges(problem, taken)], key=lambda mistake: -mistake.bits)
    for mistake in mistakes[:8]:
        sizes = [int(problem.supervoxels.sizes[side].sum()) for side in mistake.sides]
        place = mistake.centre_zyx.round().astype(int)
        print(f"{mistake.kind:<7} {mistake.bits:.3f} bits at {place}, {sizes} voxels")
    if arguments.picture is not None:
        draw(block, problem, mistakes[:N_WORST], arguments.picture)


if __name__ == "__main__":
    main()

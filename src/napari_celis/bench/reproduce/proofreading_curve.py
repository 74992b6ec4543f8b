"""How fast a person who knows the truth corrects the result, by the order of the questions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass

from napari_celis.bench.proofreading import COUNTS, ORDERS, Order, SimulatedPerson, gap_closed, oracle_vi
from napari_celis.bench.reproduce.drawing import COLOURS, dress, level, new_figure, svg_of
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
from napari_celis.evaluation.overlaps import Overlaps, overlap
from napari_celis.evaluation.running_errors import RunningErrors
from napari_celis.pipeline.agglomeration import agglomerator_of
from napari_celis.pipeline.stages import Report

NAMES = {
    "gain": "by expected gain",
    "gain, learning": "by expected gain, learning from answers",
    "uncertainty": "by uncertainty",
    "random": "at random",
    "best": "by the truth, largest gain first",
}


@dataclass(frozen=True)
class Line:
    """One order of questions."""

    order: str
    vi: list[float]
    """Variation of information in bits, before the first answer and after each."""
    corrections: int
    """Answers that changed the segmentation."""


def measure(experiment: Experiment, report: Report) -> Numbers:
    """Let the simulated person answer after a greedy run, once per order.

    Parameters
    ----------
    experiment : Experiment
        Volumes and model.
    report : callable
        Called as `report(stage, share)`.
    """
    problem, model = experiment.test, experiment.model
    overlaps = overlap(problem.supervoxels, problem.known_truth())
    kinds: list[tuple[Order, bool]] = [(order, False) for order in ORDERS]
    if model.policy == "learned":
        kinds.insert(1, ("gain", True))
    lines, oracle = [], 0.0
    for index, (order, is_learning) in enumerate(kinds):
        report("answers", index / len(kinds))
        with _after_run(experiment) as agglomerator:
            oracle = oracle_vi(agglomerator, overlaps)
            lines.append(_work(experiment, agglomerator, overlaps, order, is_learning=is_learning))
    return {"policy": model.policy, "oracle": oracle, "lines": [asdict(line) for line in lines]}


@contextmanager
def _after_run(experiment: Experiment) -> Iterator[Agglomerator]:
    """Agglomerate the judged volume by the model's own policy."""
    problem, model = experiment.test, experiment.model
    with agglomerator_of(
        model, problem.supervoxels, problem.affinities, actions=problem.actions
    ) as agglomerator:
        for _ in agglomerator.steps(model.threshold):
            pass
        yield agglomerator


def _work(
    experiment: Experiment, agglomerator: Agglomerator, overlaps: Overlaps, order: Order, *, is_learning: bool
) -> Line:
    """Ask and answer in one order."""
    model = experiment.model
    errors = RunningErrors(overlaps, agglomerator.segment_ids())
    if is_learning:
        agglomerator.learn(model.learner())
    person = SimulatedPerson(overlaps, seed=experiment.seed)
    answers = list(person.work(agglomerator, model.threshold, order, experiment.extent.answers))
    vi = [errors.split + errors.merge, *(answer.vi for answer in answers)]
    name = f"{order}, learning" if is_learning else order
    return Line(name, vi, sum(answer.is_correction for answer in answers))


def vi_after(line: dict[str, list[float]], n: int) -> float:
    """Variation of information after this many answers, or after the last one.

    Parameters
    ----------
    line : dict
        A `Line` as JSON.
    n : int
        Answers.
    """
    return line["vi"][min(n, len(line["vi"]) - 1)]


def describe(numbers: Numbers) -> list[Block]:
    """Draw error over answers, and tell the numbers."""
    lines = numbers["lines"]
    most = max(len(line["vi"]) for line in lines) - 1
    counts = [n for n in COUNTS if n <= most]
    rows = [
        [NAMES[line["order"]], *(f"{vi_after(line, n):.3f}" for n in counts), f"{line['corrections']}"]
        for line in lines
    ]
    policy = {"learned": "the learned policy", "energy": "the plain energy"}[numbers["policy"]]
    return [
        Paragraph(
            f"After a greedy run by {policy} a simulated person, who knows the truth and never errs, "
            "answers one question at a time: merge or keep apart, cut or confirm. VI in bits over the "
            "number of answers, by the order in which they are asked."
        ),
        Picture(
            draw(numbers),
            "VI over the number of answers for every order of questions, with the oracle as a line",
        ),
        Table(
            ("questions", *(f"{n} answers" for n in counts), "corrections"),
            rows,
            f"The oracle has {numbers['oracle']:.3f} bits; cuts can go below what its merges reach.",
        ),
        Paragraph(
            "The paper has no such curve. Its discussion expects that better accuracy means less "
            "proofreading; the reconstruction of 379 neurons that it cites took 12,940 hours of it."
        ),
    ]


def draw(numbers: Numbers) -> bytes:
    """Draw one line per order."""
    figure = new_figure()
    axes = figure.subplots()
    styles = ("-", (0, (5, 1)), "--", ":", "-.")
    for line, colour, style in zip(numbers["lines"], COLOURS, styles, strict=False):
        axes.plot(line["vi"], color=colour, linestyle=style, linewidth=1.8, label=NAMES[line["order"]])
    level(axes, numbers["oracle"], "oracle")
    dress(axes, "", "answers", "VI, bits")
    axes.set_xlim(left=0)
    axes.legend(frameon=False, fontsize=9)
    return svg_of(figure)


def summarise(numbers: Numbers) -> list[Finding]:
    """Tell how much of what is reachable answers have brought."""
    by_order = {line["order"]: line for line in numbers["lines"]}
    before, n = by_order["gain"]["vi"][0], min(20, len(by_order["gain"]["vi"]) - 1)
    shares = [
        percent(gap_closed(before, vi_after(by_order[order], n), numbers["oracle"]))
        for order in ("gain", "uncertainty", "random")
    ]
    return [
        Finding(
            f"Share of the way to the oracle after {n} answers, by gain, by uncertainty, at random",
            "–",
            ", ".join(shares),
        )
    ]


SECTION = Section(
    "proofreading",
    "Proofreading",
    "no counterpart; it bears on the discussion of human proofreading effort",
    measure,
    describe,
    summarise,
)

"""`celis queue`: what a person should be asked after a run, as a table to fill in."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from napari_celis.cli.app import app
from napari_celis.cli.options import (
    AffinitiesOption,
    AnyVoxelSizeOption,
    JsonOption,
    OptionalImageOption,
    PolicyOption,
    SupervoxelsOption,
    open_choice,
    require_outputs,
    say,
    write_json,
)
from napari_celis.cli.outputs import require_distinct
from napari_celis.cli.session_options import RelocateOption, relocations, run_recorded

if TYPE_CHECKING:
    import numpy as np

    from napari_celis.core.agglomerator import Agglomerator
    from napari_celis.core.questions import Questions
    from napari_celis.core.remaining_error import RemainingError
    from napari_celis.pipeline.choice import Choice
    from napari_celis.pipeline.recipe import Prepared

TOLD_AFTER = (20, 50, 100)
"""Answers after which it is said what will be left."""


@app.command()
def queue(
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="FILE", help="Table of questions to write, .csv or .json."),
    ],
    model: Annotated[
        str | None,
        typer.Option("--model", metavar="MODEL", help="Model file made by celis train."),
    ] = None,
    image: OptionalImageOption = None,
    supervoxels: SupervoxelsOption = None,
    affinities: AffinitiesOption = None,
    threshold: Annotated[
        float | None, typer.Option(metavar="T", help="Score at which the run stops; the model's by default.")
    ] = None,
    policy: PolicyOption = None,
    session: Annotated[
        Path | None,
        typer.Option(metavar="S", help="Ask about this session as it is, instead of a new run; only read."),
    ] = None,
    relocate: RelocateOption = None,
    most: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Write the first N questions; all by default.")
    ] = None,
    until: Annotated[
        float | None,
        typer.Option(metavar="BITS", min=0.0, help="Say how many questions lead to this error."),
    ] = None,
    any_voxel_size: AnyVoxelSizeOption = False,
    json: JsonOption = None,
) -> None:
    """Write the questions that are worth asking after a run, the best first, and what is left to gain."""
    from napari_celis.core.question_list import list_questions
    from napari_celis.core.remaining_error import remaining_error
    from napari_celis.io.answer_table import require_answer_table, write_questions

    given = {"image": image, "supervoxels": supervoxels, "affinities": affinities, "model": model}
    _require_usage(given, session, relocate, has_policy=policy is not None)
    require_answer_table(output)
    require_outputs(output, json)
    inputs = {"--image": image, "--model": model, "--supervoxels": supervoxels, "--session": session}
    require_distinct({"--output": output, "--json": json}, inputs, affinities={"--affinities": affinities})
    with ExitStack() as stack:
        if session is not None:
            named = {role: place for role, place in given.items() if place is not None}
            places = {**relocations(relocate), **named}
            choice, prepared, put_off = _of_session(
                stack, session, places, {"--output": output, "--json": json}
            )
        else:
            choice = open_choice(
                given, threshold, None if policy is None else policy.value, any_voxel_size=any_voxel_size
            )
            prepared, put_off = _of_run(stack, choice), []
        agglomerator = prepared.agglomerator
        stop_at = prepared.threshold if threshold is None else threshold
        questions = list_questions(agglomerator, stop_at)
        order = _order(agglomerator, questions, choice, put_off)
        rows = [questions.row(int(i), agglomerator.supervoxels, agglomerator.actions) for i in order[:most]]
        are_odds = agglomerator.scoring.are_odds
    write_questions(rows, output, choice.voxel_size_nm, choice.offset_nm)
    left = remaining_error(questions)
    figures = _figures(questions, left, len(rows), until)
    _report(figures, output, until, are_odds=are_odds)
    write_json(json, {**figures, "output": str(output), "threshold": stop_at, "are_odds": are_odds})


def _require_usage(
    given: dict[str, str | None], session: Path | None, relocate: list[str] | None, *, has_policy: bool
) -> None:
    """Refuse options that do not go together."""
    if session is None and given["model"] is None:
        raise typer.BadParameter("Missing option '--model', or --session.")
    if session is None and relocate:
        raise typer.BadParameter("--relocate is for volumes of a session.")
    if session is not None and has_policy:
        raise typer.BadParameter("A session has its policy; leave --policy out.")


def _of_run(stack: ExitStack, choice: Choice) -> Prepared:
    """Run greedily, to ask about the result."""
    from napari_celis.cli.progress import stage_bars
    from napari_celis.pipeline.recipe import prepare

    with stage_bars() as report:
        prepared = prepare(choice, report, say=say)
    stack.enter_context(prepared.agglomerator)
    run_recorded(prepared.agglomerator, prepared.threshold, None)
    return prepared


def _of_session(
    stack: ExitStack, path: Path, places: dict[str, str], outputs: dict[str, Path | None]
) -> tuple[Choice, Prepared, list[tuple[int, int]]]:
    """Open a session to read, with the pairs that were put off."""
    from napari_celis.cli.progress import stage_bars
    from napari_celis.io.session.file import Session
    from napari_celis.pipeline.sessions import go_on

    session = stack.enter_context(Session.open(path, read_only=True))
    with stage_bars() as report:
        opened = go_on(session, relocate=places, is_lazy=True, report=report, say=say)
    stack.enter_context(opened.agglomerator)
    read = {f"the {role} of the session": place for role, place in opened.sources.volumes.items()}
    affinities = {name: read.pop(name) for name in list(read) if "affinities" in name}
    require_distinct(outputs, {**read, "its model": opened.sources.model}, affinities=affinities)
    return opened.choice, opened.prepared, [(one.u_id, one.v_id) for one in session.questions()]


def _order(
    agglomerator: Agglomerator, questions: Questions, choice: Choice, put_off: list[tuple[int, int]]
) -> np.ndarray:
    """Order questions as the window does; those that somebody put off come last."""
    import numpy as np

    from napari_celis.core.questions import question_order

    actions, ids = agglomerator.actions, agglomerator.supervoxels.ids
    positions = actions.centroid[questions.action] * np.array(choice.voxel_size_nm)
    ends = (tuple(np.searchsorted(ids, np.array(pair, dtype=ids.dtype)).tolist()) for pair in put_off)
    late = np.array([actions.find(u, v) for u, v in ends], dtype=np.int64)
    return question_order(questions, positions, skipped=late)


def _figures(
    questions: Questions, left: RemainingError, n_written: int, until: float | None
) -> dict[str, Any]:
    """Say what is asked, and what it is expected to bring."""
    from napari_celis.core.questions import QuestionKind

    n_made = int((questions.kind == QuestionKind.MADE).sum())
    figures: dict[str, Any] = {
        "questions": len(questions),
        "same_neuron": len(questions) - n_made,
        "still_right": n_made,
        "written": n_written,
        "bits_left": left.bits,
        "bits_left_after": {n: float(left.left[n]) for n in TOLD_AFTER if n <= left.n_questions},
    }
    return figures if until is None else {**figures, "questions_until": left.questions_until(until)}


def _report(figures: dict[str, Any], output: Path, until: float | None, *, are_odds: bool) -> None:
    """Say what was written, and what is left."""
    typer.echo(
        f"Wrote {output}: {figures['written']:,} of {figures['questions']:,} questions "
        f"({figures['same_neuron']:,} same neuron?, {figures['still_right']:,} still right?)."
    )
    after = ", ".join(f"{bits:.3f} after {n}" for n, bits in figures["bits_left_after"].items())
    typer.echo(
        f"Expected to be left: {figures['bits_left']:.3f} bits of variation of information"
        + (f"; {after} answers." if after else ".")
    )
    if until is not None:
        typer.echo(f"Answers until {until:g} bits: {figures['questions_until']:,}.")
    if not are_odds:
        say("Scores by energy alone are no odds: probabilities and what is left are only guesses here.")

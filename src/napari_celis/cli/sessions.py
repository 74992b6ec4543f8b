"""`celis sessions`: look at session files, check them, join them, take old files over."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from napari_celis.cli.app import app
from napari_celis.cli.options import (
    AnyVoxelSizeOption,
    JsonOption,
    ModelOption,
    SupervoxelsOption,
    open_choice,
    require_folder,
    require_outputs,
    say,
    write_json,
)
from napari_celis.cli.outputs import require_distinct
from napari_celis.cli.session_options import (
    RelocateOption,
    SegmentsOption,
    SessionArgument,
    TableOption,
    relocations,
    require_session_outputs,
)
from napari_celis.core.words import DECISION_NAMES, counted, counted_decisions

if TYPE_CHECKING:
    from napari_celis.io.session.file import Session
    from napari_celis.pipeline.choice import Atoms, Choice
    from napari_celis.pipeline.session_merge import Conflict, MergePlan, Side

sessions = typer.Typer(
    name="sessions", help="Look at session files, check them, join them.", no_args_is_help=True
)
app.add_typer(sessions)


class Prefer(StrEnum):
    """Whose decision stands where two people disagree."""

    first = "first"
    second = "second"
    newer = "newer"


@sessions.command()
def show(
    session: SessionArgument,
    table: TableOption = None,
    segments: SegmentsOption = None,
    relocate: RelocateOption = None,
    json: JsonOption = None,
) -> None:
    """Say what a session is about, and what was decided in it."""
    from napari_celis.io.session.file import Session
    from napari_celis.io.session.table import write_table

    if relocate and segments is None:
        raise typer.BadParameter("--relocate is for --segments, which reads the supervoxels.")
    require_session_outputs(session, table=table, json=json, segments=segments)
    n_segments = 0
    with Session.open(session, read_only=True) as opened:
        figures = _figures(opened)
        if table is not None:
            write_table(opened.events(), table)
        if segments is not None:
            n_segments = _write_segments(opened, relocations(relocate), segments)
    write_json(json, figures)
    for role, volume in figures["volumes"].items():
        typer.echo(f"{role}: {volume['path'] or 'in no file'}")
    typer.echo(f"model: {figures['model']}")
    typer.echo(_settings_text(figures["settings"]))
    typer.echo(f"Begun {_date(figures['created'])}; last event {_date(figures['last'])}.")
    kinds = counted_decisions(figures["standing_by_kind"])
    n_standing = figures["standing"]
    typer.echo(
        f"{counted(figures['events'], 'event')} by {', '.join(figures['who']) or 'nobody'}; "
        f"{counted(n_standing, 'decision')} stand{'s' * (n_standing == 1)}{f': {kinds}' if kinds else ''}."
    )
    typer.echo(
        f"{counted(figures['segments'], 'segment')} with a name or a note, "
        f"{counted(figures['questions'], 'question')} put aside."
    )
    if table is not None:
        typer.echo(f"Wrote {table}: {counted(figures['events'], 'event')}.")
    if segments is not None:
        typer.echo(f"Wrote {segments}: {counted(n_segments, 'segment')}.")


@sessions.command()
def check(session: SessionArgument, relocate: RelocateOption = None, json: JsonOption = None) -> None:
    """Check a session file and its volumes; exit code 1 if anything is wrong."""
    from napari_celis.core.errors import CelisError
    from napari_celis.io.session.file import Session
    from napari_celis.pipeline.recipe import Inputs, read_atoms
    from napari_celis.pipeline.session_data import open_data
    from napari_celis.pipeline.session_identity import (
        require_same_image,
        require_same_inputs,
        require_same_model,
    )
    from napari_celis.pipeline.splits import history_of

    require_session_outputs(session, json=json)
    with Session.open(session, read_only=True) as opened:
        problems = opened.problems()
        try:
            choice, sources = open_data(opened.head, opened.path, relocations(relocate), is_lazy=True)
            require_same_model(opened.head, choice.known_model, sources.model)
            require_same_image(opened.head, choice)
            if choice.supervoxels is not None:
                atoms = read_atoms(choice.supervoxels)
                given = None if choice.affinities is None else choice.affinities.read().data
                inputs = Inputs(given, atoms, None)  # type: ignore[arg-type]
                require_same_inputs(opened.head, choice, inputs)
                history_of(atoms, [record.event for record in opened.events()], opened.splits())
            else:
                typer.echo("Its supervoxels were made and lie in no file; `celis replay` makes them again.")
        except CelisError as error:
            problems.append(str(error))
        n_events = opened.n_events
    write_json(json, {"events": n_events, "problems": problems})
    for problem in problems:
        typer.echo(problem)
    if problems:
        raise typer.Exit(1)
    events = counted(n_events, "event")
    typer.echo(f"{session} is whole: {events}, and its volumes are those that it was made with.")


@sessions.command()
def merge(
    first: Annotated[Path, typer.Argument(metavar="A", help="Session of one person.")],
    second: Annotated[Path, typer.Argument(metavar="B", help="Session of another, about the same volumes.")],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="C", help="Session to write.")],
    prefer: Annotated[
        Prefer | None, typer.Option(help="Whose decision stands where two by hand disagree.")
    ] = None,
    ask: Annotated[bool, typer.Option("--ask", help="Ask about each disagreement.")] = False,
    relocate: RelocateOption = None,
    json: JsonOption = None,
) -> None:
    """Join two people's work on the same volume.

    Without a rule, a disagreement ends it: all are listed, nothing is written, exit code 1.
    """
    from napari_celis.cli.progress import stage_bars
    from napari_celis.io.session.file import Session
    from napari_celis.pipeline.session_merge import plan_merge, require_same_data
    from napari_celis.pipeline.sessions import join_into

    require_outputs(json, output)
    require_distinct({"--output": output, "--json": json, "A": first, "B": second}, {})
    places = relocations(relocate)
    with Session.open(first, read_only=True) as a, Session.open(second, read_only=True) as b:
        require_same_data(a.head, b.head)
        _, atoms = _open_atoms(a, places)
        plan = plan_merge(a.events(), b.events(), atoms, lambda one: _decide(one, prefer, ask=ask))
        figures = _merge_figures(plan)
        write_json(json, figures)
        for conflict in plan.conflicts:
            typer.echo(_describe(conflict))
        is_open = any(conflict.winner is None for conflict in plan.conflicts)
        if not is_open:
            with stage_bars() as report:
                join_into(output, a, plan.decisions, relocate=places, report=report)
            _copy_notes(output, a, b)
    if is_open:
        typer.echo("Nothing was written. Say whose decisions stand, with --prefer or --ask.", err=True)
        raise typer.Exit(1)
    typer.echo(
        f"Wrote {output}: {counted(len(plan.decisions), 'decision')}, {plan.n_common:,} common at the "
        f"beginning; {plan.n_agreed:,} agreed, {counted(len(plan.conflicts), 'disagreement')}, "
        f"{counted(plan.n_greedy_left_out, 'merge')} by the run left out."
    )


@sessions.command("take-over")
def take_over(
    old: Annotated[Path, typer.Argument(metavar="FILE", help="Decisions as lines of JSON.")],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="S", help="Session to write.")],
    model: ModelOption,
    image: Annotated[str | None, typer.Option(metavar="V", help="Image.")] = None,
    supervoxels: SupervoxelsOption = None,
    affinities: Annotated[str | None, typer.Option(metavar="V", help="Affinities of any network.")] = None,
    any_voxel_size: AnyVoxelSizeOption = False,
) -> None:
    """Make a session of decisions that an earlier version kept as lines of JSON."""
    from napari_celis.cli.progress import stage_bars
    from napari_celis.pipeline.recipe import prepare
    from napari_celis.pipeline.session_data import Sources
    from napari_celis.pipeline.sessions import take_over_json_lines

    require_folder(output)
    inputs = {"the old file": str(old), "--image": image, "--model": model, "--supervoxels": supervoxels}
    require_distinct(
        {"--output": output}, {key: value for key, value in inputs.items() if key != "the old file"}
    )
    given = {"image": image, "supervoxels": supervoxels, "affinities": affinities, "model": model}
    choice = open_choice(given, any_voxel_size=any_voxel_size)
    with stage_bars() as report:
        prepared = prepare(choice, report, say=say)
    volumes: dict[Any, str] = {role: path for role, path in given.items() if path and role != "model"}
    with prepared.agglomerator:
        n_taken, n_lost = take_over_json_lines(old, output, choice, prepared, Sources(volumes, model))
    lost = f", {n_lost:,} of the lines or decisions could not be taken over" if n_lost else ""
    typer.echo(f"Wrote {output}: {counted(n_taken, 'decision')}{lost}.")


def _open_atoms(session: Session, places: dict[str, str]) -> tuple[Choice, Atoms]:
    """Read the supervoxels that a session began with, and their contacts."""
    from napari_celis.cli.progress import stage_bars
    from napari_celis.core.errors import CelisError
    from napari_celis.io.session.kept_arrays import KeptArrays, folder_beside
    from napari_celis.pipeline.kept_preparation import with_preparation
    from napari_celis.pipeline.recipe import read_atoms
    from napari_celis.pipeline.session_data import open_data

    path = session.path
    with stage_bars() as report:
        choice, _ = open_data(session.head, path, places)
        choice = with_preparation(choice, session.head, KeptArrays(folder_beside(path)), report)
        if choice.supervoxels is None:
            raise CelisError(
                f"The supervoxels of {path} were made and are not kept beside it any more. Run `celis "
                f"agglomerate --session {path}` once; it makes them again."
            )
        return choice, choice.atoms or read_atoms(choice.supervoxels, report)


def _write_segments(session: Session, places: dict[str, str], path: Path) -> int:
    """Write the segments at the end of a session, and count them; none of its volumes may be replaced."""
    from napari_celis.pipeline.segment_table import table_of_session
    from napari_celis.pipeline.session_identity import require_same_supervoxels

    volumes = {f"the {one.role} of the session": one.path for one in session.head.volumes if one.path}
    require_distinct({"--segments": path}, {**volumes, "its model": session.head.model_path})
    choice, atoms = _open_atoms(session, places)
    require_same_supervoxels(session.head, choice, atoms.supervoxels)
    table = table_of_session(session, atoms)
    table.write_csv(path, choice.voxel_size_nm)
    return len(table.segments)


def _figures(session: Session) -> dict[str, Any]:
    """Count what is in a session."""
    from collections import Counter

    from napari_celis.pipeline.session_merge import standing

    events = list(session.events())
    stand = standing(events)
    head = session.head
    return {
        "volumes": {volume.role: vars(volume) for volume in head.volumes},
        "model": head.model_path,
        "settings": dict(head.settings),
        "created": head.created,
        "last": events[-1].time if events else head.created,
        "events": len(events),
        "undone": sum(record.event.kind == "undo" for record in events),
        "redone": sum(record.event.kind == "redo" for record in events),
        "standing": len(stand),
        "standing_by_kind": dict(Counter(record.event.step.kind for record in stand)),
        "who": sorted({record.who for record in events}),
        "segments": len(session.segments()),
        "questions": len(session.questions()),
    }


def _settings_text(settings: dict[str, str]) -> str:
    """Say in sentences how the model is used."""
    policy, threshold = settings.get("policy", "unknown"), settings.get("threshold", "unknown")
    sentences = [f"The policy `{policy}` orders merges; a run stops at a score of {threshold}."]
    if settings.get("any_voxel_size") == "1":
        sentences.append("The model may be one for voxels of another size.")
    if settings.get("begins_with"):
        sentences.append("It begins with the decisions of a block-wise run.")
    return " ".join(sentences)


def _date(seconds: float) -> str:
    try:
        return f"{datetime.fromtimestamp(seconds):%d %b %Y, %H:%M}"
    except (ValueError, OverflowError, OSError):
        return "at an unknown time"


def _decide(conflict: Conflict, prefer: Prefer | None, *, ask: bool) -> Side | None:
    """Go by the rule, or ask the person at the keyboard."""
    if ask:
        typer.echo(_describe(conflict))
        return (
            "first"
            if typer.prompt("Whose decision stands, 1 or 2?", type=typer_choice()) == "1"
            else "second"
        )
    if prefer is None:
        return None
    if prefer is Prefer.newer:
        return "second" if conflict.second.time > conflict.first.time else "first"
    return "first" if prefer is Prefer.first else "second"


def typer_choice() -> Any:
    """Return the answers to a question about two people."""
    import click

    return click.Choice(["1", "2"])


def _describe(conflict: Conflict) -> str:
    """Say who disagrees about what, and where."""
    place = conflict.place_zyx
    where = "they do not touch" if place is None else "at {:.1f} {:.1f} {:.1f} (voxels z y x)".format(*place)
    told = [
        f"{record.who or 'somebody'}, {_date(record.time)}: {DECISION_NAMES[record.event.step.kind]} "
        f"{record.event.step.u_id} and {record.event.step.v_id}, score {record.event.step.score:.4g}"
        for record in (conflict.first, conflict.second)
    ]
    stands = {None: "open", "first": "1 stands", "second": "2 stands"}[conflict.winner]
    return f"Disagreement {where} (2 {conflict.reason}): 1. {told[0]}; 2. {told[1]}. {stands}."


def _merge_figures(plan: MergePlan) -> dict[str, Any]:
    def described(record: Any) -> dict[str, Any]:
        step = record.event.step
        named = {"kind": step.kind, "u_id": step.u_id, "v_id": step.v_id, "score": step.score}
        return {**named, "who": record.who, "time": record.time}

    return {
        "decisions": len(plan.decisions),
        "common": plan.n_common,
        "agreed": plan.n_agreed,
        "greedy_left_out": plan.n_greedy_left_out,
        "conflicts": [
            {
                "first": described(one.first),
                "second": described(one.second),
                "place_zyx": one.place_zyx,
                "reason": one.reason,
                "winner": one.winner,
            }
            for one in plan.conflicts
        ],
    }


def _copy_notes(path: Path, first: Session, second: Session) -> None:
    """Take over what both said about segments and questions; of two about the same, the newer."""
    from napari_celis.io.session.file import Session

    with Session.open(path) as session:
        session.note_segments(sorted([*first.segments(), *second.segments()], key=lambda one: one.time))
        for question in sorted([*first.questions(), *second.questions()], key=lambda one: one.time):
            session.answer(question)

"""`celis agglomerate`: a greedy run without a viewer."""

from __future__ import annotations

from contextlib import ExitStack
from enum import StrEnum
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
    require_folder,
    require_outputs,
    require_target,
    say,
    write_json,
)
from napari_celis.cli.outputs import require_distinct
from napari_celis.cli.session_options import RelocateOption, relocations, run_recorded
from napari_celis.core.words import counted

if TYPE_CHECKING:
    from napari_celis.core.agglomerator import Agglomerator
    from napari_celis.core.journal import Step
    from napari_celis.io.answer_table import Answers
    from napari_celis.io.ome_writing import Properties
    from napari_celis.io.session.file import Session
    from napari_celis.pipeline.choice import Choice
    from napari_celis.pipeline.recipe import Prepared


class PreferOption(StrEnum):
    """Which of two answers about one pair counts."""

    newer = "newer"


@app.command()
def agglomerate(
    model: Annotated[
        str | None,
        typer.Option(
            "--model", metavar="MODEL", help="Model file made by celis train; a session names its own."
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", metavar="SEG", help="Segmentation to write; with a session, optional."
        ),
    ] = None,
    image: OptionalImageOption = None,
    supervoxels: SupervoxelsOption = None,
    affinities: AffinitiesOption = None,
    threshold: Annotated[
        float | None, typer.Option(metavar="T", help="Stop at this score; the model's own by default.")
    ] = None,
    policy: PolicyOption = None,
    session: Annotated[
        Path | None,
        typer.Option(
            metavar="S", help="Session file: every merge is kept there; goes on with one that exists."
        ),
    ] = None,
    relocate: RelocateOption = None,
    decisions: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Answers to follow after the run, .csv or .json; celis queue writes questions.",
        ),
    ] = None,
    prefer: Annotated[
        PreferOption | None, typer.Option(help="Of answers that contradict each other, take the later line.")
    ] = None,
    any_voxel_size: AnyVoxelSizeOption = False,
    json: JsonOption = None,
) -> None:
    """Merge supervoxels greedily by energy, and write the segmentation."""
    import time

    from napari_celis.core.volume import Volume
    from napari_celis.io.volumes import write_volume

    given = {"image": image, "supervoxels": supervoxels, "affinities": affinities, "model": model}
    goes_on = session is not None and session.exists()
    _require_usage(given, output, session, relocate, goes_on=goes_on, has_policy=policy is not None)
    if prefer is not None and decisions is None:
        raise typer.BadParameter("--prefer is for answers; give them with --decisions.")
    if output is not None:
        require_target(output)
    require_outputs(json)
    if session is not None:
        require_folder(session)
    inputs = {"--image": image, "--model": model, "--supervoxels": supervoxels, "--decisions": decisions}
    outputs = {"--output": output, "--json": json, "--session": session}
    require_distinct(outputs, inputs, affinities={"--affinities": affinities})
    answers = None if decisions is None else _read_answers(decisions, prefer)
    begin = time.monotonic()
    with ExitStack() as stack:
        if goes_on:
            assert session is not None
            choice, prepared, kept_in = _go_on(stack, session, given, relocations(relocate), output, json)
        else:
            choice = open_choice(
                given, threshold, None if policy is None else policy.value, any_voxel_size=any_voxel_size
            )
            prepared, kept_in = _begin(stack, choice, session, given, answers)
        agglomerator = prepared.agglomerator
        _require_answers(answers, agglomerator)
        n_before = len(agglomerator.history)
        stop_at = prepared.threshold if threshold is None else _checked(threshold)
        figures = {"policy": prepared.policy, **_figures(agglomerator, stop_at, kept_in), "earlier": n_before}
        if answers is not None:
            figures |= _follow(agglomerator, answers, kept_in)
        segmentation = agglomerator.labels() if output is not None else None
        properties = _properties(agglomerator, kept_in, output)
    figures["seconds"] = time.monotonic() - begin
    if output is not None and segmentation is not None:
        written = Volume(segmentation, choice.voxel_size_nm, choice.offset_nm, "segmentation")
        write_volume(written, output, kind="labels", properties=properties)
    _report(figures, output, session)
    names = {} if session is None else {"session": str(session)}
    write_json(json, {**figures, "output": output, **names})


def _require_usage(
    given: dict[str, str | None],
    output: str | None,
    session: Path | None,
    relocate: list[str] | None,
    *,
    goes_on: bool,
    has_policy: bool,
) -> None:
    """Refuse options that do not go together."""
    if output is None and session is None:
        raise typer.BadParameter("Missing option '--output' / '-o', or --session.")
    if relocate and not goes_on:
        raise typer.BadParameter("--relocate is for volumes of a session that exists.")
    if given["model"] is None and not goes_on:
        raise typer.BadParameter("Missing option '--model'; only a session that exists names its own.")
    if goes_on and has_policy:
        raise typer.BadParameter("A session has its policy; leave --policy out.")


def _checked(threshold: float) -> float:
    from napari_celis.pipeline.checks import require_threshold

    require_threshold(threshold)
    return threshold


def _begin(
    stack: ExitStack,
    choice: Choice,
    session: Path | None,
    given: dict[str, str | None],
    answers: Answers | None,
) -> tuple[Prepared, Session | None]:
    """Prepare from scratch, and begin a session if one is wanted and the answers are about its volume."""
    from napari_celis.cli.progress import stage_bars
    from napari_celis.pipeline.recipe import prepare
    from napari_celis.pipeline.session_data import Sources
    from napari_celis.pipeline.sessions import begin_session

    with stage_bars() as report:
        prepared = prepare(choice, report, say=say)
    stack.enter_context(prepared.agglomerator)
    _require_answers(answers, prepared.agglomerator)
    if session is None:
        return prepared, None
    volumes = {role: path for role, path in given.items() if path is not None and role != "model"}
    sources = Sources(volumes, given["model"] or "")  # type: ignore[arg-type]
    return prepared, stack.enter_context(begin_session(session, choice, prepared, sources))


def _go_on(
    stack: ExitStack,
    path: Path,
    given: dict[str, str | None],
    relocate: dict[str, str],
    output: str | None,
    json: Path | None,
) -> tuple[Choice, Prepared, Session | None]:
    """Open a session that exists, and bring everything to where it ends."""
    from napari_celis.cli.progress import stage_bars
    from napari_celis.io.session.file import Session
    from napari_celis.pipeline.sessions import go_on

    session = stack.enter_context(Session.open(path))
    named = {role: place for role, place in given.items() if place is not None}
    with stage_bars() as report:
        opened = go_on(session, relocate={**relocate, **named}, is_lazy=True, report=report, say=say)
    stack.enter_context(opened.agglomerator)
    read = {f"the {role} of the session": place for role, place in opened.sources.volumes.items()}
    affinities = {name: read.pop(name) for name in list(read) if "affinities" in name}
    outputs = {"--output": output, "--json": json}
    require_distinct(outputs, {**read, "its model": opened.sources.model}, affinities=affinities)
    return opened.choice, opened.prepared, session


def _figures(agglomerator: Agglomerator, threshold: float, session: Session | None) -> dict[str, Any]:
    """Take steps until none is below the threshold, and tell what happened."""
    from napari_celis.pipeline.result_remark import result_remark

    steps: list[Step] = run_recorded(agglomerator, threshold, session)
    best_score = steps[0].score if steps else None
    if not steps and (lowest := agglomerator.best_action()) >= 0:
        best_score = agglomerator.score(lowest)
    return {
        "threshold": threshold,
        "steps": len(steps),
        "supervoxels": agglomerator.supervoxels.n,
        "segments": agglomerator.n_segments,
        "energy_before": agglomerator.energy - agglomerator.energy_change,
        "energy": agglomerator.energy,
        "best_first_score": best_score,
        "remark": result_remark(agglomerator.supervoxels, agglomerator.segment_ids()) if steps else "",
    }


def _read_answers(path: Path, prefer: PreferOption | None) -> Answers:
    """Read answers; of those about one pair the newest, if that is wanted."""
    from napari_celis.io.answer_table import read_answers
    from napari_celis.pipeline.answering import newest_only

    answers = read_answers(path)
    return answers if prefer is None else newest_only(answers)


def _require_answers(answers: Answers | None, agglomerator: Agglomerator) -> None:
    """Refuse answers that contradict each other or are about something else, before anything is decided."""
    from napari_celis.pipeline.answering import require_answers

    if answers is not None:
        require_answers(answers, agglomerator.supervoxels, agglomerator.actions)


def _follow(agglomerator: Agglomerator, answers: Answers, session: Session | None) -> dict[str, Any]:
    """Make decisions of answers; all of them are in the session, or none."""
    from napari_celis.pipeline.answering import record_answers, take_answers

    if session is None:
        taken = take_answers(agglomerator, answers)
    else:
        taken = record_answers(session, agglomerator, answers)
    return {
        "segments": agglomerator.n_segments,
        "energy": agglomerator.energy,
        "answers": len(answers.rows),
        "unanswered": answers.n_open,
        "answers_decided": taken.n_decided,
        "answers_so_already": taken.n_so_already,
        "corrections": taken.n_corrections,
    }


def _properties(agglomerator: Agglomerator, session: Session | None, output: str | None) -> Properties | None:
    """Describe the segments of a session, where the output has a place for it."""
    from napari_celis.io.volumes import takes_properties
    from napari_celis.pipeline.segment_table import table_of
    from napari_celis.pipeline.segment_words import SegmentWords

    if session is None or output is None or not takes_properties(output):
        return None
    return table_of(agglomerator, SegmentWords(session.segments())).properties()


def _report(figures: dict[str, Any], output: str | None, session: Path | None) -> None:
    """Say what was done, and why if nothing was."""
    if figures["earlier"]:
        typer.echo(f"Went on after {counted(figures['earlier'], 'decision')} of {session}.")
    if not figures["steps"]:
        score = figures["best_first_score"]
        reason = "no centre sees any contact" if score is None else f"the best score is {score:.3g}"
        typer.echo(f"No merge was made: {reason}, and the threshold is {figures['threshold']:.3g}.")
    if "answers" in figures:
        typer.echo(
            f"Followed {counted(figures['answers'], 'answer')}: "
            f"{counted(figures['corrections'], 'correction')}, "
            f"{figures['answers_decided'] - figures['corrections']:,} that confirm what there is, "
            f"{figures['answers_so_already']:,} that were known; {figures['unanswered']:,} without an answer."
        )
    typer.echo(
        f"Wrote {output or session}: {counted(figures['supervoxels'], 'supervoxel')} became "
        f"{counted(figures['segments'], 'segment')} in {counted(figures['steps'], 'step')}."
    )
    if figures["remark"]:
        say(f"Remark: {figures['remark']}")

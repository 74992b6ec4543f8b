"""`celis bench`: how fast and how exact, as ratios measured in one run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from napari_celis.cli.app import app
from napari_celis.cli.options import JsonOption, require_outputs, write_json
from napari_celis.cli.outputs import require_distinct
from napari_celis.core.errors import CelisError

if TYPE_CHECKING:
    import numpy as np

    from napari_celis.bench.agglomeration import BenchData
    from napari_celis.bench.peers import PeerData

GOALS: dict[str, tuple[str, float | None]] = {
    "score_error": ("≤", 1e-5),
    "evaluations_vs_lower_bound": ("≤", 0.33),
    "lookups_vs_paper": ("≤", 0.05),
    "kernel_vs_gather": ("≤", 2.0),
    "first_layer_vs_dense": ("≤", 0.5),
    "threads_speedup": ("≥", 1.7),
    "cost_growth": ("≤", 1.3),
    "step_p95_ms": ("<", 50.0),
    "undo_p95_ms": ("<", 10.0),
    "refit_p95_ms": ("<", 1000.0),
    "peak_gb": ("≤", 4.0),
    "step_growth": ("≤", 1.3),
    "large_step_p95_ms": ("<", 50.0),
    "large_undo_p95_ms": ("<", 10.0),
    "large_snapshot_ms": ("<", 5.0),
    "large_queue_ms": ("<", 20.0),
    "run_growth": ("≤", 1.3),
    "large_run_peak_gb": ("≤", 4.0),
    "lazy_evaluations_vs_lower_bound": ("≤", 0.15),
    "stall_ms": ("<", 100.0),
    "recolour_hz": ("≥", 10.0),
    "viewer_growth_mb": ("<", 50.0),
    "first_merge_seconds": ("<", 15.0),
    "question_p95_ms": ("<", 100.0),
    "question_stall_ms": ("<", 100.0),
    "gap_closed_after_20_answers": ("≥", 0.5),
    "gap_closed_after_50_answers": ("≥", 0.66),
    "gap_closed_after_100_answers": ("≥", 0.8),
    "agglomerate_vs_waterz": ("", None),
    "agglomerate_vs_forest": ("≤", 1.5),
    "vi_vs_best_baseline": ("≤", 0.8),
    "watershed_vs_waterz": ("", None),
    "blockwise_growth": ("≤", 1.2),
    "blockwise_memory_growth": ("≤", 1.1),
    "blockwise_speedup": ("≥", 1.7),
    "blockwise_labels_cpu_growth": ("≤", 1.2),
    "blockwise_kills": ("≥", 30),
    "blockwise_differing_voxels": ("≤", 0),
    "blockwise_computed_twice": ("≤", 0),
}
PEERS = (
    "agglomerate_vs_waterz",
    "agglomerate_vs_forest",
    "vi_vs_best_baseline",
    "watershed_vs_waterz",
    "lazy_evaluations_vs_lower_bound",
)
"""Figures that need an image, its truth and a model."""
ANSWERS = tuple(f"gap_closed_after_{n}_answers" for n in (20, 50, 100))
"""Figures that need the same, and a policy."""
GROWTH = ("step_growth", "large_step_p95_ms", "large_undo_p95_ms", "large_snapshot_ms", "large_queue_ms")
"""Figures of a large volume beside a small one."""
WINDOW = ("stall_ms", "recolour_hz", "viewer_growth_mb", "first_merge_seconds")
QUESTIONS = ("question_p95_ms", "question_stall_ms")
"""Figures that need a window."""

BLOCKWISE = ("blockwise_growth", "blockwise_memory_growth", "blockwise_speedup")
KILLS = ("blockwise_kills", "blockwise_differing_voxels", "blockwise_computed_twice")
LONG = (*BLOCKWISE, "blockwise_labels_cpu_growth", *KILLS)
"""Figures that take a quarter of an hour, measured only when they are asked for."""


ON_REQUEST = ("load", "crash")
"""What takes longer than all else, and is measured only by name: many decisions, many kills."""


@app.command()
def bench(
    supervoxels: Annotated[
        str | None, typer.Option(metavar="V", help="Labels to measure on; the bundled sample by default.")
    ] = None,
    image: Annotated[
        str | None,
        typer.Option(metavar="V", help="Image, for the comparison with other methods."),
    ] = None,
    truth: Annotated[
        str | None,
        typer.Option(metavar="V", help="True segmentation, for the same comparison."),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(
            metavar="MODEL",
            help="Model for it, not trained on the last third of the volume.",
        ),
    ] = None,
    only: Annotated[
        str | None,
        typer.Option(metavar="KEY", help="Measure this figure alone; load and crash only so."),
    ] = None,
    steps: Annotated[int, typer.Option(metavar="N", min=1, help="Greedy steps per benchmark.")] = 300,
    json: JsonOption = None,
) -> None:
    """Measure the figures that the design sets goals for, on the data named in the output."""
    if only is not None and only not in (*GOALS, *ON_REQUEST):
        raise typer.BadParameter(
            f"there is no figure {only!r}; there are: {', '.join((*GOALS, *ON_REQUEST))}", param_hint="--only"
        )
    require_outputs(json)
    inputs = {"--supervoxels": supervoxels, "--image": image, "--truth": truth, "--model": model}
    require_distinct({"--json": json}, inputs)
    if only in ON_REQUEST:
        figures = _measure_load() if only == "load" else _measure_crash()
        _show(figures)
        write_json(json, figures)
        return
    from tqdm import tqdm

    from napari_celis.bench import agglomeration as measures
    from napari_celis.bench import scale
    from napari_celis.bench.learning import measure_refit
    from napari_celis.io.samples import sample_volumes
    from napari_celis.io.volumes import open_volume, read_labels

    measure_of = {
        "score_error": measures.measure_score_error,
        "evaluations_vs_lower_bound": measures.measure_counts,
        "lookups_vs_paper": measures.measure_counts,
        "kernel_vs_gather": measures.measure_kernel,
        "first_layer_vs_dense": measures.measure_first_layer,
        "threads_speedup": measures.measure_threads,
        "cost_growth": measures.measure_growth,
        "step_p95_ms": measures.measure_steps,
        "undo_p95_ms": measures.measure_steps,
        "refit_p95_ms": measure_refit,
        "peak_gb": measures.measure_peak,
        **dict.fromkeys(GROWTH, _measure_step_growth),
        **dict.fromkeys(("run_growth", "large_run_peak_gb"), scale.measure_run_growth),
        **dict.fromkeys(WINDOW, _measure_window),
        **dict.fromkeys(QUESTIONS, _measure_questions),
        **dict.fromkeys(LONG, _measure_blockwise),
        "blockwise_labels_cpu_growth": _measure_blockwise_labels,
        **dict.fromkeys(KILLS, _measure_kills),
    }
    volume = open_volume(supervoxels) if supervoxels else sample_volumes()["supervoxels"]
    data = measures.BenchData(volume.name, read_labels(volume), steps)
    wanted = [only] if only else [key for key in GOALS if key not in LONG]
    figures = {}
    for measure in tqdm(
        list(dict.fromkeys(measure_of[key] for key in wanted if key in measure_of)), unit="benchmark"
    ):
        figures |= measure(data)
    if set(wanted) & {*PEERS, *ANSWERS}:
        seen = _peer_data(data.supervoxels, supervoxels, image, truth, model)
        figures |= _measure_peers(seen) if set(wanted) & set(PEERS) else {}
        figures |= _measure_answers(seen) if set(wanted) & set(ANSWERS) else {}
    shape = " × ".join(str(size) for size in data.supervoxels.shape)
    typer.echo(f"Measured on {data.name}, {shape} voxels, {steps} steps.")
    _show(figures)
    write_json(json, {**figures, "data": data.name, "shape": list(data.supervoxels.shape), "steps": steps})


def _measure_step_growth(data: BenchData) -> dict[str, float]:
    """Measure steps in a large volume, and what the panel asks for there."""
    from napari_celis.bench.scale import measure_step_growth
    from napari_celis.gui.plugin.responsiveness import measure_snapshots

    return measure_step_growth(data, measure_snapshots)


def _show(figures: dict[str, float]) -> None:
    """Print one figure per line, with its goal."""
    for key, value in figures.items():
        sign, goal = GOALS.get(key, ("", None))
        typer.echo(f"{key:<28}{value:>12.4g}" + (f"   goal {sign} {goal:g}" if goal is not None else ""))


def _measure_load() -> dict[str, float]:
    """Measure a session with very many decisions, and what the panel asks for then."""
    from napari_celis.bench.load import measure_load
    from napari_celis.gui.plugin.responsiveness import measure_snapshots

    return measure_load(measure_snapshots)


def _measure_crash() -> dict[str, float]:
    """Kill programs at random moments, and count what is lost."""
    from napari_celis.bench.crash import measure_crash

    return measure_crash()


def _measure_window(data: BenchData) -> dict[str, float]:
    """Measure a run in a window; say so where none can be opened, and measure the rest."""
    from napari_celis.gui.plugin.responsiveness import measure_window

    try:
        return measure_window(data)
    except CelisError as error:
        typer.echo(f"The window was not measured: {error}", err=True)
        return {}


def _measure_questions(data: BenchData) -> dict[str, float]:
    """Answer questions in a window; say so where none can be opened, and measure the rest."""
    from napari_celis.gui.plugin.question_latency import measure_questions

    try:
        return measure_questions(data)
    except CelisError as error:
        typer.echo(f"The questions were not measured: {error}", err=True)
        return {}


def _measure_blockwise(data: BenchData) -> dict[str, float]:
    """Measure block-wise runs of phantoms."""
    from napari_celis.bench.blockwise import measure_growth

    return measure_growth(data)


def _measure_blockwise_labels(data: BenchData) -> dict[str, float]:
    """Measure block-wise runs of the labels."""
    from napari_celis.bench.blockwise import measure_label_growth

    return measure_label_growth(data)


def _measure_kills(data: BenchData) -> dict[str, float]:
    """Kill processes of block-wise runs."""
    from napari_celis.bench.blockwise_faults import measure_kills

    return measure_kills(data)


def _measure_peers(data: PeerData | None) -> dict[str, float]:
    """Compare with other methods; say so where that cannot be done, and go on without."""
    from importlib.util import find_spec

    from napari_celis.bench.peers import measure_peers

    if data is None:
        reason = "give --image, --truth and --model too"
    elif find_spec("waterz") is None:
        reason = "waterz is missing (pip install napari-celis[compare])"
    else:
        return measure_peers(data)
    typer.echo(f"Nothing was compared with other methods: {reason}.", err=True)
    return {}


def _measure_answers(data: PeerData | None) -> dict[str, float]:
    """Let a simulated person answer questions; say so where that cannot be done, and go on without."""
    from napari_celis.bench.gap_closed import measure_gap_closed

    if data is not None:
        return measure_gap_closed(data)
    typer.echo("No questions were answered: give --image, --truth and --model too.", err=True)
    return {}


def _peer_data(
    labels: np.ndarray, supervoxels: str | None, image: str | None, truth: str | None, model: Path | None
) -> PeerData | None:
    """Collect what the comparison needs: the sample and its model, or what was given; None without one."""
    from napari_celis.bench.peers import PeerData
    from napari_celis.io.samples import bundled_models, sample_volumes
    from napari_celis.io.volumes import open_volume, read_image, read_labels, require_same_shape
    from napari_celis.models.model_file import load_model

    if supervoxels is None:
        volumes, path = sample_volumes(), model or bundled_models().get("phantom")
    elif image is not None and truth is not None:
        volumes, path = {"image": open_volume(image), "truth": open_volume(truth)}, model
    else:
        return None
    if path is None:
        return None
    require_same_shape(**{name: volumes[name] for name in ("image", "truth")})
    return PeerData(read_image(volumes["image"]), read_labels(volumes["truth"]), labels, load_model(path))

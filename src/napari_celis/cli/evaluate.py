"""`celis evaluate`: how far a segmentation is from the truth, and where to look next."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from napari_celis.cli.app import app
from napari_celis.cli.options import JsonOption, require_outputs, say, write_json
from napari_celis.cli.outputs import require_distinct

if TYPE_CHECKING:
    from napari_celis.evaluation.contingency import ContingencyTable

COUNT_LINES = (
    ("labelled voxels", "voxels"),
    ("segments", "segments"),
    ("true objects", "truth_segments"),
    ("voxels without a segment", "background_voxels"),
)
SCORE_LINES = (
    ("VI split (bits)", "vi_split"),
    ("VI merge (bits)", "vi_merge"),
    ("VI (bits)", "vi"),
    ("VI split (nats)", "vi_split_nats"),
    ("VI merge (nats)", "vi_merge_nats"),
    ("VI (nats)", "vi_nats"),
    ("Rand precision", "rand_precision"),
    ("Rand recall", "rand_recall"),
    ("Rand F1", "rand_f1"),
    ("adapted Rand error", "adapted_rand"),
)


@app.command()
def evaluate(
    segmentation: Annotated[str, typer.Argument(metavar="SEG", help="Segmentation to judge.")],
    truth: Annotated[str, typer.Argument(metavar="TRUTH", help="True segmentation; 0 is unlabelled.")],
    ignore_boundary: Annotated[
        int,
        typer.Option(
            metavar="N", min=0, help="Judge a second time without voxels within N of a truth boundary."
        ),
    ] = 2,
    worst: Annotated[
        int, typer.Option(metavar="N", min=0, help="List this many of the worst splits and merges.")
    ] = 5,
    json: JsonOption = None,
) -> None:
    """Compare a segmentation with the truth: VI, Rand F1, adapted Rand, worst splits and merges."""
    from napari_celis.core.volume import grey_warning, require_same_shape
    from napari_celis.evaluation import metrics
    from napari_celis.evaluation.contingency import contingency_table
    from napari_celis.io.volumes import open_volume, read_labels

    require_outputs(json)
    require_distinct({"--json": json}, {"SEG": segmentation, "TRUTH": truth})
    segmentation_volume, truth_volume = open_volume(segmentation), open_volume(truth)
    require_same_shape(segmentation=segmentation_volume, truth=truth_volume)
    segment_labels, truth_labels = read_labels(segmentation_volume), read_labels(truth_volume)
    for name, labels in (("SEG", segment_labels), ("TRUTH", truth_labels)):
        if (warning := grey_warning(labels, f"{name} looks")) is not None:
            say(f"Remark: {warning}")
    ignored = metrics.ignore_boundary(truth_labels, ignore_boundary)

    everywhere = _figures(contingency_table(segment_labels, truth_labels), worst)
    inside = _figures(contingency_table(segment_labels, truth_labels, ignored), worst)
    _print_scores(everywhere, inside, ignore_boundary)
    _print_faults("Worst splits, boundary ignored", "true object", inside["worst_splits"], "segments")
    _print_faults("Worst merges, boundary ignored", "segment", inside["worst_merges"], "true objects")
    write_json(json, {**everywhere, "ignore_boundary": {"n": ignore_boundary, **inside}})


def _figures(table: ContingencyTable, worst: int) -> dict[str, Any]:
    """Collect what one comparison has to say, ready for JSON."""
    from napari_celis.evaluation import metrics

    scores = metrics.score(table)
    return {
        **{key: getattr(scores, key) for _, key in SCORE_LINES},
        "counts": {
            "voxels": table.n_voxels,
            "segments": int((table.segment_ids > 0).sum()),
            "truth_segments": len(table.truth_ids),
            "background_voxels": int(table.segment_sizes[table.segment_ids == 0].sum()),
        },
        "worst_splits": [asdict(fault) for fault in metrics.worst_splits(table, worst)],
        "worst_merges": [asdict(fault) for fault in metrics.worst_merges(table, worst)],
    }


def _print_scores(everywhere: dict[str, Any], inside: dict[str, Any], n: int) -> None:
    """Print the figures side by side: every labelled voxel, and without the boundary."""
    typer.echo(f"{'':<26}{'all voxels':>14}{f'> {n} from boundary':>20}")
    for title, key in COUNT_LINES:
        typer.echo(f"{title:<26}{everywhere['counts'][key]:>14,}{inside['counts'][key]:>20,}")
    for title, key in SCORE_LINES:
        typer.echo(f"{title:<26}{everywhere[key]:>14.4f}{inside[key]:>20.4f}")


def _print_faults(title: str, kind: str, faults: list[dict[str, Any]], pieces: str) -> None:
    """Print one line per object to look at, worst first."""
    if not faults:
        return
    typer.echo(f"\n{title}")
    for fault in faults:
        parts = zip(fault["piece_ids"], fault["piece_voxels"], strict=True)
        largest = ", ".join(f"{piece} ({voxels:,})" for piece, voxels in parts)
        more = ", …" if fault["n_pieces"] > len(fault["piece_ids"]) else ""
        typer.echo(
            f"  {kind} {fault['object_id']}: {fault['bits']:.4f} bits, {fault['n_voxels']:,} voxels, "
            f"{fault['n_pieces']} {pieces}: {largest}{more}"
        )

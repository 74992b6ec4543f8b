"""What energies and policy learn from: every piece of the volumes, with given supervoxels and with our own.

Both kinds, so that neither is foreign to a model: people bring supervoxels, or raw data alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from napari_celis.core.descriptors import IntTriple
from napari_celis.core.seeded_watershed import SeededSettings
from napari_celis.evaluation.contingency import contingency_table
from napari_celis.evaluation.metrics import score
from napari_celis.io.targets import split_target
from napari_celis.training.annotated import AnnotatedVolume, Folds, Piece, labelled_box
from napari_celis.training.checkpoint import Checkpoint
from napari_celis.training.folds import Slab
from napari_celis.training.records import Records
from napari_celis.training.supervoxel_stage import cut_again, tune_supervoxels
from napari_celis.training.validation import missing_kind, require_both_kinds


@dataclass(frozen=True, eq=False)
class PieceSlab:
    """A piece of a volume with one kind of supervoxels."""

    piece: Piece
    slab: Slab
    is_own: bool
    """Whether the supervoxels are our own; otherwise they were given."""


SlabFold = list[PieceSlab]


def make_slabs(
    volumes: Sequence[AnnotatedVolume],
    folds: Folds,
    affinities: Sequence[np.ndarray],
    voxel_size_nm: Sequence[float],
    start: SeededSettings,
    smallest: IntTriple,
    checkpoint: Checkpoint,
) -> Records[tuple[tuple[SlabFold, SlabFold], SeededSettings]]:
    """Cut out the labelled part of every piece, and give it supervoxels.

    Parameters
    ----------
    volumes : sequence of AnnotatedVolume
        What is learned from.
    folds : Folds
        How they are divided.
    affinities : sequence of ndarray, float32 (3, Z, Y, X)
        Of each volume, by networks that did not see the place.
    voxel_size_nm : sequence of float
        Voxel size of all volumes.
    start : SeededSettings
        How supervoxels of our own are made, unless other settings are clearly better.
    smallest : tuple of int
        Least extent of a part, where there is room.
    checkpoint : Checkpoint
        Keeps the settings.

    Returns
    -------
    slabs : two lists of PieceSlab
        Of the first fold, and of the second.
    settings : SeededSettings
        How supervoxels of our own were made.
    """
    bare = [[_bare_slab(volumes, affinities, piece, smallest) for piece in fold] for fold in folds]
    settings = yield from tune_supervoxels(
        [slab for fold in bare for slab in fold if slab.is_labelled], voxel_size_nm, start, checkpoint
    )
    slabs: tuple[SlabFold, SlabFold] = ([], [])
    for fold, bare_slabs, found in zip(folds, bare, slabs, strict=True):
        for piece, slab in zip(fold, bare_slabs, strict=True):
            volume = volumes[piece.volume]
            own = cut_again(slab, voxel_size_nm, settings)
            if volume.supervoxels is None:
                require_both_kinds(own.labels, own.truth, volume.name)
                found.append(PieceSlab(piece, own, is_own=True))
                continue
            found.append(PieceSlab(piece, slab, is_own=False))
            # A network that was hardly trained may cut so badly that there is nothing to learn.
            if own.is_labelled and missing_kind(own.labels, own.truth)[1] is None:
                found.append(PieceSlab(piece, own, is_own=True))
    return slabs, settings


def _bare_slab(
    volumes: Sequence[AnnotatedVolume], affinities: Sequence[np.ndarray], piece: Piece, smallest: IntTriple
) -> Slab:
    """Cut out the labelled part of a piece, with the supervoxels that were given or a single one."""
    volume = volumes[piece.volume]
    truth = volume.truth[piece.sections]
    box = labelled_box(truth, smallest)
    if volume.supervoxels is None:
        labels = np.ones(truth[box].shape, dtype=np.uint64)
    else:
        labels = volume.supervoxels[piece.sections][box]
    return Slab(labels, truth[box], affinities[piece.volume][:, piece.sections][(slice(None), *box)])


def figures_of_volumes(
    volumes: Sequence[AnnotatedVolume],
    slabs: tuple[SlabFold, SlabFold],
    changes: dict[str, list[list[float]]],
    aucs: Sequence[float],
) -> list[dict[str, Any]]:
    """Say how well each volume does by what was not learned from it; errors in bits, of quarter slabs.

    Parameters
    ----------
    volumes : sequence of AnnotatedVolume
        What is learned from.
    slabs : two lists of PieceSlab
        What was judged.
    changes : dict of str to list of list of float
        Per policy, fold and slab: how much it changes the error.
    aucs : sequence of float
        How well boundaries of each volume are told.

    Returns
    -------
    figures : list of dict
        Per volume `vi_supervoxels`, `vi_energy` and `vi_learned` with the supervoxels that were given, or our
        own; where there are both, the same of our own under `own`.
    """
    found = []
    for index, (one, auc) in enumerate(zip(volumes, aucs, strict=True)):
        judged = [
            (fold, n) for fold in range(2) for n, part in enumerate(slabs[fold]) if part.piece.volume == index
        ]
        given = [(fold, n) for fold, n in judged if not slabs[fold][n].is_own]
        own = [(fold, n) for fold, n in judged if slabs[fold][n].is_own]
        figures: dict[str, Any] = {"name": _file_name(one.name), "affinity_auc": auc}
        figures |= _errors(slabs, given or own, changes)
        if given and own:
            figures["own"] = _errors(slabs, own, changes)
        found.append(figures)
    return found


def _file_name(name: str) -> str:
    """Leave out the folder: a model file is passed on, and where a volume lies is nobody's business."""
    if not name:
        return ""
    target = split_target(name)
    return f"{target.path.name}:{target.dataset}" if target.dataset else target.path.name


def _errors(
    slabs: tuple[SlabFold, SlabFold], judged: Sequence[tuple[int, int]], changes: dict[str, list[list[float]]]
) -> dict[str, float]:
    """Errors of some slabs before and after agglomeration by each policy, weighted by their voxels."""
    sizes = [int(np.count_nonzero(slabs[fold][n].slab.truth)) for fold, n in judged]
    before = [_vi(slabs[fold][n].slab) for fold, n in judged]
    found = {"vi_supervoxels": float(np.average(before, weights=sizes))}
    for policy, of_slabs in changes.items():
        after = [vi + of_slabs[fold][n] for vi, (fold, n) in zip(before, judged, strict=True)]
        found[f"vi_{policy}"] = float(np.average(after, weights=sizes))
    return found


def _vi(slab: Slab) -> float:
    """Variation of information of the supervoxels, mean of the quarters, in bits."""
    parts = [one for one in slab.quarters() if one.is_labelled]
    return float(np.mean([score(contingency_table(one.labels, one.truth)).vi for one in parts or [slab]]))


def windowed(fold: SlabFold, slabs: Sequence[Slab]) -> SlabFold:
    """Put the parts of slabs that there is time for in their places."""
    return [replace(part, slab=slab) for part, slab in zip(fold, slabs, strict=True)]

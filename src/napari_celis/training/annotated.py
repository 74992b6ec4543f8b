"""Annotated volumes, and how they are divided into two folds, each judged by what the other one learned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from napari_celis.core.descriptors import IntTriple
from napari_celis.core.errors import TrainingError
from napari_celis.core.volume import Triple

LARGEST_SHARE = 2 / 3
"""A piece with more than this of all labelled voxels is cut in two: otherwise a fold has too little."""
LARGEST_DIFFERENCE = 1.1
"""Ratio of two voxel sizes from which on they are different."""
CLEAR, EXCHANGED = 0.15, 2.0
"""A truth belongs to another image if it stands out there by so many deviations, and times, more."""
SMALLEST_CUT = 2
"""Sections that a piece must have to be cut."""


@dataclass(frozen=True, eq=False)
class AnnotatedVolume:
    """An image with its truth, and perhaps supervoxels."""

    image: np.ndarray
    """Grey values (Z, Y, X)."""
    truth: np.ndarray
    """True objects, same shape; 0 is unknown."""
    supervoxels: np.ndarray | None = None
    """Oversegmentation, same shape; made from the affinities where it is not given."""
    name: str = "the volume"
    """How messages and figures call it."""


@dataclass(frozen=True, order=True)
class Piece:
    """Some sections of one volume."""

    volume: int
    """Which one, counted from 0."""
    start: int
    stop: int

    @property
    def sections(self) -> slice:
        """The sections."""
        return slice(self.start, self.stop)


Folds = tuple[tuple[Piece, ...], tuple[Piece, ...]]


def divide(truths: Sequence[np.ndarray]) -> Folds:
    """Divide volumes into two folds with about as many labelled voxels each.

    One volume is cut into two slabs along z. Several stay whole as long as none has more than two thirds of
    all labelled voxels, so that what is judged comes from another volume than what was learned from.

    Parameters
    ----------
    truths : sequence of ndarray, shape (Z, Y, X)
        True objects of each volume; 0 is unknown.

    Returns
    -------
    folds : two tuples of Piece
        In the order of the volumes.
    """
    known = [np.count_nonzero(truth, axis=(1, 2)) for truth in truths]

    def count(piece: Piece) -> int:
        return int(known[piece.volume][piece.sections].sum())

    pieces = [Piece(index, 0, len(truth)) for index, truth in enumerate(truths)]
    total = sum(count(piece) for piece in pieces)
    largest = max(pieces, key=count)
    while len(pieces) < 2 or count(largest) > LARGEST_SHARE * total:
        if largest.stop - largest.start < SMALLEST_CUT:
            break
        index = pieces.index(largest)
        pieces[index : index + 1] = _halves(largest, known[largest.volume])
        largest = max(pieces, key=count)
    folds: list[list[Piece]] = [[], []]
    for piece in sorted(pieces, key=count, reverse=True):
        min(folds, key=lambda own: sum(count(other) for other in own)).append(piece)
    first, second = sorted(tuple(sorted(own)) for own in folds)
    return first, second


def _halves(piece: Piece, known: np.ndarray) -> tuple[Piece, Piece]:
    """Cut a piece where half of its labelled voxels lie on each side."""
    so_far = np.cumsum(known[piece.sections])
    n_first = 1 + int(np.argmin(np.abs(so_far[:-1] - so_far[-1] / 2)))
    middle = piece.start + n_first
    return Piece(piece.volume, piece.start, middle), Piece(piece.volume, middle, piece.stop)


def labelled_box(truth: np.ndarray, smallest: IntTriple) -> tuple[slice, slice, slice]:
    """Find the box of the known voxels, at least `smallest` voxels along each axis where there is room.

    Parameters
    ----------
    truth : ndarray, shape (Z, Y, X)
        0 is unknown.
    smallest : tuple of int
        Least extent.
    """
    is_known, found = truth != 0, []
    for axis, (size, least) in enumerate(zip(truth.shape, smallest, strict=True)):
        along = np.flatnonzero(is_known.any(axis=tuple(other for other in range(3) if other != axis)))
        low, high = (int(along[0]), int(along[-1]) + 1) if len(along) else (0, size)
        missing = max(0, min(least, size) - (high - low))
        low = max(0, min(low - missing // 2, size - (high - low) - missing))
        found.append(slice(low, max(high, low + min(least, size))))
    return found[0], found[1], found[2]


def require_voxel_sizes(sizes: Sequence[tuple[str, Triple]]) -> None:
    """Refuse volumes of different voxel size; each comes with its name."""
    (first, known_nm), *others = sizes
    for name, own_nm in others:
        ratios = [own / known for own, known in zip(own_nm, known_nm, strict=True)]
        if max(*ratios, *(1 / ratio for ratio in ratios)) > LARGEST_DIFFERENCE:
            own, known = (" × ".join(f"{step:g}" for step in size) for size in (own_nm, known_nm))
            raise TrainingError(
                f"The voxels of {name} measure {own} nm, those of {first} {known} nm, but one model is for "
                "one voxel size. Resample one of them (celis convert), or train two models."
            )


def require_own_truths(volumes: Sequence[AnnotatedVolume]) -> None:
    """Refuse images and truths in different orders, where a truth follows another image than its own."""
    for one in volumes:
        own = boundary_contrast(one.image, one.truth)
        for other in volumes:
            if other is one or other.image.shape != one.truth.shape:
                continue
            if boundary_contrast(other.image, one.truth) > CLEAR + EXCHANGED * own:
                raise TrainingError(
                    f"The truth that was given with {one.name} follows the boundaries of {other.name} "
                    "instead. Give images and truths in the same order."
                )


def boundary_contrast(image: np.ndarray, truth: np.ndarray) -> float:
    """How far grey values next to true boundaries differ from those elsewhere, in deviations of the image.

    Parameters
    ----------
    image, truth : ndarray, shape (Z, Y, X)
        Compared in every eighth section.
    """
    grey, labels = image[::8].astype(np.float32), truth[::8]
    near = np.zeros(labels.shape, dtype=bool)
    for axis in (1, 2):
        here, there = np.moveaxis(labels, axis, 0), np.moveaxis(near, axis, 0)
        differs = (here[1:] != here[:-1]) & (here[1:] != 0) & (here[:-1] != 0)
        there[1:] |= differs
        there[:-1] |= differs
    inside = (labels != 0) & ~near
    if not near.any() or not inside.any():
        return 0.0
    return float(abs(grey[near].mean() - grey[inside].mean()) / max(float(grey.std()), 1e-6))

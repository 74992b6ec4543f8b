"""What nothing can be learned from, refused in one sentence before the long work."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from napari_celis.core.descriptors import DescriptorSpec
from napari_celis.core.errors import TrainingError
from napari_celis.core.volume import format_shape
from napari_celis.training.annotated import AnnotatedVolume, Folds
from napari_celis.training.folds import Scene

HINTS = {
    "right": "Give finer supervoxels: these already follow the objects, or cross them everywhere.",
    "wrong": "Give a larger volume, where more than one object has supervoxels that touch.",
}


def require_learnable(
    volumes: Sequence[AnnotatedVolume], folds: Folds, specs: Sequence[DescriptorSpec]
) -> None:
    """Refuse volumes that nothing can be learned from, or one of the pieces that they are cut into.

    Parameters
    ----------
    volumes : sequence of AnnotatedVolume
        What is to be learned from.
    folds : Folds
        The pieces that they are cut into.
    specs : sequence of DescriptorSpec
        Their boxes must fit into every piece.
    """
    for one in volumes:
        require_two_objects(one.truth, one.supervoxels, one.name)
    if not all(folds):
        raise TrainingError(
            f"The truth of {volumes[0].name} has one section, but one part is learned from and another one "
            "judges. Give a larger volume, or several."
        )
    for piece in (piece for fold in folds for piece in fold):
        own = volumes[piece.volume]
        truth = own.truth[piece.sections]
        supervoxels = None if own.supervoxels is None else own.supervoxels[piece.sections]
        is_whole = len(truth) == len(own.truth)
        name = own.name if is_whole else f"{own.name} (sections {piece.start} to {piece.stop - 1})"
        if not is_whole:
            require_two_objects(truth, supervoxels, name)
        require_room(truth.shape, specs, name)
        if supervoxels is not None:
            require_both_kinds(supervoxels, truth, name)


def require_two_objects(truth: np.ndarray, supervoxels: np.ndarray | None, name: str) -> None:
    """Refuse a truth from which nothing can be learned, before the long work and not after it.

    Parameters
    ----------
    truth : ndarray of int, shape (Z, Y, X)
        Object ids, 0 where nothing is known.
    supervoxels : ndarray of int, shape (Z, Y, X), optional
        Supervoxel ids, 0 for background.
    name : str
        How messages call the volume.
    """
    labelled = truth[supervoxels > 0] if supervoxels is not None else truth
    objects = np.unique(labelled[labelled > 0])
    if not len(objects):
        what = "no voxel that belongs to a supervoxel" if supervoxels is not None else "no voxel at all"
        raise TrainingError(
            f"The truth of {name} labels {what}, so there is nothing to learn from. "
            "Check that the volumes show the same place, and crop them to where the truth is."
        )
    if len(objects) == 1:
        raise TrainingError(
            f"The truth of {name} holds a single object ({objects[0]}), so every merge is right and nothing "
            "can be learned about wrong ones. Give a volume with several objects."
        )


def has_room(shape: tuple[int, ...], spec: DescriptorSpec) -> bool:
    """Whether the box of a spec fits into a volume.

    Parameters
    ----------
    shape : tuple of int
        Shape of the volume.
    spec : DescriptorSpec
        Its box must fit.
    """
    return all(size >= box for size, box in zip(shape, spec.box_zyx, strict=True))


def require_room(shape: tuple[int, ...], specs: Sequence[DescriptorSpec], name: str) -> None:
    """Refuse a volume that has no room for the descriptors.

    Parameters
    ----------
    shape : tuple of int
        Shape of the volume.
    specs : sequence of DescriptorSpec
        Their boxes must fit.
    name : str
        How messages call the volume.
    """
    for spec in specs:
        if not has_room(shape, spec):
            raise TrainingError(
                f"With {format_shape(shape)} voxels, {name} is too small for the descriptor `{spec.name}`, "
                f"whose box has {format_shape(spec.box_zyx)}: one part is learned from and another one "
                "judges. Give a larger volume, or several."
            )


def require_both_kinds(labels: np.ndarray, truth: np.ndarray, name: str) -> None:
    """Refuse supervoxels among which every merge is right, or every merge wrong.

    Parameters
    ----------
    labels : ndarray of int, shape (Z, Y, X)
        Supervoxel ids.
    truth : ndarray of int, shape (Z, Y, X)
        Object ids, 0 where nothing is known.
    name : str
        How messages call the volume.
    """
    n_actions, kind = missing_kind(labels, truth)
    if kind is not None:
        raise TrainingError(
            f"Among the {n_actions:,} actions of {name} no merge is {kind}, so nothing can be learned. "
            f"{HINTS[kind]}"
        )


def missing_kind(labels: np.ndarray, truth: np.ndarray) -> tuple[int, str | None]:
    """Count the actions of supervoxels, and say which kind of merge is not among them: right, wrong, or None.

    Parameters
    ----------
    labels, truth : ndarray of int, shape (Z, Y, X)
        Supervoxels and true objects, of which at least one voxel is known.
    """
    scene = Scene.make(labels, truth, np.empty(0, dtype=np.float32))
    changes = scene.overlaps.changes(scene.actions.u, scene.actions.v)
    kinds = {"right": (changes < 0).any(), "wrong": (changes > 0).any()}
    return len(changes), next((kind for kind, is_there in kinds.items() if not is_there), None)

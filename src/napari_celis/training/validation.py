"""What nothing can be learned from, refused in one sentence before the long work."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from napari_celis.core.descriptors import DescriptorSpec
from napari_celis.core.errors import TrainingError
from napari_celis.core.volume import format_shape
from napari_celis.training.folds import Scene

HINTS = {
    "right": "Give finer supervoxels: these already follow the objects, or cross them everywhere.",
    "wrong": "Give a larger volume, where more than one object has supervoxels that touch.",
}


def require_learnable(
    truth: np.ndarray,
    supervoxels: np.ndarray | None,
    bounds: Sequence[slice],
    specs: Sequence[DescriptorSpec],
) -> None:
    """Refuse a volume that nothing can be learned from, or one of the slabs that it is cut into."""
    require_two_objects(truth, supervoxels)
    for part in bounds:
        own = None if supervoxels is None else supervoxels[part]
        where = f" in sections {part.start} to {part.stop - 1}, half of the volume"
        require_two_objects(truth[part], own, where)
        require_room(truth[part].shape, specs)
        if own is not None:
            require_both_kinds(own, truth[part])


def require_two_objects(truth: np.ndarray, supervoxels: np.ndarray | None, where: str = "") -> None:
    """Refuse a truth from which nothing can be learned, before the long work and not after it."""
    labelled = truth[supervoxels > 0] if supervoxels is not None else truth
    objects = np.unique(labelled[labelled > 0])
    if not len(objects):
        what = "no voxel that belongs to a supervoxel" if supervoxels is not None else "no voxel at all"
        raise TrainingError(
            f"The truth labels {what}{where}, so there is nothing to learn from. "
            "Check that the volumes show the same place, and crop them to where the truth is."
        )
    if len(objects) == 1:
        raise TrainingError(
            f"The truth holds a single object ({objects[0]}){where}, so every merge is right and nothing can "
            "be learned about wrong ones. Give a volume with several objects."
        )


def has_room(shape: tuple[int, ...], spec: DescriptorSpec) -> bool:
    """Whether the box of a spec fits into a volume."""
    return all(size >= box for size, box in zip(shape, spec.box_zyx, strict=True))


def require_room(shape: tuple[int, ...], specs: Sequence[DescriptorSpec]) -> None:
    """Refuse a volume whose slabs have no room for the descriptors."""
    for spec in specs:
        if not has_room(shape, spec):
            raise TrainingError(
                f"Half of the volume, {format_shape(shape)} voxels, has no room for the descriptor "
                f"`{spec.name}` with a box of {format_shape(spec.box_zyx)}. Training needs both halves along "
                "z: give a larger volume."
            )


def require_both_kinds(labels: np.ndarray, truth: np.ndarray) -> None:
    """Refuse supervoxels among which every merge is right, or every merge wrong."""
    scene = Scene.make(labels, truth, np.empty(0, dtype=np.float32))
    changes = scene.overlaps.changes(scene.actions.u, scene.actions.v)
    for kind, is_there in (("right", (changes < 0).any()), ("wrong", (changes > 0).any())):
        if not is_there:
            raise TrainingError(
                f"Among the {len(changes):,} actions of half of the volume no merge is {kind}, so nothing "
                f"can be learned. {HINTS[kind]}"
            )

"""Read annotated volumes, and refuse those that do not belong together before anything large is read."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from napari_celis.core.volume import Triple, Volume, count_voxels, role_warnings
from napari_celis.io.memory import require_memory
from napari_celis.io.volumes import read_image, read_labels, require_same_shape
from napari_celis.pipeline.memory import TRAINING
from napari_celis.training.annotated import AnnotatedVolume, require_own_truths, require_voxel_sizes


def read_annotated(
    images: Sequence[Volume],
    truths: Sequence[Volume],
    supervoxels: Sequence[Volume] = (),
    *,
    names: Sequence[str] | None = None,
    say: Callable[[str], None] | None = None,
) -> tuple[list[AnnotatedVolume], Triple]:
    """Check and read all volumes.

    Parameters
    ----------
    images, truths : sequence of Volume
        As many of each.
    supervoxels : sequence of Volume
        As many, or none.
    names : sequence of str, optional
        How messages and figures call each; by default as the images are called.
    say : callable, optional
        Called with a sentence where something looks strange.

    Returns
    -------
    volumes : list of AnnotatedVolume
        In the order given.
    voxel_size_nm : tuple of float
        Of the first.

    Raises
    ------
    CelisError
        With one sentence.
    """
    names = names or [image.name for image in images]
    for index, (image, truth) in enumerate(zip(images, truths, strict=True)):
        require_same_shape(image=image, truth=truth)
        if supervoxels:
            require_same_shape(image=image, supervoxels=supervoxels[index])
    require_voxel_sizes([(name, image.voxel_size_nm) for name, image in zip(names, images, strict=True)])
    n_voxels = sum(count_voxels(image.shape) for image in images)
    require_memory(TRAINING * n_voxels, names[0], "Training on")
    volumes = []
    for index, (name, image, truth) in enumerate(zip(names, images, truths, strict=True)):
        grey = read_image(image)
        labels = read_labels(supervoxels[index]) if supervoxels else None
        if say is not None:
            for warning in role_warnings(grey, labels):
                say(f"Remark: {warning}")
        volumes.append(AnnotatedVolume(grey, read_labels(truth), labels, name))
    require_own_truths(volumes)
    return volumes, images[0].voxel_size_nm

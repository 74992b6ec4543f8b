"""The annotated volumes of a training: as many images as truths, in the same order, of one voxel size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from napari_celis.core.volume import Triple
    from napari_celis.training.annotated import AnnotatedVolume


def require_pairs(
    images: Sequence[str],
    truths: Sequence[str],
    supervoxels: Sequence[str],
    affinities: Sequence[str],
) -> None:
    """Refuse options that were not given once for each image."""
    from napari_celis.core.errors import CelisError

    for option, given, is_needed in (
        ("--truth", truths, True),
        ("--supervoxels", supervoxels, False),
        ("--affinities", affinities, False),
    ):
        if len(given) != len(images) and (given or is_needed):
            raise CelisError(
                f"--image was given {_times(len(images))} and {option} {_times(len(given))}. Give {option} "
                f"once for each image, in the same order{'' if is_needed else ', or not at all'}."
            )


def _times(n: int) -> str:
    return {0: "not at all", 1: "once", 2: "twice"}.get(n, f"{n} times")


def named(option: str, targets: Sequence[str]) -> dict[str, str]:
    """Name repeated options for messages: the first as it is, others with their number."""
    return {
        option if n == 1 else f"{option} (volume {n})": target for n, target in enumerate(targets, start=1)
    }


def read_annotated(
    images: Sequence[str], truths: Sequence[str], supervoxels: Sequence[str]
) -> tuple[list[AnnotatedVolume], Triple]:
    """Open, check and read all volumes.

    Parameters
    ----------
    images, truths : sequence of str
        As many of each, `path[:dataset]`.
    supervoxels : sequence of str
        As many, or none.

    Returns
    -------
    volumes : list of AnnotatedVolume
        In the order given.
    voxel_size_nm : tuple of float
        Of the first.

    Raises
    ------
    CelisError
        With one sentence, before anything large is read where that is possible.
    """
    from napari_celis.cli.options import say
    from napari_celis.core.volume import count_voxels, role_warnings
    from napari_celis.io.memory import require_memory
    from napari_celis.io.volumes import open_volume, read_image, read_labels, require_same_shape
    from napari_celis.pipeline.memory import TRAINING
    from napari_celis.training.annotated import AnnotatedVolume, require_own_truths, require_voxel_sizes

    opened = []
    for place, (image, truth) in enumerate(zip(images, truths, strict=True)):
        own = {"image": open_volume(image), "truth": open_volume(truth)}
        if supervoxels:
            own["supervoxels"] = open_volume(supervoxels[place])
        require_same_shape(**own)
        opened.append(own)
    require_voxel_sizes(
        {target: own["image"].voxel_size_nm for target, own in zip(images, opened, strict=True)}
    )
    n_voxels = sum(count_voxels(own["image"].shape) for own in opened)
    require_memory(TRAINING * n_voxels, opened[0]["image"].name, "Training on")
    volumes = []
    for target, own in zip(images, opened, strict=True):
        grey = read_image(own["image"])
        labels = read_labels(own["supervoxels"]) if supervoxels else None
        for warning in role_warnings(grey, labels):
            say(f"Remark: {warning}")
        volumes.append(AnnotatedVolume(grey, read_labels(own["truth"]), labels, target))
    require_own_truths(volumes)
    return volumes, opened[0]["image"].voxel_size_nm

"""What a finished run is: its segmentation as a pyramid, and the command that goes on with it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from napari_celis.core.volume import Triple, Volume
from napari_celis.io.lazy import LazyArray
from napari_celis.scale.run import BlockRun
from napari_celis.scale.settings import BlockwiseError
from napari_celis.scale.stages.relabel import PUBLISH, levels_of
from napari_celis.scale.stages.stage import WHOLE


def open_result(run: BlockRun) -> list[Volume]:
    """Open the segmentation, from the finest to the coarsest level; nothing is read.

    Parameters
    ----------
    run : BlockRun
        A finished one.
    """
    if run.flag(PUBLISH.name, WHOLE) is None:
        raise BlockwiseError(
            f"{run.store.url} is not finished, so there is no segmentation yet. Let celis blockwise finish."
        )
    settings = run.settings
    places = [(settings.voxel_size_nm, settings.offset_nm)]
    places += [(size, offset) for _, size, offset, _ in levels_of(run)]
    return [_open_level(run, level, *place) for level, place in enumerate(places)]


def _open_level(run: BlockRun, level: int, size: Triple, offset: Triple) -> Volume:
    array = run.store.array(str(level))
    name = run.store.url.rsplit("/", 1)[-1]

    def read(box: Sequence[slice]) -> Any:
        return array[tuple(box)]

    lazy = LazyArray(read, shape=array.shape, dtype=np.dtype(array.dtype), name=name, chunks=array.chunks)
    return Volume(lazy, size, offset, name)


def resume_arguments(run: BlockRun, model: Path) -> list[str]:
    """Write the arguments of `celis` that go on with a run.

    Parameters
    ----------
    run : BlockRun
        Whose settings are repeated.
    model : Path
        A file with its model.
    """
    settings = run.settings
    words = ["blockwise", "--output", run.store.url, "--model", str(model)]
    for option in ("image", "supervoxels", "affinities"):
        if (target := getattr(settings, option)) is not None:
            words += [f"--{option}", target]
    words += ["--block", *map(str, settings.block_zyx), "--halo", *map(str, settings.halo_zyx)]
    words += ["--policy", settings.policy, "--threshold", repr(settings.threshold), "--rule", settings.rule]
    # Whoever began the run knew the voxel size.
    return [*words, *(["--rechunk"] if settings.rechunk else []), "--any-voxel-size"]

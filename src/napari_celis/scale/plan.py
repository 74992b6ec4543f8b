"""What a block-wise run would cost: blocks, memory, CPU hours and storage, from rates measured here.

The rates come from a real block-wise run over a small volume, one processor, about a minute. Each stage costs
in proportion to the voxels that it looks at: the network at tiles and their context, supervoxels and
agglomeration at windows, everything else at blocks. Windows are boxes, so their sum over all blocks is the
product of the sums along the three axes.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from napari_celis.core.descriptors import IntTriple
from napari_celis.core.volume import Volume, format_shape
from napari_celis.io.samples import sample_volumes
from napari_celis.io.volumes import open_volume, write_volume
from napari_celis.models.inference import MEMORY_GB
from napari_celis.models.model_file import CelisModel, load_model
from napari_celis.models.tiles import choose_tile
from napari_celis.pipeline.memory import DENSE, DENSITY, LABELS, MAKING, prediction_bytes, scoring_bytes
from napari_celis.scale.begin import Request, begin_run
from napari_celis.scale.grid import BlockGrid
from napari_celis.scale.run import AFFINITIES, HOME, IMAGE, SUPERVOXELS, BlockRun
from napari_celis.scale.settings import BlockwiseError, default_block, default_halo, least_halo, require_halo
from napari_celis.scale.stages.affinities import PREDICT
from napari_celis.scale.stages.decisions import DECIDE
from napari_celis.scale.stages.listing import stages_of
from napari_celis.scale.stages.segments import JOIN
from napari_celis.scale.stages.stage import WHOLE
from napari_celis.scale.stages.supervoxels import CUT
from napari_celis.scale.task import Task, finish_stage, run_task

TRIAL, TRIAL_BLOCK = (96, 128, 128), (64, 64, 64)
"""The volume that rates are measured on, and its blocks."""
PROCESS_BYTES = 450e6
"""What a worker takes before it reads a voxel: Python, torch, compiled loops."""
HELD = 1.4
"""Processes keep memory that they freed: 3.7 GB were measured for blocks of 192, the model alone says 2.7."""
AFFINITY_BYTES = 12
PAIR_BYTES = 250
"""Memory of the pass over the whole per pair of supervoxels that touch, as measured and rounded up."""


@dataclass(frozen=True)
class Rates:
    """What was measured."""

    seconds: dict[str, float]
    """Processor seconds per voxel that a stage looks at, by name of the stage."""
    stored: dict[str, float]
    """Bytes on the disk per voxel of the volume, by what is stored."""
    pairs: float
    """Pairs of supervoxels that touch, per voxel."""


@dataclass(frozen=True)
class Plan:
    """What a run would cost."""

    shape: IntTriple
    block_zyx: IntTriple
    halo_zyx: IntTriple
    n_blocks: int
    worker_gb: float
    """Peak memory of one worker."""
    join_gb: float
    """Memory of the one pass over the decisions of all blocks."""
    cpu_hours: float
    hours: float
    """With the workers that were asked for."""
    workers: int
    stages: dict[str, float]
    """CPU hours by stage."""
    storage_gb: dict[str, float]
    """On the disk, by what is stored."""

    def to_json(self) -> dict[str, Any]:
        """Return plain numbers, text and lists."""
        return {**asdict(self), "storage_gb_total": sum(self.storage_gb.values())}


def make_plan(
    shape: IntTriple,
    model: CelisModel,
    rates: Rates,
    *,
    block_zyx: IntTriple | None = None,
    halo_zyx: IntTriple | None = None,
    workers: int = 1,
) -> Plan:
    """Work out what a run would cost, from the image alone.

    Parameters
    ----------
    shape : tuple of int
        Voxels of the volume, of the model's voxel size.
    model : CelisModel
        What is applied.
    rates : Rates
        From `measure_rates`.
    block_zyx, halo_zyx : tuple of int, optional
        As for a run; the same defaults.
    workers : int
        One processor each.
    """
    size = model.voxel_size_nm
    halo = halo_zyx or default_halo(size, model.specs, model.supervoxels)
    require_halo(halo, least_halo(size, model.specs, model.supervoxels))
    grid = BlockGrid(shape, block_zyx or default_block(size), halo)
    voxels, looked_at = prod(shape), looks(grid, model)
    stages = {
        name: rate * looked_at.get(name, voxels) / 3600 for name, rate in rates.seconds.items() if rate > 0
    }
    cpu_hours = sum(stages.values())
    return Plan(
        shape=shape,
        block_zyx=grid.block_zyx,
        halo_zyx=halo,
        n_blocks=len(grid),
        worker_gb=worker_bytes(grid, model) / 1e9,
        join_gb=(PROCESS_BYTES + PAIR_BYTES * rates.pairs * voxels) / 1e9,
        cpu_hours=cpu_hours,
        hours=(cpu_hours - stages.get(JOIN.name, 0)) / workers + stages.get(JOIN.name, 0),
        workers=workers,
        stages=stages,
        storage_gb={name: rate * voxels / 1e9 for name, rate in rates.stored.items()},
    )


def looks(grid: BlockGrid, model: CelisModel) -> dict[str, int]:
    """Count the voxels that all blocks together look at, for stages that look beyond their blocks.

    Parameters
    ----------
    grid : BlockGrid
        The blocks with their halo.
    model : CelisModel
        Its network has a context of its own.
    """
    windows = _sum_of_windows(grid)
    z, y, x = (slice(0, min(block, size)) for block, size in zip(grid.block_zyx, grid.shape, strict=True))
    # The network looks at a block tile by tile, each with its context.
    tile = choose_tile(grid.shape, model.affinity, MEMORY_GB, (z, y, x))
    context = BlockGrid(grid.shape, tile, model.affinity.halo_zyx)
    return {PREDICT.name: _sum_of_windows(context), CUT.name: windows, DECIDE.name: windows}


def _sum_of_windows(grid: BlockGrid) -> int:
    """Add up the voxels of all windows: the product of the sums along each axis."""
    total = 1
    for axis in range(3):
        size, block, halo = grid.shape[axis], grid.block_zyx[axis], grid.halo_zyx[axis]
        # All but the blocks next to the two ends have a whole halo on both sides.
        starts = np.arange(0, size, block)
        low, high = np.maximum(starts - halo, 0), np.minimum(starts + block + halo, size)
        total *= int((high - low).sum())
    return total


def worker_bytes(grid: BlockGrid, model: CelisModel) -> float:
    """Estimate the peak of one worker: the network on a block, or everything about a window.

    Parameters
    ----------
    grid : BlockGrid
        The blocks with their halo.
    model : CelisModel
        What is applied.
    """
    sides = zip(grid.block_zyx, grid.halo_zyx, grid.shape, strict=True)
    window = [min(block + 2 * halo, size) for block, halo, size in sides]
    n_voxels = prod(window)
    shape = window[0], window[1], window[2]
    scoring = n_voxels * (AFFINITY_BYTES + DENSE + LABELS)
    scoring += scoring_bytes(model, shape, round(DENSITY * n_voxels))
    z, y, x = (min(block, size) for block, size in zip(grid.block_zyx, grid.shape, strict=True))
    cutting = n_voxels * (AFFINITY_BYTES + MAKING)
    return HELD * (PROCESS_BYTES + max(prediction_bytes(model, (z, y, x)), cutting, scoring))


def measure_rates(
    model: Path,
    image: str | None = None,
    on_progress: Callable[[str, float], None] = lambda stage, share: None,
) -> Rates:
    """Agglomerate a small volume block by block on one processor, and look at what it took.

    Parameters
    ----------
    model : Path
        The model file.
    image : str, optional
        A volume to take the middle of; the bundled sample by default.
    on_progress : callable
        Called with the stage and the finished share of it.
    """
    with tempfile.TemporaryDirectory() as folder:
        crop = Path(folder) / "crop.zarr"
        write_volume(_middle(image, load_model(model)), crop, kind="image")
        run = begin_run(
            Request(
                model=model,
                output=f"{folder}/run.zarr",
                image=str(crop),
                block_zyx=TRIAL_BLOCK,
                any_voxel_size=True,
            )
        )
        return _run_and_measure(run, on_progress)


def _middle(image: str | None, model: CelisModel) -> Volume:
    """Cut out the middle of a volume; its voxels count as those of the model."""
    source = sample_volumes()["image"] if image is None else open_volume(image)
    if any(size < need for size, need in zip(source.shape, TRIAL, strict=True)):
        raise BlockwiseError(
            f"“{source.name}” is too small to measure with: {format_shape(TRIAL)} voxels are needed, it has "
            f"{format_shape(source.shape)}. Leave --image out."
        )
    starts = [(size - need) // 2 for size, need in zip(source.shape, TRIAL, strict=True)]
    box = tuple(slice(start, start + need) for start, need in zip(starts, TRIAL, strict=True))
    return Volume(np.asarray(source.data[box]), model.voxel_size_nm, name=source.name)


def _run_and_measure(run: BlockRun, on_progress: Callable[[str, float], None]) -> Rates:
    voxels, looked_at = prod(run.settings.shape), looks(run.grid, run.model)
    seconds: dict[str, float] = {}
    for stage in stages_of(run):
        stage.prepare(run)
        grid, total = stage.grid(run), 0.0
        # The first block loads compiled loops, or compiles them: it is computed once more.
        for index in [0, *range(len(grid))]:
            on_progress(stage.title, index / len(grid))
            block = grid.block(index)
            run.clear_flag(stage.name, block.name)
            digest = stage.digest(run, block)
            done = run_task(Task(run.store.url, run.checksum, stage.name, index, digest, is_tainted=False))
            if done.error is not None:
                raise BlockwiseError(f"The trial failed at the stage “{stage.title}”: {done.error}")
        for block in grid:
            total += float((run.flag(stage.name, block.name) or {})["cpu_seconds"])
        finish_stage(run.store.url, run.checksum, stage.name)
        seconds[stage.name] = total / looked_at.get(stage.name, voxels)
    pairs = int((run.flag(JOIN.name, WHOLE) or {})["pairs"])
    return Rates(seconds, _stored(run, voxels), pairs / voxels)


def _stored(run: BlockRun, voxels: int) -> dict[str, float]:
    """Count bytes on the disk per voxel."""
    arrays = {"affinities": AFFINITIES, "supervoxels": SUPERVOXELS, "copy of the image": IMAGE}
    found = {name: _folder_bytes(run.store.path(path)) for name, path in arrays.items()}
    levels = [run.store.path(name) for name in run.store.names("") if name.isdigit()]
    found["segmentation"] = sum(_folder_bytes(path) for path in levels)
    found["tables"] = _folder_bytes(run.store.path(HOME)) - sum(
        _folder_bytes(run.store.path(path)) for path in arrays.values()
    )
    return {name: size / voxels for name, size in found.items() if size}


def _folder_bytes(path: Path) -> int:
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())

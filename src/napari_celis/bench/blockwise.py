"""How the cost of block-wise runs grows with the volume, and what a second worker is worth.

Phantoms with an image go through every stage. Labels of real neurites, where some are given, go through those
after the supervoxels, with affinities made from them. All runs are of one processor per worker.
"""

from __future__ import annotations

import tempfile
import time
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import zarr

from napari_celis.bench.agglomeration import BenchData, Figures
from napari_celis.core.descriptors import IntTriple
from napari_celis.core.volume import Volume
from napari_celis.io.affinity_channels import OFFSETS
from napari_celis.io.samples import bundled_models
from napari_celis.io.volumes import write_volume
from napari_celis.scale.begin import Request, begin_run
from napari_celis.scale.cluster import connect
from napari_celis.scale.run import BlockRun
from napari_celis.scale.runner import run_stages
from napari_celis.scale.stages.listing import stages_of
from napari_celis.synthetic.phantom import PhantomSettings, make_phantom

SMALL, LARGE = (256, 256, 256), (256, 512, 512)
LABELS_SMALL = 256
"""Edge of the cube of given labels that the whole is compared with."""
CROSSING, WITHIN, NOISE = 40, 230, 20
"""Affinities of labels in 255ths: across a boundary, inside, and how much they vary."""


def measure_growth(data: BenchData) -> Figures:
    """Run a small and a large phantom with two workers, and the small one with one.

    Parameters
    ----------
    data : BenchData
        Not used: the volumes are made here.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        small, large = (_write_phantom(folder / f"{size[1]}.zarr", size) for size in (SMALL, LARGE))
        request = {"model": bundled_models()["phantom"]}
        # Compiled loops are loaded and files are in memory before anything is timed.
        one = _run(folder / "one.zarr", 1, image=small, **request)
        two = _run(folder / "two.zarr", 2, image=small, **request)
        many = _run(folder / "many.zarr", 2, image=large, **request)
    return {
        "blockwise_growth": (many["seconds"] / prod(LARGE)) / (two["seconds"] / prod(SMALL)),
        "blockwise_cpu_growth": (many["cpu_seconds"] / prod(LARGE)) / (two["cpu_seconds"] / prod(SMALL)),
        "blockwise_memory_growth": many["peak_mb"] / two["peak_mb"],
        "blockwise_peak_gb": many["peak_mb"] / 1e3,
        "blockwise_speedup": one["seconds"] / two["seconds"],
        "blockwise_us_per_voxel": 1e6 * many["cpu_seconds"] / prod(LARGE),
        "blockwise_large_seconds": many["seconds"],
    }


def measure_label_growth(data: BenchData) -> Figures:
    """Run given labels, whole and as a cube from their corner, with two workers.

    Parameters
    ----------
    data : BenchData
        Labels of at least 512 voxels along every axis tell most.
    """
    edges = [min(LABELS_SMALL, size) for size in data.supervoxels.shape]
    small = data.supervoxels[tuple(slice(0, edge) for edge in edges)]
    found = []
    with tempfile.TemporaryDirectory() as name:
        for index, labels in enumerate((small, data.supervoxels)):
            folder = Path(name) / str(index)
            folder.mkdir()
            write_volume(Volume(labels, (10.0, 10.0, 10.0)), folder / "labels.zarr", kind="labels")
            _write_affinities(folder / "affinities.zarr", labels)
            found.append(
                _run(
                    folder / "run.zarr",
                    2,
                    model=bundled_models()["phantom"],
                    supervoxels=str(folder / "labels.zarr"),
                    affinities=str(folder / "affinities.zarr"),
                )
            )
    per_voxel = [
        run["cpu_seconds"] / size
        for run, size in zip(found, (small.size, data.supervoxels.size), strict=True)
    ]
    return {
        "blockwise_labels_cpu_growth": per_voxel[1] / per_voxel[0],
        "blockwise_labels_memory_growth": found[1]["peak_mb"] / found[0]["peak_mb"],
        "blockwise_labels_peak_gb": found[1]["peak_mb"] / 1e3,
        "blockwise_labels_seconds": found[1]["seconds"],
    }


def _run(output: Path, n_workers: int, **request: Any) -> dict[str, float]:
    """Do a whole run, and add up what its blocks noted."""
    run = begin_run(Request(output=str(output), any_voxel_size=True, **request))
    with connect(n_workers=n_workers) as client:
        client.run(_load)
        begin = time.perf_counter()
        outcome = run_stages(run, client)
        seconds = time.perf_counter() - begin
    if outcome.failures or outcome.lost:
        raise RuntimeError(f"{len(outcome.failures)} blocks failed, {outcome.lost} were lost.")
    return {"seconds": seconds, **_noted(run)}


def _load() -> None:
    """Import what a worker needs; runs there."""
    import napari_celis.models.apply
    import napari_celis.scale.task  # noqa: F401


def _noted(run: BlockRun) -> dict[str, float]:
    flags = [
        run.flag(stage.name, name) or {} for stage in stages_of(run) for name in run.finished(stage.name)
    ]
    return {
        "cpu_seconds": sum(float(flag["cpu_seconds"]) for flag in flags),
        "peak_mb": max(float(flag["peak_mb"]) for flag in flags),
    }


def _write_phantom(path: Path, shape: IntTriple) -> str:
    phantom = make_phantom(PhantomSettings(shape_zyx=shape, seed=33))
    write_volume(Volume(phantom.image, phantom.voxel_size_nm), path, kind="image")
    return str(path)


def _write_affinities(path: Path, labels: np.ndarray) -> None:
    """Write affinities that are low across boundaries and high inside, with some noise."""
    array = zarr.create_array(
        str(path),
        shape=(3, *labels.shape),
        chunks=(1, 64, 64, 64),
        dtype="uint8",
        attributes={"offsets": OFFSETS},
    )
    rng = np.random.default_rng(0)
    for axis in range(3):
        same = np.ones(labels.shape, dtype=bool)
        here = np.moveaxis(labels, axis, 0)
        np.moveaxis(same, axis, 0)[1:] = here[1:] == here[:-1]
        noise = rng.integers(-NOISE, NOISE + 1, labels.shape, dtype=np.int16)
        array[axis] = (np.where(same, WITHIN, CROSSING) + noise).astype(np.uint8)

"""A small block-wise result with boxes to open: bricks as supervoxels, and a cluster in this process."""

from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import torch

from models.small import small_model
from napari_celis.core import parallel
from napari_celis.core.volume import Volume
from napari_celis.io.volumes import open_volume, write_volume
from napari_celis.models.model_file import save_model
from napari_celis.scale.begin import Request, begin_run
from napari_celis.scale.runner import run_stages

SHAPE, BRICK, BLOCK = (12, 40, 60), (4, 5, 5), (12, 20, 20)
"""Six blocks."""
SIZE_NM, OFFSET_NM = (10.0, 10.0, 10.0), (100.0, 200.0, 300.0)


def bricks():
    """Cut the volume into bricks with large ids, uint64 (Z, Y, X)."""
    z, y, x = (np.arange(size) // step for size, step in zip(SHAPE, BRICK, strict=True))
    n_y, n_x = y[-1] + 1, x[-1] + 1
    return (1 + x + n_x * (y[:, None] + n_y * z[:, None, None])).astype(np.uint64) + np.uint64(1 << 33)


def make_request(folder, **changes):
    """Write image, supervoxels and model, and ask for a result."""
    image = np.random.default_rng(0).integers(60, 200, SHAPE).astype(np.uint8)
    for name, array, kind in (("image", image, "image"), ("supervoxels", bricks(), "labels")):
        write_volume(Volume(array, SIZE_NM, OFFSET_NM, name), folder / f"{name}.zarr", kind=kind)
    model = replace(small_model(), thresholds={"energy": -0.2})
    return Request(
        **{
            "model": save_model(model, folder / "small.safetensors"),
            "output": str(folder / "result.zarr"),
            "image": str(folder / "image.zarr"),
            "supervoxels": str(folder / "supervoxels.zarr"),
            "block_zyx": BLOCK,
            "halo_zyx": (4, 6, 6),
            **changes,
        }
    )


@contextmanager
def workers():
    """Start a real scheduler and a worker in this process, and leave the number of threads as it was."""
    from distributed import Client, LocalCluster

    n_threads, limits = torch.get_num_threads(), list(parallel._most_threads)
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0"
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client
    torch.set_num_threads(n_threads)
    parallel._most_threads[:] = limits


def run_all(request, client):
    """Give the command; return the run and how it ended."""
    run = begin_run(request)
    return run, run_stages(run, client)


def segments_of(run):
    """Read which segment of the finished result every supervoxel is in, by id."""
    labels, result = bricks(), open_volume(run.store.url).read()
    ids, first = np.unique(labels, return_index=True)
    return dict(zip(ids.tolist(), result.reshape(-1)[first].tolist(), strict=True))

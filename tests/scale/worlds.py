"""Small volumes and models for block-wise runs: cells in grey values, networks that were never trained."""

from dataclasses import replace

import numpy as np

from models.small import small_forest, small_model
from napari_celis.core.contact_features import DECISIVE, N_CONTACT_FEATURES
from napari_celis.core.descriptors import sample_spec
from napari_celis.core.seeded_watershed import SeededSettings
from napari_celis.core.volume import Volume
from napari_celis.io.volumes import open_volume, write_volume
from napari_celis.models.affinity import build_affinity_net
from napari_celis.models.affinity_base import AffinitySettings
from napari_celis.models.model_file import load_model
from napari_celis.models.policy import PolicyClassifier
from napari_celis.pipeline.choice import Choice
from napari_celis.pipeline.recipe import prepare
from napari_celis.scale.begin import Request, begin_run
from napari_celis.scale.runner import run_stages

CUBES, SECTIONS = (10.0, 10.0, 10.0), (40.0, 8.0, 8.0)
"""Voxel sizes: the same along every axis, and sections that are cut one by one."""
SHAPE, BLOCK = (12, 24, 80), (12, 12, 16)
"""Two rows of five blocks; those at one end see nothing of the other."""
HALO = (10, 10, 10)
"""As narrow as the seeds of the models allow."""
SEEDS = SeededSettings(foreground=0.7, reach_nm=40.0, smoothing_nm=8.0, separation_nm=8.0, smallest_nm=28.0)


def make_model(voxel_size_nm=CUBES):
    """Weights of chance; affinities of an image with cells still have boundaries."""
    model = small_model()
    n = len(DECISIVE) + 1
    rng = np.random.default_rng(1)
    classifier = PolicyClassifier(
        np.zeros(n), np.ones(n), rng.normal(size=n), np.zeros(1), small_forest(N_CONTACT_FEATURES)
    )
    net = model.affinity
    if voxel_size_nm != CUBES:
        net = build_affinity_net(
            AffinitySettings(
                width=4, levels=1, n_features=4, intensity=(128.0, 60.0), voxel_size_nm=voxel_size_nm
            )
        )
    flat = (3, 5, 5) if voxel_size_nm != CUBES else (5, 5, 5)
    spec = sample_spec("small", "pairwise", flat, rng=rng, k=64, stride_zyx=(1, 2, 2))
    return replace(
        model,
        affinity=net,
        specs=(spec,),
        voxel_size_nm=voxel_size_nm,
        classifier=classifier,
        thresholds={"energy": -0.3, "learned": -0.03},
        n_symmetries=2,
        supervoxels=SEEDS,
    )


def make_cells(shape=SHAPE, n=30, seed=0):
    """Cells around points of chance, 1 … n, int64 (Z, Y, X)."""
    points = np.random.default_rng(seed).uniform(0, 1, (n, 3)) * shape
    grid = np.stack(np.indices(shape), axis=-1)[..., None, :]
    return ((grid - points) ** 2).sum(-1).argmin(-1) + 1


def make_image(shape=SHAPE, seed=0, dtype=np.uint8):
    """Bright cells with dark walls, and noise; no voxel is 0."""
    cells = make_cells(shape, seed=seed)
    walls = np.zeros(shape, dtype=bool)
    for axis in range(3):
        walls |= cells != np.roll(cells, 1, axis)
    noise = np.random.default_rng(seed + 1).normal(0, 15, shape)
    return np.clip(np.where(walls, 40, 180) + noise, 1, 255).astype(dtype)


def cut_cells(cells, size=7):
    """Supervoxels: cells cut along a grid."""
    z, y, x = np.indices(cells.shape) // size
    _, pieces = np.unique(((cells * 64 + z) * 64 + y) * 64 + x, return_inverse=True)
    return (pieces.reshape(cells.shape) + 1).astype(np.uint64)


def store(path, array, voxel_size_nm=CUBES, offset_nm=(0.0, 0.0, 0.0)):
    """Write a volume and return its name."""
    kind = "labels" if array.dtype == np.uint64 else "image"
    write_volume(Volume(array, voxel_size_nm, offset_nm, path.name), path, kind=kind)
    return str(path)


def single_shot(model, image=None, supervoxels=None, affinities=None, policy=None):
    """Agglomerate the whole volume at once, as `celis agglomerate` does; uint64 (Z, Y, X)."""
    prepared = prepare(
        Choice(
            image=None if image is None else open_volume(image),
            supervoxels=None if supervoxels is None else open_volume(supervoxels),
            affinities=affinities,
            model=load_model(model),
            policy=policy,
            is_lazy=True,
        )
    )
    with prepared.agglomerator as agglomerator:
        for _ in agglomerator.steps(prepared.threshold):
            pass
        return agglomerator.labels()


def run_blocks(client, request, **options):
    """Run all stages; return the run and how it ended."""
    run = begin_run(request)
    return run, run_stages(run, client, **options)


def request_for(model, output, **options):
    """Ask for the blocks of these tests."""
    return Request(**{"model": model, "output": str(output), "block_zyx": BLOCK, "halo_zyx": HALO, **options})


def result_of(run):
    """Read the finished segmentation."""
    return open_volume(run.store.url).read()


def as_partition(labels):
    """Name segments by their first voxels, so that equal partitions are equal arrays."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    named = np.where(labels.reshape(-1) == 0, 0, first[inverse.reshape(-1)] + 1)
    return named.reshape(labels.shape)

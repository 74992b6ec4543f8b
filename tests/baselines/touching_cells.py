"""Small problems with a truth that affinities say something about."""

import numpy as np

from napari_celis.baselines.problem import Problem


def cells(rng, shape, n):
    """Nearest-seed cells, numbered from 1."""
    seeds = rng.random((n, 3)) * np.array(shape)
    grid = np.stack(np.meshgrid(*(np.arange(size) for size in shape), indexing="ij"), axis=-1)
    return ((grid[..., None, :] - seeds) ** 2).sum(axis=-1).argmin(axis=-1).astype(np.uint32) + 1


def affinities_like(truth, rng, noise):
    """Affinities that are low across true boundaries, with noise."""
    affinities = np.zeros((3, *truth.shape), dtype=np.float32)
    for axis in range(3):
        labels, channel = np.moveaxis(truth, axis, 0), np.moveaxis(affinities[axis], axis, 0)
        channel[1:] = np.where(labels[1:] == labels[:-1], 0.8, 0.2)
        channel[1:] += rng.normal(0, noise, channel[1:].shape)
    return np.clip(affinities, 0, 1)


def make_problem(seed=0, shape=(24, 20, 20), n=60, n_objects=8, noise=0.4, dtype=np.float32):
    """Cells whose objects are the cells around fewer seeds."""
    rng = np.random.default_rng(seed)
    supervoxels, objects = cells(rng, shape, n), cells(rng, shape, n_objects)
    owner = [0] + [
        int(np.bincount(objects[supervoxels == i]).argmax()) if (supervoxels == i).any() else 0
        for i in range(1, n + 1)
    ]
    truth = np.array(owner, dtype=np.uint64)[supervoxels]
    affinities = affinities_like(truth, rng, noise)
    if dtype == np.uint8:
        affinities = (affinities * 255).round().astype(np.uint8)
    return Problem.from_labels(supervoxels, affinities, truth=truth)

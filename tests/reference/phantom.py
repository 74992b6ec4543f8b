"""The kernels of the phantom, one ball at a time over the whole volume."""

import numpy as np
from scipy import ndimage


def squared_distances(zs, ys, xs, point):
    z, y, x = np.meshgrid(zs, ys, xs, indexing="ij")
    return (z - point[0]) ** 2 + (y - point[1]) ** 2 + (x - point[2]) ** 2


def lower_clearance(clearance, nearest, origin, cell, points, radii, owner, reach):
    axes = [start + cell * np.arange(n) for start, n in zip(origin, clearance.shape, strict=True)]
    for point, radius in zip(points, radii, strict=True):
        room = np.floor(np.sqrt(squared_distances(*axes, point))).astype(np.int64) - radius
        is_nearer = (room < clearance) & (room <= reach)
        clearance[is_nearer] = room[is_nearer]
        nearest[is_nearer] = owner


def bar_shells(barred, zs, ys, xs, centres, inner, outer, owners):
    for centre, low, high, owner in zip(centres, inner, outer, owners, strict=True):
        squared = squared_distances(zs, ys, xs, centre)
        barred[(squared > low**2) & (squared <= high**2) & (barred == 0)] = owner


def claim(labels, costs, barred, zs, ys, xs, points, radii, owners):
    for point, radius, owner in zip(points, radii, owners, strict=True):
        cost = squared_distances(zs, ys, xs, point) - radius**2
        is_cheaper = (cost < costs) & (barred != owner)
        costs[is_cheaper] = cost[is_cheaper]
        labels[is_cheaper] = owner


def stamp_balls(volume, zs, ys, xs, points, radii, values):
    for point, radius, value in zip(points, radii, values, strict=True):
        volume[squared_distances(zs, ys, xs, point) <= radius**2] = value


def lower_depth(depth, labels, zs, ys, xs, points, radii, owners):
    for point, radius, owner in zip(points, radii, owners, strict=True):
        value = 256 * squared_distances(zs, ys, xs, point) // radius**2
        is_deeper = (value < depth) & ((labels == owner) | (owner == 0))
        depth[is_deeper] = value[is_deeper]


def raise_sheets(darkness, labels, zs, ys, xs, points, axes, reaches, halves, strengths, owners):
    voxels = np.stack(np.meshgrid(zs, ys, xs, indexing="ij"), axis=-1)
    rows = zip(points, axes, reaches, halves, strengths, owners, strict=True)
    for point, axis, reach, half, strength, owner in rows:
        along = (voxels - point) @ axis
        value = strength - strength * along**2 // (int(axis @ axis) * half**2)
        is_inside = (labels == owner) & (squared_distances(zs, ys, xs, point) <= reach**2)
        darkness[:] = np.where(is_inside, np.maximum(darkness, value), darkness)


def connected_pieces(labels):
    """Number the 6-connected pieces of labels from 1, in the order of their first voxel."""
    pieces = np.zeros(labels.shape, dtype=np.int64)
    n_pieces = 0
    for label, box in enumerate(ndimage.find_objects(labels.astype(np.int64)), start=1):
        if box is not None:
            found, n_found = ndimage.label(labels[box] == label)
            pieces[box][found > 0] = found[found > 0] + n_pieces
            n_pieces += n_found
    _, first, inverse = np.unique(pieces, return_index=True, return_inverse=True)
    return (np.argsort(np.argsort(first)) + 1)[inverse].reshape(labels.shape)

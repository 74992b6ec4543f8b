"""Compiled loops of the phantom; all lengths are whole nanometres, so the result is exact everywhere."""

import math

import numba as nb
import numpy as np

import napari_celis.core.kernel_cache  # noqa: F401, a damaged cache must not fail them


@nb.njit(nogil=True, cache=True)
def lower_clearance(clearance, nearest, origin, cell, points, radii, owner, reach):
    """Lower each cell to its distance from the surface of the balls, where that is nearer than before.

    clearance : int32 (Z, Y, X)  distance in nm from cell centre to the nearest surface, changed in place
    nearest   : int32 (Z, Y, X)  owner of that surface, changed in place
    origin    : int64 (3,)       position of cell (0, 0, 0)
    cell      : int              edge length of a cell
    points    : int64 (N, 3)     centres of the balls
    radii     : int64 (N,)
    owner     : int              of all these balls
    reach     : int              cells farther than this from a surface are left alone
    """
    nz, ny, nx = clearance.shape
    for i in range(points.shape[0]):
        z0, y0, x0 = points[i, 0] - origin[0], points[i, 1] - origin[1], points[i, 2] - origin[2]
        far = radii[i] + reach
        for z in range(max(0, (z0 - far) // cell), min(nz, (z0 + far) // cell + 1)):
            dz = z * cell - z0
            for y in range(max(0, (y0 - far) // cell), min(ny, (y0 + far) // cell + 1)):
                dy = y * cell - y0
                for x in range(max(0, (x0 - far) // cell), min(nx, (x0 + far) // cell + 1)):
                    dx = x * cell - x0
                    room = int(math.sqrt(dz * dz + dy * dy + dx * dx)) - radii[i]
                    if room < clearance[z, y, x]:
                        clearance[z, y, x] = room
                        nearest[z, y, x] = owner


# The loops over the box of a ball stand in each function below on purpose. Numba does not inline what they
# could share: `claim` takes 9 times as long with a generator over voxels, 1.6 times with one over rows.


@nb.njit(nogil=True, cache=True)
def _span(axis, middle, far):
    """Range over the voxels of an axis that lie within `far` of a position."""
    return range(np.searchsorted(axis, middle - far), np.searchsorted(axis, middle + far + 1))


@nb.njit(nogil=True, cache=True)
def bar_shells(barred, zs, ys, xs, centres, inner, outer, owners):
    """Write the owner of each hollow ball into its voxels: that object may not grow there.

    barred       : int32 (Z, Y, X)  0 = open to all; the first shell wins
    zs, ys, xs   : int64            voxel centres along each axis
    centres      : int64 (N, 3)
    inner, outer : int64 (N,)       radii; the shell lies between them
    owners       : int32 (N,)
    """
    for i in range(centres.shape[0]):
        far = outer[i]
        for z in _span(zs, centres[i, 0], far):
            dz = zs[z] - centres[i, 0]
            for y in _span(ys, centres[i, 1], far):
                dy = ys[y] - centres[i, 1]
                for x in _span(xs, centres[i, 2], far):
                    dx = xs[x] - centres[i, 2]
                    squared = dz * dz + dy * dy + dx * dx
                    if inner[i] * inner[i] < squared <= far * far and barred[z, y, x] == 0:
                        barred[z, y, x] = owners[i]


@nb.njit(nogil=True, cache=True)
def claim(labels, costs, barred, zs, ys, xs, points, radii, owners, reach):
    """Give each voxel to the ball with the least power distance |x - p|² - r².

    labels     : int32 (Z, Y, X)  owner so far, 0 = none
    costs      : int64 (Z, Y, X)  its power distance
    barred     : int32 (Z, Y, X)  owner that may not have this voxel
    zs, ys, xs : int64            voxel centres along each axis
    points     : int64 (N, 3)     centres of the balls
    radii      : int64 (N,)
    owners     : int32 (N,)
    reach      : int              how far beyond its radius a ball may claim
    """
    for i in range(points.shape[0]):
        far = radii[i] + reach
        for z in _span(zs, points[i, 0], far):
            dz = zs[z] - points[i, 0]
            for y in _span(ys, points[i, 1], far):
                dy = ys[y] - points[i, 1]
                rest = dz * dz + dy * dy - radii[i] * radii[i]
                for x in _span(xs, points[i, 2], far):
                    dx = xs[x] - points[i, 2]
                    cost = rest + dx * dx
                    if cost < costs[z, y, x] and barred[z, y, x] != owners[i]:
                        costs[z, y, x] = cost
                        labels[z, y, x] = owners[i]


@nb.njit(nogil=True, cache=True)
def stamp_balls(volume, zs, ys, xs, points, radii, values):
    """Write `values` into the voxels of each ball, later balls over earlier ones.

    volume : int32 (Z, Y, X)  changed in place
    values : int32 (N,)       the other arguments as in `claim`
    """
    for i in range(points.shape[0]):
        far = radii[i]
        for z in _span(zs, points[i, 0], far):
            dz = zs[z] - points[i, 0]
            for y in _span(ys, points[i, 1], far):
                dy = ys[y] - points[i, 1]
                for x in _span(xs, points[i, 2], far):
                    dx = xs[x] - points[i, 2]
                    if dz * dz + dy * dy + dx * dx <= far * far:
                        volume[z, y, x] = values[i]


@nb.njit(nogil=True, cache=True)
def lower_depth(depth, labels, zs, ys, xs, points, radii, owners):
    """Lower each voxel to 256 d² / r² of the balls around it, d being the distance from the centre.

    depth  : int32 (Z, Y, X)  0 at a centre, 256 on a surface and beyond; changed in place
    labels : int32 (Z, Y, X)  a ball only touches voxels of its owner; owner 0 touches all
                              the other arguments as in `claim`
    """
    for i in range(points.shape[0]):
        far = radii[i]
        for z in _span(zs, points[i, 0], far):
            dz = zs[z] - points[i, 0]
            for y in _span(ys, points[i, 1], far):
                dy = ys[y] - points[i, 1]
                for x in _span(xs, points[i, 2], far):
                    dx = xs[x] - points[i, 2]
                    value = 256 * (dz * dz + dy * dy + dx * dx) // (far * far)
                    if value < depth[z, y, x] and (owners[i] == 0 or owners[i] == labels[z, y, x]):
                        depth[z, y, x] = value


@nb.njit(nogil=True, cache=True)
def raise_sheets(darkness, labels, zs, ys, xs, points, axes, reaches, halves, strengths, owners):
    """Raise each voxel to s (1 - t² / h²) of the discs around it, t being the distance from their plane.

    darkness  : int32 (Z, Y, X)  changed in place
    labels    : int32 (Z, Y, X)  a disc only touches voxels of its owner
    axes      : int64 (N, 3)     across each disc, of any length but 0
    reaches   : int64 (N,)       radii of the discs
    halves    : int64 (N,)       h, half their thickness
    strengths : int64 (N,)       s, their darkness in the middle
                                 the other arguments as in `claim`
    """
    for i in range(points.shape[0]):
        far, thick = reaches[i], halves[i] * halves[i]
        squared = axes[i, 0] * axes[i, 0] + axes[i, 1] * axes[i, 1] + axes[i, 2] * axes[i, 2]
        for z in _span(zs, points[i, 0], far):
            dz = zs[z] - points[i, 0]
            for y in _span(ys, points[i, 1], far):
                dy = ys[y] - points[i, 1]
                for x in _span(xs, points[i, 2], far):
                    dx = xs[x] - points[i, 2]
                    if labels[z, y, x] == owners[i] and dz * dz + dy * dy + dx * dx <= far * far:
                        along = dz * axes[i, 0] + dy * axes[i, 1] + dx * axes[i, 2]
                        value = strengths[i] - strengths[i] * along * along // (squared * thick)
                        if value > darkness[z, y, x]:
                            darkness[z, y, x] = value


@nb.njit(nogil=True, cache=True)
def join_equal_neighbours(labels, parents):
    """Make `parents` a forest whose trees are the 6-connected pieces of equal label.

    labels  : int32 (Z, Y, X)
    parents : int32 (Z * Y * X,)  arange on entry; on return each voxel points at the first of its piece
    """
    nz, ny, nx = labels.shape
    for z in range(nz):
        for y in range(ny):
            for x in range(nx):
                here = (z * ny + y) * nx + x
                label = labels[z, y, x]
                if z > 0 and labels[z - 1, y, x] == label:
                    _join(parents, here, here - ny * nx)
                if y > 0 and labels[z, y - 1, x] == label:
                    _join(parents, here, here - nx)
                if x > 0 and labels[z, y, x - 1] == label:
                    _join(parents, here, here - 1)
    for here in range(parents.shape[0]):
        parents[here] = parents[parents[here]]


@nb.njit(nogil=True, cache=True)
def _join(parents, a, b):
    """Join two trees under the smaller root."""
    while parents[a] != a:
        parents[a] = parents[parents[a]]
        a = parents[a]
    while parents[b] != b:
        parents[b] = parents[parents[b]]
        b = parents[b]
    if a < b:
        parents[b] = a
    else:
        parents[a] = b

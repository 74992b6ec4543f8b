"""Steepest ascent on the affinity graph, division of plateaus, basins, and merging of small ones.

Neighbours are numbered in ascending order of voxel index: −z, −y, −x, +x, +y, +z; the opposite of b is 5 − b.
A flag holds one bit per neighbour and, in its upper two bits, how far the voxel is from a corner of its
plateau: 0 = no corner (the plateau is a peak), otherwise 1 + distance mod 3. Distances of neighbours on a
plateau differ by at most 1, so three values tell uphill from downhill.
"""

import numba as nb
import numpy as np

from napari_celis.core.kernels.faces import label_below

FACE_BITS = 32


@nb.njit(nogil=True, cache=True)
def _compare(level, high, bit, best, bits):
    """Enter one edge into the steepest ones found so far."""
    level = min(level, high)
    if level > best:
        return level, bit
    if level == best:
        return best, bits | bit
    return best, bits


@nb.njit(nogil=True, cache=True)
def mark_steepest(levels, low, high, flags):
    """Set bit b of a voxel when its edge to neighbour b has the highest level of its edges.

    levels : uint8 or int32 (3, Z, Y, X)  edges to the neighbours at −z, −y, −x
    low    : int                          edges below this do not exist
    high   : int                          edges from here on are equal
    flags  : uint8 (Z, Y, X)              0 where a voxel has no edge at all
    """
    Z, Y, X = flags.shape
    for z in range(Z):
        for y in range(Y):
            for x in range(X):
                best, bits = low, 0
                if z > 0:
                    best, bits = _compare(int(levels[0, z, y, x]), high, 1, best, bits)
                if y > 0:
                    best, bits = _compare(int(levels[1, z, y, x]), high, 2, best, bits)
                if x > 0:
                    best, bits = _compare(int(levels[2, z, y, x]), high, 4, best, bits)
                if x + 1 < X:
                    best, bits = _compare(int(levels[2, z, y, x + 1]), high, 8, best, bits)
                if y + 1 < Y:
                    best, bits = _compare(int(levels[1, z, y + 1, x]), high, 16, best, bits)
                if z + 1 < Z:
                    best, bits = _compare(int(levels[0, z + 1, y, x]), high, 32, best, bits)
                flags[z, y, x] = bits


@nb.njit(nogil=True, cache=True)
def divide_plateaus(flags, steps, queue):
    """Write the distance to the nearest corner of the plateau into the upper bits of every flag.

    A corner has an edge to a voxel with a steeper one. Plateaus without a corner keep 0.

    flags : uint8 (N,)
    steps : int64 (6,)  index of each neighbour, relative to the voxel
    queue : int32 (N,)  scratch
    """
    n = 0
    for voxel in range(len(flags)):
        bits = int(flags[voxel])
        has_way_up = has_equal = False
        for b in range(6):
            if bits >> b & 1:
                if flags[voxel + steps[b]] >> (5 - b) & 1:
                    has_equal = True
                else:
                    has_way_up = True
        if has_way_up:
            flags[voxel] = bits | 1 << 6
            if has_equal:
                queue[n] = voxel
                n += 1
    head = 0
    while head < n:
        voxel = queue[head]
        head += 1
        bits = int(flags[voxel])
        further = (bits >> 6) % 3 + 1
        for b in range(6):
            if bits >> b & 1:
                other = voxel + steps[b]
                seen = int(flags[other])
                if seen >> (5 - b) & 1 and seen >> 6 == 0:
                    flags[other] = seen | further << 6
                    queue[n] = other
                    n += 1


@nb.njit(nogil=True, cache=True)
def find_root(pointers, index):
    """Follow the pointers to the smallest index of a set, and shorten the way."""
    while pointers[index] != index:
        pointers[index] = pointers[pointers[index]]
        index = pointers[index]
    return index


@nb.njit(nogil=True, cache=True)
def join(pointers, first, second):
    """Join two sets; the smaller root stays one."""
    if pointers[first] == pointers[second]:
        return
    first, second = find_root(pointers, first), find_root(pointers, second)
    if first < second:
        pointers[second] = first
    else:
        pointers[first] = second


@nb.njit(nogil=True, cache=True)
def _way_up(flags, steps, voxel, bits):
    """Find the neighbour to ascend to: beyond the plateau from a corner, otherwise nearer to one."""
    nearer = 3 if bits >> 6 == 1 else (bits >> 6) - 1
    chosen = -1
    for b in range(6):
        if bits >> b & 1:
            other = voxel + steps[b]
            seen = int(flags[other])
            if not seen >> (5 - b) & 1:
                return other
            if chosen < 0 and seen >> 6 == nearer:
                chosen = other
    return chosen


@nb.njit(nogil=True, cache=True)
def join_basins(flags, steps, pointers):
    """Join every voxel with the one it ascends to, and the voxels of a peak with each other.

    flags    : uint8 (N,)
    steps    : int64 (6,)
    pointers : int32 (N,)  filled here: each voxel points to a smaller or equal index of its basin
    """
    for voxel in range(len(flags)):
        pointers[voxel] = voxel
    for voxel in range(len(flags)):
        bits = int(flags[voxel])
        if bits >> 6:
            join(pointers, voxel, _way_up(flags, steps, voxel, bits))
        else:
            for b in range(3):
                if bits >> b & 1:
                    join(pointers, voxel, voxel + steps[b])


@nb.njit(nogil=True, cache=True)
def number_basins(flags, labels):
    """Turn pointers into labels 1, 2, … in the order of first voxels, 0 where there is no edge.

    flags  : uint8 (N,)
    labels : int32 (N,)  pointers to smaller or equal indices, replaced
    """
    n = 0
    for voxel in range(len(labels)):
        if flags[voxel] == 0:
            labels[voxel] = 0
        elif labels[voxel] == voxel:
            n += 1
            labels[voxel] = n
        else:
            # The voxel pointed to comes earlier, so it holds its label already.
            labels[voxel] = labels[labels[voxel]]
    return n


@nb.njit(nogil=True, cache=True)
def count_sizes(labels, sizes):
    """Count the voxels of each label; `sizes`, int64 (n + 1,), is zeroed by the caller."""
    for voxel in range(len(labels)):
        sizes[labels[voxel]] += 1


@nb.njit(nogil=True, cache=True)
def list_faces(levels, labels, sizes, lowest, limit, faces):
    """List the faces that could merge, and return their number; count only when `faces` is empty.

    levels : uint8 or int32 (3, Z, Y, X)
    labels : int32 (Z, Y, X)
    sizes  : int64 (n + 1,)
    lowest : int          faces of a lower level never merge
    limit  : int          a basin of this size is not small
    faces  : uint64 (F,)  descending level above, index of the face (3 · voxel + axis) below FACE_BITS
    """
    n = 0
    Z, Y, X = labels.shape
    top = (1 << 31) - 1
    for z in range(Z):
        for y in range(Y):
            for x in range(X):
                u = labels[z, y, x]
                if u == 0:
                    continue
                for axis in range(3):
                    v = label_below(labels, z, y, x, axis)
                    if v == u or v == 0 or (sizes[u] >= limit and sizes[v] >= limit):
                        continue
                    level = int(levels[axis, z, y, x])
                    if level < lowest:
                        continue
                    if len(faces) > 0:
                        face = 3 * ((z * Y + y) * X + x) + axis
                        faces[n] = np.uint64((top - level) << FACE_BITS | face)
                    n += 1
    return n


@nb.njit(nogil=True, cache=True)
def merge_small(faces, steps, labels, limit, pointers, sizes):
    """Go through the sorted faces and merge two segments when one of them is small.

    faces    : uint64 (F,)
    steps    : int64 (6,)
    labels   : int32 (N,)
    limit    : int
    pointers : int32 (n + 1,)  each basin points to itself; afterwards to a smaller or equal one
    sizes    : int64 (n + 1,)  kept up to date for roots
    """
    for i in range(len(faces)):
        face = np.int64(faces[i] & np.uint64((1 << FACE_BITS) - 1))
        voxel = face // 3
        u = find_root(pointers, labels[voxel])
        v = find_root(pointers, labels[voxel + steps[face % 3]])
        if u != v and (sizes[u] < limit or sizes[v] < limit):
            first, second = min(u, v), max(u, v)
            pointers[second] = first
            sizes[first] += sizes[second]


@nb.njit(nogil=True, cache=True)
def relabel(pointers, labels):
    """Replace each label by the number of its root, counted from 1 in ascending order.

    pointers : int32 (n + 1,)  to smaller or equal labels, replaced by the new numbers; 0 stays 0
    labels   : int32 (N,)
    """
    n = 0
    for label in range(1, len(pointers)):
        if pointers[label] == label:
            n += 1
            pointers[label] = n
        else:
            pointers[label] = pointers[pointers[label]]
    for voxel in range(len(labels)):
        labels[voxel] = pointers[labels[voxel]]

"""Distances to the boundary, their smoothed maxima, and flooding from there, on 8-bit affinities.

Distances need no table of nearest voxels, and the queue is 256 chained lists instead of a heap: that is what
makes them faster and smaller than scipy and scikit-image.
"""

import numba as nb
import numpy as np


@nb.njit(nogil=True, cache=True)
def survey(levels, lowest, means):
    """Write the lowest and the mean level of each voxel's edges.

    levels : uint8 (3, Z, Y, X)  edges to the neighbours at −z, −y, −x
    lowest : uint8 (Z, Y, X)
    means  : uint16 (Z, Y, X)    mean · 60, a whole number for one to six edges; 0 without any
    """
    Z, Y, X = lowest.shape
    for z in range(Z):
        for y in range(Y):
            for x in range(X):
                low, total, n = 255, 0, 0
                for axis in range(3):
                    at = z if axis == 0 else y if axis == 1 else x
                    if at > 0:
                        level = int(levels[axis, z, y, x])
                        low, total, n = min(low, level), total + level, n + 1
                    if at + 1 < lowest.shape[axis]:
                        level = int(levels[axis, z + (axis == 0), y + (axis == 1), x + (axis == 2)])
                        low, total, n = min(low, level), total + level, n + 1
                lowest[z, y, x] = low
                means[z, y, x] = total * 60 // max(n, 1)


@nb.njit(nogil=True, cache=True)
def lower_envelope(squares, width, apexes, starts, line):
    """Replace f(p) by the minimum over q of f(q) + (width · (p − q))² along the middle axis.

    The parabolas that are lowest somewhere, from left to right (Felzenszwalb and Huttenlocher).

    squares : float64 (A, N, B)
    width   : float
    apexes  : int64 (N,)        scratch: where the parabolas of the envelope stand
    starts  : float64 (N + 1,)  scratch: from where on each is the lowest
    line    : float64 (N,)      scratch
    """
    A, N, B = squares.shape
    for a in range(A):
        for b in range(B):
            k = -1
            for q in range(N):
                value = squares[a, q, b]
                line[q] = value
                if value == np.inf:
                    continue
                start = -np.inf
                while k >= 0:
                    p = apexes[k]
                    start = ((value - line[p]) / (width * width) + (q * q - p * p)) / (2 * (q - p))
                    if start > starts[k]:
                        break
                    k -= 1
                    start = -np.inf
                k += 1
                apexes[k], starts[k] = q, start
            if k < 0:
                continue
            starts[k + 1] = np.inf
            k = 0
            for p in range(N):
                while starts[k + 1] < p:
                    k += 1
                distance = width * (p - apexes[k])
                squares[a, p, b] = line[apexes[k]] + distance * distance


@nb.njit(nogil=True, cache=True)
def smooth(values, weights, line):
    """Average along the middle axis; beyond the ends the last value goes on.

    values  : float32 (A, N, B)
    weights : float64 (2 · r + 1,)
    line    : float64 (N,)  scratch
    """
    A, N, B = values.shape
    r = len(weights) // 2
    for a in range(A):
        for b in range(B):
            for p in range(N):
                line[p] = values[a, p, b]
            for p in range(N):
                total = 0.0
                for i in range(len(weights)):
                    total += weights[i] * line[min(max(p + i - r, 0), N - 1)]
                values[a, p, b] = total


@nb.njit(nogil=True, cache=True)
def highest_around(values, r, line):
    """Replace each value by the highest up to `r` voxels away along the middle axis.

    values : float32 (A, N, B)
    line   : float32 (N,)  scratch
    """
    A, N, B = values.shape
    for a in range(A):
        for b in range(B):
            for p in range(N):
                line[p] = values[a, p, b]
            for p in range(N):
                best = line[p]
                for q in range(max(p - r, 0), min(p + r + 1, N)):
                    best = max(best, line[q])
                values[a, p, b] = best


@nb.njit(nogil=True, cache=True)
def number_seeds(values, highest, labels, stack):
    """Number the maxima 1, 2, … in the order of first voxels, and return how many there are.

    Maxima of the same height that touch, at corners too, are one.

    values, highest : float32 (Z, Y, X)  a maximum is where they are equal and not 0
    labels          : int32 (Z, Y, X)    0 elsewhere
    stack           : int32 (N,)         scratch
    """
    Z, Y, X = values.shape
    labels[:] = 0
    n_seeds = 0
    for z in range(Z):
        for y in range(Y):
            for x in range(X):
                if labels[z, y, x] or values[z, y, x] == 0 or values[z, y, x] != highest[z, y, x]:
                    continue
                n_seeds += 1
                labels[z, y, x] = n_seeds
                stack[0], n = (z * Y + y) * X + x, 1
                while n:
                    n -= 1
                    voxel = stack[n]
                    cz, cy, cx = voxel // (Y * X), voxel // X % Y, voxel % X
                    for z2 in range(max(cz - 1, 0), min(cz + 2, Z)):
                        for y2 in range(max(cy - 1, 0), min(cy + 2, Y)):
                            for x2 in range(max(cx - 1, 0), min(cx + 2, X)):
                                value = values[z2, y2, x2]
                                if labels[z2, y2, x2] == 0 and value == highest[z2, y2, x2]:
                                    # Neighbours lie in each other's windows: two maxima are equally high.
                                    labels[z2, y2, x2] = n_seeds
                                    stack[n] = (z2 * Y + y2) * X + x2
                                    n += 1
    return n_seeds


@nb.njit(nogil=True, cache=True)
def flood(lowest, labels, following):
    """Spread the labels to every voxel: of those at hand the one with the highest `lowest`, first come first.

    lowest    : uint8 (Z, Y, X)
    labels    : int32 (Z, Y, X)  0 is not labelled yet, below 0 a wall
    following : int32 (N,)       scratch: the next voxel in the same queue
    """
    Z, Y, X = lowest.shape
    flat, heights = labels.reshape(-1), lowest.reshape(-1)
    first, last = np.full(256, -1, np.int32), np.full(256, -1, np.int32)
    for voxel in range(len(flat)):
        if flat[voxel] > 0:
            _enqueue(voxel, heights[voxel], first, last, following)
    level = 255
    while level >= 0:
        voxel = first[level]
        if voxel < 0:
            level -= 1
            continue
        first[level] = following[voxel]
        z, y, x = voxel // (Y * X), voxel // X % Y, voxel % X
        for b in range(6):
            if b == 0 and z > 0:
                other = voxel - Y * X
            elif b == 1 and y > 0:
                other = voxel - X
            elif b == 2 and x > 0:
                other = voxel - 1
            elif b == 3 and x + 1 < X:
                other = voxel + 1
            elif b == 4 and y + 1 < Y:
                other = voxel + X
            elif b == 5 and z + 1 < Z:
                other = voxel + Y * X
            else:
                continue
            if flat[other] == 0:
                flat[other] = flat[voxel]
                _enqueue(other, heights[other], first, last, following)
                level = max(level, int(heights[other]))


@nb.njit(nogil=True, cache=True)
def _enqueue(voxel, level, first, last, following):
    """Put a voxel at the end of the queue of its level."""
    following[voxel] = -1
    if first[level] < 0:
        first[level] = voxel
    else:
        following[last[level]] = voxel
    last[level] = voxel


@nb.njit(nogil=True, cache=True)
def renumber(labels, numbers):
    """Number labels 1, 2, … in the order of their first voxels; 0 stays 0.

    labels  : int32 (N,)
    numbers : int32 (n + 1,)  scratch, zeroed by the caller
    """
    n = 0
    for voxel in range(len(labels)):
        label = labels[voxel]
        if label and numbers[label] == 0:
            n += 1
            numbers[label] = n
        labels[voxel] = numbers[label]

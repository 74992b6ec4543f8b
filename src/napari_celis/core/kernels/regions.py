"""What lies inside each connectivity region: its supervoxels, its actions, who is seen from where."""

import numba as nb
import numpy as np

from napari_celis.core.kernels.adjacency import find_action


@nb.njit(nogil=True, cache=True)
def list_supervoxels(supervoxels, low, high, stamp, stamps, out):
    """List the supervoxels of one block in ascending order and return how many there are.

    stamps : int64 (N + 1,)  equals `stamp` where a supervoxel was met; any older value elsewhere
    out    : int32 (>= min(N, voxels),)
    """
    n = 0
    last = 0
    for z in range(low[0], high[0]):
        for y in range(low[1], high[1]):
            for x in range(low[2], high[2]):
                u = supervoxels[z, y, x]
                if u == last:
                    continue
                last = u
                if u != 0 and stamps[u] != stamp:
                    stamps[u] = stamp
                    out[n] = u
                    n += 1
    out[:n].sort()
    return n


@nb.njit(nogil=True, cache=True)
def list_actions(supervoxels, low, high, first, second, stamp, stamps, out):
    """List the actions with a face inside one block in ascending order and return how many there are.

    first, second : see `find_action`
    stamps        : int64 (A,)  as in `list_supervoxels`
    out           : int32 (>= min(A, faces),)
    """
    n = 0
    last_u, last_v = 0, 0
    for axis in range(3):
        dz, dy, dx = np.int64(axis == 0), np.int64(axis == 1), np.int64(axis == 2)
        for z in range(low[0], high[0] - dz):
            for y in range(low[1], high[1] - dy):
                for x in range(low[2], high[2] - dx):
                    u = supervoxels[z, y, x]
                    v = supervoxels[z + dz, y + dy, x + dx]
                    if u == v or u == 0 or v == 0 or (u == last_u and v == last_v):
                        continue
                    last_u, last_v = u, v
                    action = find_action(first, second, min(u, v), max(u, v))
                    if stamps[action] != stamp:
                        stamps[action] = stamp
                        out[n] = action
                        n += 1
    out[:n].sort()
    return n


@nb.njit(nogil=True, cache=True)
def fill_regions(
    supervoxels, lows, highs, begin, first, second, sv_stamps, action_stamps, n_local, local, n_slot, slot
):
    """List supervoxels and actions of the regions from `begin` on, until a buffer might overflow.

    lows, highs : int64 (R, 3)  boxes of all regions
    n_local     : int64 (R,)    supervoxels per region, written
    local       : int32 (L,)    supervoxels, region after region, written
    n_slot, slot                the same for actions

    Returns the first region that was not done and the used lengths of both buffers.
    """
    used_local, used_slot = 0, 0
    for region in range(begin, len(lows)):
        size = 1
        for axis in range(3):
            size *= highs[region, axis] - lows[region, axis]
        if len(local) - used_local < min(size, len(sv_stamps)):
            return region, used_local, used_slot
        if len(slot) - used_slot < min(3 * size, len(action_stamps)):
            return region, used_local, used_slot
        low, high = lows[region], highs[region]
        n = list_supervoxels(supervoxels, low, high, region, sv_stamps, local[used_local:])
        m = list_actions(supervoxels, low, high, first, second, region, action_stamps, slot[used_slot:])
        n_local[region], n_slot[region] = n, m
        used_local += n
        used_slot += m
    return len(lows), used_local, used_slot


@nb.njit(nogil=True, cache=True)
def localise(local_start, local_sv, slot_start, slot_action, action_u, action_v, index, slot_u, slot_v):
    """Write the ends of every slot as places in its region's list of supervoxels.

    index : int32 (N + 1,)  scratch
    """
    for region in range(len(local_start) - 1):
        for place in range(local_start[region], local_start[region + 1]):
            index[local_sv[place]] = place - local_start[region]
        for slot in range(slot_start[region], slot_start[region + 1]):
            slot_u[slot] = index[action_u[slot_action[slot]]]
            slot_v[slot] = index[action_v[slot_action[slot]]]


@nb.njit(nogil=True, cache=True)
def mark_visible(
    flat_supervoxels,
    flat_centres,
    flat_offsets,
    local_start,
    local_sv,
    centre_start,
    seen_start,
    begin,
    end,
    index,
    seen,
):
    """Set bit c of a supervoxel's row when the descriptor at its region's centre c samples it.

    flat_offsets : int64 (U,)  every sampled offset once
    seen_start   : int64 (R,)  where the rows of each region begin; a row has ceil(centres / 64) words
    seen         : uint64 (V,)
    index        : int32 (N + 1,)  scratch
    """
    for region in range(begin, end):
        for place in range(local_start[region], local_start[region + 1]):
            index[local_sv[place]] = place - local_start[region]
        first_centre = centre_start[region]
        n_words = (centre_start[region + 1] - first_centre + 63) // 64
        for c in range(centre_start[region + 1] - first_centre):
            bit = np.uint64(1) << np.uint64(c & 63)
            word = seen_start[region] + (c >> 6)
            position = flat_centres[first_centre + c]
            last = 0
            for i in range(len(flat_offsets)):
                u = flat_supervoxels[position + flat_offsets[i]]
                if u != last:
                    last = u
                    if u != 0:
                        seen[word + index[u] * n_words] |= bit


@nb.njit(nogil=True, cache=True)
def _root(parent, i):
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@nb.njit(nogil=True, cache=True)
def join_taken(regions, local_start, slot_start, slot_action, slot_u, slot_v, taken, parent, out):
    """Label the components of the given regions under the actions taken so far.

    parent : int32 (>= supervoxels of the largest region,)  scratch
    out    : int32 (L,)  smallest place in the component + 1, written for these regions only
    """
    for i in range(len(regions)):
        region = regions[i]
        begin = local_start[region]
        n = local_start[region + 1] - begin
        for place in range(n):
            parent[place] = place
        for slot in range(slot_start[region], slot_start[region + 1]):
            if taken[slot_action[slot]]:
                a, b = _root(parent, slot_u[slot]), _root(parent, slot_v[slot])
                if a != b:
                    parent[max(a, b)] = min(a, b)
        for place in range(n):
            out[begin + place] = _root(parent, place) + 1

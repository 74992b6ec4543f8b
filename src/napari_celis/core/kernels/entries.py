"""The pairs of components of one region that actions could merge, and what a merge makes of them.

An *entry* is a pair of components of one region. It is active when an action could merge the two; the term
of an active pair is kept at its leader, the first slot between the two components. Arguments that travel
together are described in `napari_celis.core.regions` (`layout`) and `napari_celis.core.buffers` (`scratch`).
"""

import numba as nb
import numpy as np

from napari_celis.core.kernels.tables import pair_clear, pair_find, pair_insert


@nb.njit(nogil=True, cache=True)
def load_components(layout, components, region, scratch):
    """Let `scratch.table` answer the component of every supervoxel of a region; 0 stays background."""
    for place in range(layout.local_start[region], layout.local_start[region + 1]):
        scratch.table[layout.local_sv[place]] = components[place]


@nb.njit(nogil=True, cache=True)
def pair_key(a, b, width):
    """Number an unordered pair of components."""
    return np.int64(min(a, b)) * width + np.int64(max(a, b))


@nb.njit(nogil=True, cache=True)
def enter_pairs(layout, components, region, scratch):
    """Enter the active pairs of a region into the pair table; returns shift, width, number of entries."""
    begin = layout.local_start[region]
    width = np.int64(layout.local_start[region + 1] - begin + 1)
    n_slots = layout.slot_start[region + 1] - layout.slot_start[region]
    shift = pair_clear(scratch.keys, scratch.filter, 2 * n_slots)
    n = 0
    for slot in range(layout.slot_start[region], layout.slot_start[region + 1]):
        a, b = components[begin + layout.slot_u[slot]], components[begin + layout.slot_v[slot]]
        if a == b:
            continue
        key = pair_key(a, b, width)
        if pair_find(scratch.keys, scratch.values, scratch.filter, shift, key) < 0:
            pair_insert(scratch.keys, scratch.values, scratch.filter, shift, key, n)
            scratch.entry_slot[n] = slot
            scratch.entry_a[n] = a
            scratch.entry_b[n] = b
            scratch.partner[n] = -1
            scratch.stamps[n] = -1
            n += 1
    return shift, width, n


@nb.njit(nogil=True, cache=True)
def enter_changes(layout, components, region, k1, k2, scratch):
    """Enter the active pairs, and as their partners the pairs that join them when k1 and k2 merge.

    Merging makes {k1, L} and {k2, L} one pair for every L. If one of the two is not active it is entered all
    the same, without a slot, because its bits belong to the new pair.
    Returns shift, width, number of entries, entry of {k1, k2}.
    """
    shift, width, n = enter_pairs(layout, components, region, scratch)
    merged = pair_find(scratch.keys, scratch.values, scratch.filter, shift, pair_key(k1, k2, width))
    for e in range(n):
        a, b = scratch.entry_a[e], scratch.entry_b[e]
        if b in (k1, k2):
            a, b = b, a
        if e == merged or (a != k1 and a != k2):
            continue
        other = k2 if a == k1 else k1
        key = pair_key(other, b, width)
        f = pair_find(scratch.keys, scratch.values, scratch.filter, shift, key)
        if f < 0:
            f = n
            n += 1
            pair_insert(scratch.keys, scratch.values, scratch.filter, shift, key, f)
            scratch.entry_slot[f] = -1
            scratch.entry_a[f] = other
            scratch.entry_b[f] = b
            scratch.stamps[f] = -1
            scratch.partner[f] = e
        scratch.partner[e] = f
    return shift, width, n, merged


@nb.njit(nogil=True, cache=True)
def leader_after(scratch, e):
    """Return the leader of entry `e` once the merge is done."""
    slot, f = scratch.entry_slot[e], scratch.partner[e]
    if f >= 0 and scratch.entry_slot[f] >= 0 and (slot < 0 or scratch.entry_slot[f] < slot):
        return scratch.entry_slot[f]
    return slot


@nb.njit(nogil=True, cache=True)
def is_known_after(scratch, known, e):
    """Tell whether the energy change of entry `e` is known after the merge: if all that it is made of is.

    known : bool (S,)
    """
    slot, f = scratch.entry_slot[e], scratch.partner[e]
    if slot >= 0 and not known[slot]:
        return False
    return f < 0 or scratch.entry_slot[f] < 0 or known[scratch.entry_slot[f]]

"""Sums of terms per slot: add, rename after a merge, add up per action."""

import numba as nb
import numpy as np

from napari_celis.core.kernels.changes import enter_changes, enter_pairs, leader_after, pair_key
from napari_celis.core.kernels.tables import pair_find


@nb.njit(nogil=True, cache=True)
def add_terms(terms, n_terms, energies, weight, sums, region_energy):
    """Add energy differences to the leaders of their pairs, base energies to their regions.

    sums : float64 (S, M)  column 0: sum of energy changes; column 1: number of centres
    """
    for i in range(n_terms):
        target, base = terms.target[i], terms.base[i]
        energy = energies[terms.row[i]]
        if base < 0:
            region_energy[target] += weight * energy
        else:
            sign = terms.sign[i]
            sums[target, 0] += sign * weight * (energy - energies[base])
            sums[target, 1] += sign


@nb.njit(nogil=True, cache=True)
def spread_initial(layout, components, regions, scratch, sums):
    """Copy the sums of each leader to all slots of its pair."""
    for i in range(len(regions)):
        region = regions[i]
        begin = layout.local_start[region]
        shift, width, _ = enter_pairs(layout, components, region, scratch)
        for slot in range(layout.slot_start[region], layout.slot_start[region + 1]):
            a, b = components[begin + layout.slot_u[slot]], components[begin + layout.slot_v[slot]]
            if a == b:
                sums[slot, :] = 0.0
            else:
                e = pair_find(scratch.keys, scratch.values, scratch.filter, shift, pair_key(a, b, width))
                sums[slot, :] = sums[scratch.entry_slot[e]]


@nb.njit(nogil=True, cache=True)
def rename_pairs(
    layout,
    components,
    regions,
    k1,
    k2,
    scratch,
    changes,
    sums,
    region_energy,
    slots,
    old_sums,
    places,
    counts,
):
    """Merge k2[i] into k1[i] in region i: join their pairs, add `changes`, and note what was there before.

    changes  : float64 (S, M)  at the leaders after the merge; zeroed here
    slots    : int64 (n,)      slots whose sums changed, written
    old_sums : float64 (n, M)  their sums before, written
    places   : int64 (m,)      places whose component became k1, written
    counts   : int64 (2,)      how many of each, zeroed by the caller
    """
    for i in range(len(regions)):
        region = regions[i]
        begin = layout.local_start[region]
        shift, width, n, merged = enter_changes(layout, components, region, k1[i], k2[i], scratch)
        region_energy[region] += sums[scratch.entry_slot[merged], 0]
        for e in range(n):
            f = scratch.partner[e]
            if scratch.entry_slot[e] < 0 or e == merged:
                continue
            leader = leader_after(scratch, e)
            for m in range(sums.shape[1]):
                total = sums[scratch.entry_slot[e], m]
                if f >= 0 and scratch.entry_slot[f] >= 0:
                    # In slot order, so that both entries of the pair get the same bits.
                    other = sums[scratch.entry_slot[f], m]
                    total = total + other if scratch.entry_slot[e] < scratch.entry_slot[f] else other + total
                scratch.entry_sums[e, m] = total + changes[leader, m]
        scratch.entry_sums[merged, :] = 0.0
        for e in range(n):
            if scratch.entry_slot[e] >= 0:
                changes[leader_after(scratch, e), :] = 0.0
        for slot in range(layout.slot_start[region], layout.slot_start[region + 1]):
            a, b = components[begin + layout.slot_u[slot]], components[begin + layout.slot_v[slot]]
            if a == b:
                continue
            e = pair_find(scratch.keys, scratch.values, scratch.filter, shift, pair_key(a, b, width))
            is_changed = False
            for m in range(sums.shape[1]):
                is_changed |= sums[slot, m] != scratch.entry_sums[e, m]
            if is_changed:
                slots[counts[0]] = slot
                old_sums[counts[0], :] = sums[slot]
                counts[0] += 1
                sums[slot, :] = scratch.entry_sums[e]
        for place in range(begin, layout.local_start[region + 1]):
            if components[place] == k2[i]:
                places[counts[1]] = place
                counts[1] += 1
                components[place] = k1[i]


@nb.njit(nogil=True, cache=True)
def sum_slots(actions, action_start, action_slots, sums, out):
    """Add up the slots of each given action, always in the same order.

    out : float64 (len(actions), M)
    """
    for i in range(len(actions)):
        out[i, :] = 0.0
        for j in range(action_start[actions[i]], action_start[actions[i] + 1]):
            out[i, :] += sums[action_slots[j]]


@nb.njit(nogil=True, cache=True)
def mark_leaders(layout, components, regions, scratch, leads):
    """Mark the leader of every active pair of the given regions, and no other slot of theirs.

    leads : bool (S,)
    """
    for i in range(len(regions)):
        region = regions[i]
        leads[layout.slot_start[region] : layout.slot_start[region + 1]] = False
        _, _, n = enter_pairs(layout, components, region, scratch)
        for e in range(n):
            leads[scratch.entry_slot[e]] = True


@nb.njit(nogil=True, cache=True)
def sum_leaders(actions, action_start, action_slots, leads, sums, out):
    """Add up the slots of each given action that lead their pair, always in the same order.

    out : float64 (len(actions), M)
    """
    for i in range(len(actions)):
        out[i, :] = 0.0
        for j in range(action_start[actions[i]], action_start[actions[i] + 1]):
            if leads[action_slots[j]]:
                out[i, :] += sums[action_slots[j]]


@nb.njit(nogil=True, cache=True)
def joining_regions(slots, slot_region, layout, components, regions, k1, k2):
    """List the regions where the action of these slots would join two components, and the two.

    Returns how many were written to `regions`, `k1` (the smaller component) and `k2`.
    """
    n = 0
    for i in range(len(slots)):
        slot = slots[i]
        region = slot_region[slot]
        begin = layout.local_start[region]
        a, b = components[begin + layout.slot_u[slot]], components[begin + layout.slot_v[slot]]
        if a != b:
            regions[n], k1[n], k2[n] = region, min(a, b), max(a, b)
            n += 1
    return np.int64(n)

"""Sums of terms per slot: add, rename after a merge, add up per action."""

import numba as nb
import numpy as np

from napari_celis.core.kernels.entries import (
    enter_changes,
    enter_pairs,
    is_known_after,
    leader_after,
    pair_key,
)
from napari_celis.core.kernels.tables import pair_find


@nb.njit(nogil=True, cache=True)
def add_terms(terms, n_terms, energies, sums, region_energy):
    """Add energy differences to the leaders of their pairs, base energies to their regions.

    energies : int64          units
    sums     : int64 (S, 2)   energy change, number of centres
    """
    for i in range(n_terms):
        target, base, row = terms.target[i], terms.base[i], terms.row[i]
        if row < 0:
            sums[target, 1] += terms.sign[i]
        elif base < 0:
            region_energy[target] += energies[row]
        else:
            sums[target, 0] += terms.sign[i] * (energies[row] - energies[base])
            sums[target, 1] += terms.sign[i]


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
                sums[slot, :] = 0
            else:
                e = pair_find(scratch.keys, scratch.values, scratch.filter, shift, pair_key(a, b, width))
                sums[slot, :] = sums[scratch.entry_slot[e]]


@nb.njit(nogil=True, cache=True)
def add_pair(pair, is_known, sign, out):
    """Add what a pair of components counts in a contact to `out`.

    pair : int64 (2,)  energy change, centres
    out  : int64 (3,)  energy change as far as it is known, centres, centres where it is not known
    """
    out[1] += sign * pair[1]
    if is_known:
        out[0] += sign * pair[0]
    else:
        out[2] += sign * pair[1]


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
    known,
    region_energy,
    slots,
    old_sums,
    old_known,
    places,
    leaders,
    shifts,
    counts,
):
    """Merge k2[i] into k1[i] in region i: join their pairs, add `changes`, and note what was there before.

    changes   : int64 (S, 2)  at the leaders after the merge; zeroed here
    slots     : int64 (n,)    slots whose sums changed, written
    old_sums  : int64 (n, 2)  their sums before, written
    old_known : bool (n,)     whether they were known, written
    places    : int64 (m,)    places whose component became k1, written
    leaders   : int64 (n,)    leaders of pairs that count differently now, but for the merged one, written
    shifts    : int64 (n, 3)  how much, as in `add_pair`, zeroed by the caller, written
    counts    : int64 (3,)    how many slots, places and leaders, zeroed by the caller
    """
    for i in range(len(regions)):
        region = regions[i]
        begin = layout.local_start[region]
        shift, width, n, merged = enter_changes(layout, components, region, k1[i], k2[i], scratch)
        region_energy[region] += sums[scratch.entry_slot[merged], 0]
        for e in range(n):
            slot, f = scratch.entry_slot[e], scratch.partner[e]
            if slot < 0 or e == merged:
                continue
            leader = leader_after(scratch, e)
            scratch.entry_sums[e, :] = sums[slot] + changes[leader]
            is_known = is_known_after(scratch, known, e)
            has_partner = f >= 0 and scratch.entry_slot[f] >= 0
            if has_partner:
                scratch.entry_sums[e, :] += sums[scratch.entry_slot[f]]
            if not is_known:
                scratch.entry_sums[e, 0] = 0
            scratch.entry_known[e] = is_known
            if not has_partner or e < f:
                out = shifts[counts[2]]
                add_pair(scratch.entry_sums[e], is_known, 1, out)
                add_pair(sums[slot], known[slot], -1, out)
                if has_partner:
                    add_pair(sums[scratch.entry_slot[f]], known[scratch.entry_slot[f]], -1, out)
                if out[0] != 0 or out[1] != 0 or out[2] != 0:
                    leaders[counts[2]] = leader
                    counts[2] += 1
        scratch.entry_sums[merged, :] = 0
        scratch.entry_known[merged] = True
        for e in range(n):
            if scratch.entry_slot[e] >= 0:
                changes[leader_after(scratch, e), :] = 0
        for slot in range(layout.slot_start[region], layout.slot_start[region + 1]):
            a, b = components[begin + layout.slot_u[slot]], components[begin + layout.slot_v[slot]]
            if a == b:
                continue
            e = pair_find(scratch.keys, scratch.values, scratch.filter, shift, pair_key(a, b, width))
            is_changed = known[slot] != scratch.entry_known[e]
            for m in range(sums.shape[1]):
                is_changed |= sums[slot, m] != scratch.entry_sums[e, m]
            if is_changed:
                slots[counts[0]] = slot
                old_sums[counts[0], :] = sums[slot]
                old_known[counts[0]] = known[slot]
                counts[0] += 1
                sums[slot, :] = scratch.entry_sums[e]
                known[slot] = scratch.entry_known[e]
        for place in range(begin, layout.local_start[region + 1]):
            if components[place] == k2[i]:
                places[counts[1]] = place
                counts[1] += 1
                components[place] = k1[i]


@nb.njit(nogil=True, cache=True)
def sum_slots(actions, action_start, action_slots, sums, known, out):
    """Add up what the slots of each given action count, as in `add_pair`.

    out : int64 (len(actions), 3)
    """
    for i in range(len(actions)):
        out[i, :] = 0
        for j in range(action_start[actions[i]], action_start[actions[i] + 1]):
            add_pair(sums[action_slots[j]], known[action_slots[j]], 1, out[i])


@nb.njit(nogil=True, cache=True)
def add_regions(layout, components, regions, sign, scratch, sums, known, contact_of, is_open, spec, out):
    """Add what the pairs of some regions count to the contacts of their segments, each pair once.

    contact_of, is_open : of the segment graph; what lies inside a segment counts nowhere
    out                 : int64 (A, specs, 3)
    """
    for i in range(len(regions)):
        _, _, n = enter_pairs(layout, components, regions[i], scratch)
        for e in range(n):
            slot = scratch.entry_slot[e]
            contact = contact_of[layout.slot_action[slot]]
            if is_open[contact]:
                add_pair(sums[slot], known[slot], sign, out[contact, spec])


@nb.njit(nogil=True, cache=True)
def shift_contacts(leaders, shifts, sign, slot_action, contact_of, is_open, spec, out, touched):
    """Add shifts of pairs to the contacts of their segments.

    touched : int32 (n,)  contacts, written

    Returns how many were touched; repeats are possible.
    """
    n = 0
    for i in range(len(leaders)):
        contact = contact_of[slot_action[leaders[i]]]
        if is_open[contact]:
            for m in range(out.shape[2]):
                out[contact, spec, m] += sign * shifts[i, m]
            touched[n] = contact
            n += 1
    return n


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

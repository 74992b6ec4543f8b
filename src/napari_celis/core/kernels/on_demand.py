"""Evaluate the energy changes of single pairs of components, on request.

Arguments are those of `napari_celis.core.kernels.changes` and `napari_celis.core.kernels.scores`; energies
are looked up by `emit_row`.
"""

import numba as nb
import numpy as np

from napari_celis.core.kernels.changes import (
    emit_row,
    emit_term,
    emit_union,
    gather_views,
    is_full,
    open_lookup,
    sample_centre,
)
from napari_celis.core.kernels.entries import enter_pairs, load_components, pair_key
from napari_celis.core.kernels.scores import add_pair
from napari_celis.core.kernels.tables import pair_find


@nb.njit(nogil=True, cache=True)
def list_unknown(layout, components, slots, slot_region, scratch, known, wanted, regions):
    """Mark the leaders of the unknown pairs among some slots, and list the regions that they lie in.

    slots   : int64 (n,)  ascending
    wanted  : bool (S,)   set at the leaders
    regions : int64 (n,)  written, ascending, without repeats

    Returns the number of regions.
    """
    n_regions = 0
    last, shift, width = np.int64(-1), 0, np.int64(0)
    for i in range(len(slots)):
        slot = slots[i]
        if known[slot]:
            continue
        region = np.int64(slot_region[slot])
        begin = layout.local_start[region]
        a, b = components[begin + layout.slot_u[slot]], components[begin + layout.slot_v[slot]]
        if a == b:
            continue
        if region != last:
            shift, width, _ = enter_pairs(layout, components, region, scratch)
            regions[n_regions] = region
            n_regions += 1
            last = region
        e = pair_find(scratch.keys, scratch.values, scratch.filter, shift, pair_key(a, b, width))
        wanted[scratch.entry_slot[e]] = True
    return n_regions


@nb.njit(nogil=True, cache=True)
def mask_wanted(layout, components, regions, wanted, mask_start, scratch, union, masks):
    """Mark the centres that sample both components of a wanted pair.

    wanted     : bool (S,)  at the leaders of the pairs
    mask_start : int64 (n + 1,)  where the mask of each region begins in `masks`
    union      : uint64 (rows, words)  scratch: who sees each component, rows >= components + 1
    masks      : uint64 (mask_start[-1],)  zeroed by the caller
    """
    for i in range(len(regions)):
        region = regions[i]
        n_words = mask_start[i + 1] - mask_start[i]
        gather_views(layout, components, region, n_words, union)
        _, _, n = enter_pairs(layout, components, region, scratch)
        for e in range(n):
            if wanted[scratch.entry_slot[e]]:
                a, b = scratch.entry_a[e], scratch.entry_b[e]
                for word in range(n_words):
                    masks[mask_start[i] + word] |= union[a, word] & union[b, word]


@nb.njit(nogil=True, cache=True)
def collect_wanted(
    flat_supervoxels,
    layout,
    offsets,
    components,
    regions,
    wanted,
    mask_start,
    masks,
    begin,
    begin_centre,
    cache,
    rows,
    terms,
    scratch,
    counts,
):
    """Collect the energy changes of wanted pairs in the given regions, until a buffer is full.

    Arguments and result as in `collect_changes`; `wanted` as in `mask_wanted`.
    """
    for i in range(begin, len(regions)):
        region = regions[i]
        load_components(layout, components, region, scratch)
        shift, width, n = enter_pairs(layout, components, region, scratch)
        lookup = open_lookup(scratch, shift, width, n)
        first = layout.centre_start[region]
        for c in range(begin_centre, layout.centre_start[region + 1] - first):
            if (masks[mask_start[i] + (c >> 6)] >> np.uint64(c & 63)) & np.uint64(1) == 0:
                continue
            if is_full(rows, terms, counts, offsets.shape[1]):
                return i, c
            centre = first + c
            n_groups = sample_centre(flat_supervoxels, layout, centre, offsets, lookup, scratch)
            counts[3] += 1
            base = np.int64(-1)
            for g in range(n_groups):
                slot = scratch.entry_slot[scratch.group_entry[g]]
                if wanted[slot]:
                    if base < 0:
                        base = emit_row(rows, counts, cache, centre, scratch.base)
                    row = emit_union(rows, counts, cache, centre, scratch, g)
                    emit_term(terms, counts, slot, base, row, 1)
        begin_centre = 0
    return len(regions), 0


@nb.njit(nogil=True, cache=True)
def add_changes(terms, n_terms, energies, sums):
    """Add energy differences to the leaders of their pairs, whose centres are counted already."""
    for i in range(n_terms):
        sums[terms.target[i], 0] += energies[terms.row[i]] - energies[terms.base[i]]


@nb.njit(nogil=True, cache=True)
def accept_wanted(layout, components, regions, scratch, wanted, changes, sums, known, leaders, shifts):
    """Let the energy changes of wanted pairs count, and clear `wanted` and `changes`.

    changes : int64 (S, 2)  at the leaders; only the first column matters
    leaders : int64 (n,)    leaders of the pairs, written
    shifts  : int64 (n, 3)  by how much they count differently, zeroed by the caller, written

    Returns the number of pairs.
    """
    n_pairs = 0
    for i in range(len(regions)):
        region = regions[i]
        begin = layout.local_start[region]
        shift, width, n = enter_pairs(layout, components, region, scratch)
        for slot in range(layout.slot_start[region], layout.slot_start[region + 1]):
            a, b = components[begin + layout.slot_u[slot]], components[begin + layout.slot_v[slot]]
            if a == b:
                continue
            e = pair_find(scratch.keys, scratch.values, scratch.filter, shift, pair_key(a, b, width))
            leader = scratch.entry_slot[e]
            if wanted[leader]:
                sums[slot, 0] = changes[leader, 0]
                known[slot] = True
        for e in range(n):
            leader = scratch.entry_slot[e]
            if wanted[leader]:
                add_pair(sums[leader], True, 1, shifts[n_pairs])
                add_pair(sums[leader], False, -1, shifts[n_pairs])
                leaders[n_pairs] = leader
                n_pairs += 1
                wanted[leader] = False
                changes[leader, :] = 0
    return n_pairs

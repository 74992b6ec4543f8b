"""One pass per centre: its descriptor, and for every merge at once the bits that it would set.

Arguments that travel together come as named tuples of arrays, described in `napari_celis.core.regions`
(`layout`) and `napari_celis.core.buffers` (`rows`, `terms`, `scratch`, `cache`); for entries and leaders see
`napari_celis.core.kernels.entries`.
"""

import numba as nb
import numpy as np

from napari_celis.core.kernels.entries import (
    enter_changes,
    enter_pairs,
    is_known_after,
    leader_after,
    load_components,
    pair_key,
)
from napari_celis.core.kernels.tables import MISSING, energy_find, hash_bits, pair_find

EVERYTHING, COUNTS, BASES = 0, 1, 2
"""What `collect_initial` collects: all energies, only who sees what, or only energies without a change."""


@nb.njit(nogil=True, cache=True)
def open_lookup(scratch, shift, width, n_entries):
    """Get ready to look up entries at many centres; returns what `sample_centre` needs to know for it.

    A look into a matrix beats a hash by far. A region with so many components that the matrix would not fit
    makes do with the hash table.
    """
    matrix = scratch.matrix
    if width * width > len(matrix):
        return shift, width, False
    matrix[: width * width] = -1
    for e in range(n_entries):
        a, b = np.int64(scratch.entry_a[e]), np.int64(scratch.entry_b[e])
        matrix[a * width + b] = e
        matrix[b * width + a] = e
    return shift, width, True


@nb.njit(nogil=True, cache=True)
def look_up(flat_supervoxels, position, offsets, lookup, scratch):
    """Write the components at both ends of every pair to `scratch.ends`, and its entry to `scratch.entries`.

    Background at one end, the same component at both, or a pair without an entry give -1.
    """
    shift, width, is_dense = lookup
    # Arrays of a named tuple are counted references: taken out once, not once per pair.
    table, matrix, entries = scratch.table, scratch.matrix, scratch.entries
    keys, values, known = scratch.keys, scratch.values, scratch.filter
    end_a, end_b, offset_a, offset_b = scratch.ends[0], scratch.ends[1], offsets[0], offsets[1]
    for i in range(len(offset_a)):
        # Unsigned indices cannot be negative, which saves a test each.
        end_a[i] = table[flat_supervoxels[np.uint64(position + offset_a[i])]]
        end_b[i] = table[flat_supervoxels[np.uint64(position + offset_b[i])]]
    if is_dense:
        row = np.int32(width)
        for i in range(len(offset_a)):
            entries[i] = matrix[np.uint32(end_a[i] * row + end_b[i])]
    else:
        for i in range(len(offset_a)):
            a, b = end_a[i], end_b[i]
            entries[i] = -1
            if a != b and a != 0 and b != 0:
                entries[i] = pair_find(keys, values, known, shift, pair_key(a, b, width))


@nb.njit(nogil=True, cache=True)
def sample_centre(flat_supervoxels, layout, centre, offsets, lookup, scratch):
    """Write the descriptor of one centre to `scratch.base` and group its other bits by entry.

    A bit whose ends lie in different components is set by the merge of these two and by no other, so one
    look at each pair tells what every merge would change. Returns the number of groups; group g belongs to
    `scratch.group_entry[g]` and has the bits `scratch.group_bits[g]`.
    """
    look_up(flat_supervoxels, layout.flat_centres[centre], offsets, lookup, scratch)
    end_a, end_b, entries, hits = scratch.ends[0], scratch.ends[1], scratch.entries, scratch.hits
    stamps, groups, group_entry = scratch.stamps, scratch.groups, scratch.group_entry
    base, flat_bits = scratch.base, scratch.flat_bits
    n_pairs, n_words = offsets.shape[1], np.uint64(len(base))
    for word in range(len(base)):
        bits = np.uint64(0)
        begin = word * 64
        for i in range(begin, min(begin + 64, n_pairs)):
            is_same = (end_a[i] == end_b[i]) & (end_a[i] != 0)
            bits |= np.uint64(is_same) << np.uint64(i - begin)
        base[word] = bits
    # Listing the hits without a branch first: a branch per pair would be mispredicted too often.
    n_hits = 0
    for i in range(n_pairs):
        hits[n_hits] = i
        n_hits += entries[i] >= 0
    n_groups = 0
    for j in range(n_hits):
        i = np.uint64(hits[j])
        e = np.uint64(entries[i])
        if stamps[e] != centre:
            stamps[e] = centre
            groups[e] = n_groups
            group_entry[n_groups] = e
            for word in range(len(base)):
                flat_bits[np.uint64(n_groups) * n_words + np.uint64(word)] = 0
            n_groups += 1
        place = np.uint64(groups[e]) * n_words + (i >> np.uint64(6))
        flat_bits[place] |= np.uint64(1) << (i & np.uint64(63))
    return n_groups


@nb.njit(nogil=True, cache=True)
def emit_row(rows, counts, cache, centre, bits):
    """Ask for the energy of `bits` at `centre`; what the cache does not know joins the missing rows.

    The cache knows descriptors by their hash, see `tables.hash_bits`.
    """
    row, missing = counts[0], counts[1]
    h = hash_bits(bits)
    energy = energy_find(cache.centres, cache.hashes, cache.energies, centre, h)
    rows.energy[row] = energy
    if energy == MISSING:
        rows.missing[missing] = row
        rows.centre[missing] = centre
        rows.hash[missing] = h
        rows.bits[missing, :] = bits
        counts[1] = missing + 1
    counts[0] = row + 1
    return row


@nb.njit(nogil=True, cache=True)
def emit_union(rows, counts, cache, centre, scratch, group):
    """Ask for the energy at a centre with the bits of one group set."""
    for word in range(len(scratch.base)):
        scratch.after[word] = scratch.base[word] | scratch.group_bits[group, word]
    return emit_row(rows, counts, cache, centre, scratch.after)


@nb.njit(nogil=True, cache=True)
def emit_term(terms, counts, target, base, row, sign):
    """Note that `target` gains (sign = 1) or loses (-1) the energy of `row` minus that of `base`.

    With a row of -1 only the centre is counted.
    """
    n = counts[2]
    terms.target[n] = target
    terms.base[n] = base
    terms.row[n] = row
    terms.sign[n] = sign
    counts[2] = n + 1


@nb.njit(nogil=True, cache=True)
def is_full(rows, terms, counts, n_pairs):
    """Tell whether one more centre might not fit."""
    return counts[0] + 2 * n_pairs + 2 > len(rows.energy) or counts[2] + 2 * n_pairs + 2 > len(terms.row)


@nb.njit(nogil=True, cache=True)
def collect_initial(
    flat_supervoxels,
    layout,
    offsets,
    components,
    regions,
    wanted,
    begin,
    begin_centre,
    cache,
    rows,
    terms,
    scratch,
    counts,
):
    """Collect the terms of every active pair in the given regions, from scratch, until a buffer is full.

    wanted : int         `EVERYTHING`, `COUNTS` or `BASES`
    counts : int64 (4,)  rows, missing rows, terms, centres sampled; zeroed by the caller

    A base energy is a term without a base; its target is the place of the region in `regions`.
    Returns where to go on: place in `regions`, centre within the region.
    """
    for i in range(begin, len(regions)):
        region = regions[i]
        load_components(layout, components, region, scratch)
        shift, width, n = enter_pairs(layout, components, region, scratch)
        lookup = open_lookup(scratch, shift, width, n)
        first = layout.centre_start[region]
        for c in range(begin_centre, layout.centre_start[region + 1] - first):
            if is_full(rows, terms, counts, offsets.shape[1]):
                return i, c
            centre = first + c
            n_groups = sample_centre(flat_supervoxels, layout, centre, offsets, lookup, scratch)
            counts[3] += 1
            base, row = np.int64(-1), np.int64(-1)
            if wanted != COUNTS:
                base = emit_row(rows, counts, cache, centre, scratch.base)
                emit_term(terms, counts, i, -1, base, 1)
            for g in range(n_groups if wanted != BASES else 0):
                if wanted == EVERYTHING:
                    row = emit_union(rows, counts, cache, centre, scratch, g)
                emit_term(terms, counts, scratch.entry_slot[scratch.group_entry[g]], base, row, 1)
        begin_centre = 0
    return len(regions), 0


@nb.njit(nogil=True, cache=True)
def gather_views(layout, components, region, n_words, union):
    """Write who sees each component of a region to the rows of `union`, one bit per centre."""
    begin = layout.local_start[region]
    n_local = layout.local_start[region + 1] - begin
    union[: n_local + 1, :n_words] = 0
    for place in range(n_local):
        row = layout.seen_start[region] + place * n_words
        for word in range(n_words):
            union[components[begin + place], word] |= layout.seen[row + word]


@nb.njit(nogil=True, cache=True)
def touchable_centres(layout, components, regions, k1, k2, mask_start, scratch, union, masks):
    """Mark the centres where merging k1[i] and k2[i] in region i may change a term.

    These are the centres that sample both components, or one of them together with an L of which only the
    other one was an active partner: there {k1, L} had bits but no term.

    mask_start : int64 (n + 1,)  where the mask of each region begins in `masks`
    union      : uint64 (rows, words)  scratch: who sees each component, rows >= components + 1
    """
    for i in range(len(regions)):
        region = regions[i]
        n_words = mask_start[i + 1] - mask_start[i]
        gather_views(layout, components, region, n_words, union)
        for word in range(n_words):
            masks[mask_start[i] + word] = union[k1[i], word] & union[k2[i], word]
        _, _, n, _ = enter_changes(layout, components, region, k1[i], k2[i], scratch)
        for e in range(n):
            if scratch.entry_slot[e] < 0:
                a, b = scratch.entry_a[e], scratch.entry_b[e]
                for word in range(n_words):
                    masks[mask_start[i] + word] |= union[a, word] & union[b, word]


@nb.njit(nogil=True, cache=True)
def _emit_changes(centre, n_groups, merged, known, cache, rows, terms, counts, scratch):
    """Emit what the merge changes at one sampled centre: old terms go, new terms come.

    Where the energy change of a pair will not be known, only centres are counted.
    """
    stamp = centre
    is_joined = merged >= 0 and scratch.stamps[merged] == stamp
    base, new_base = -1, -1
    for g in range(n_groups):
        e = scratch.group_entry[g]
        f = scratch.partner[e]
        has_partner = f >= 0 and scratch.stamps[f] == stamp
        if e == merged or (has_partner and f < e):
            continue
        if not is_joined and not has_partner and scratch.entry_slot[e] >= 0:
            continue
        is_known = is_known_after(scratch, known, e)
        if base < 0 and is_known:
            base = emit_row(rows, counts, cache, centre, scratch.base)
            new_base = base
            if is_joined:
                new_base = emit_union(rows, counts, cache, centre, scratch, scratch.groups[merged])
        leader = leader_after(scratch, e)
        for h in range(2 if has_partner else 1):
            old = e if h == 0 else f
            if scratch.entry_slot[old] >= 0:
                row = np.int64(-1)
                if is_known:
                    row = emit_union(rows, counts, cache, centre, scratch, scratch.groups[old])
                emit_term(terms, counts, leader, base, row, -1)
        row = np.int64(-1)
        if is_known:
            for word in range(len(scratch.base)):
                bits = scratch.base[word] | scratch.group_bits[g, word]
                if has_partner:
                    bits |= scratch.group_bits[scratch.groups[f], word]
                if is_joined:
                    bits |= scratch.group_bits[scratch.groups[merged], word]
                scratch.after[word] = bits
            row = emit_row(rows, counts, cache, centre, scratch.after)
        emit_term(terms, counts, leader, new_base, row, 1)


@nb.njit(nogil=True, cache=True)
def collect_changes(
    flat_supervoxels,
    layout,
    offsets,
    components,
    regions,
    k1,
    k2,
    mask_start,
    masks,
    known,
    begin,
    begin_centre,
    cache,
    rows,
    terms,
    scratch,
    counts,
):
    """Collect the terms that change when k1[i] and k2[i] merge in region i, until a buffer is full.

    masks    : uint64 (n,)  one bit per centre: sample it? Any superset of the touched ones will do
    known    : bool (S,)    slots whose energy change is evaluated

    Arguments and result as in `collect_initial`.
    """
    for i in range(begin, len(regions)):
        region = regions[i]
        load_components(layout, components, region, scratch)
        shift, width, n, merged = enter_changes(layout, components, region, k1[i], k2[i], scratch)
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
            _emit_changes(centre, n_groups, merged, known, cache, rows, terms, counts, scratch)
        begin_centre = 0
    return len(regions), 0

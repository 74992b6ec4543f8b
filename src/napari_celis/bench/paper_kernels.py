"""What the paper's pipeline would compute for a merge: descriptors per pruning rule, and what really changes.

`switches` is bool (rule sets, 3): does a set use the visibility, the zone, the graph rule? A *merge* is a
pair of components that some action could still join, as in the paper; `scratch` holds them as entries.
"""

import numba as nb
import numpy as np

from napari_celis.core.kernels.changes import open_lookup, sample_centre
from napari_celis.core.kernels.entries import enter_changes, enter_pairs, load_components
from napari_celis.core.kernels.zones import MAX_ZONES

NOBODY = -1
"""Stands for the two merged components while the first scores are computed."""


@nb.njit(nogil=True, cache=True)
def join_zone_bits(layout, components, region, k1, k2, place_bits, zone_bits):
    """Write from which zones each component is seen, k1 and k2 taken as one.

    place_bits : uint64 (L,)  zones that see each place
    zone_bits  : uint64 (>= components of the largest region + 1,)
    """
    begin, end = layout.local_start[region], layout.local_start[region + 1]
    zone_bits[: end - begin + 1] = 0
    for place in range(begin, end):
        zone_bits[components[place]] |= place_bits[place]
    if k1 != NOBODY:
        both = zone_bits[k1] | zone_bits[k2]
        zone_bits[k1] = zone_bits[k2] = both


@nb.njit(nogil=True, cache=True)
def has_other_action(layout, components, region, k1, k2, action):
    """Tell whether a second action joins the same two components in a region."""
    begin = layout.local_start[region]
    for slot in range(layout.slot_start[region], layout.slot_start[region + 1]):
        a, b = components[begin + layout.slot_u[slot]], components[begin + layout.slot_v[slot]]
        if layout.slot_action[slot] != action and ((a == k1 and b == k2) or (a == k2 and b == k1)):
            return True
    return False


@nb.njit(nogil=True, cache=True)
def _add_merge(merges, row, bits):
    """Count one more merge for a component in the zones of `bits`."""
    for zone in range(MAX_ZONES):
        merges[row, zone] += np.int64((bits >> np.uint64(zone)) & np.uint64(1))


@nb.njit(nogil=True, cache=True)
def tabulate_merges(n_entries, skipped, k1, k2, use_zone, use_graph, n_rows, zone_bits, scratch, merges):
    """Count the merges to try at a centre of component c in zone z.

    skipped : entry that is no merge to try (the one that is taken), or -1
    merges  : int64 (>= n_rows, 64)  row 0 is for every component without the graph rule, column 0 for every
              zone without the zone rule
    """
    merges[:n_rows] = 0
    is_first = k1 == NOBODY
    for e in range(n_entries):
        if e == skipped or scratch.entry_slot[e] < 0:
            continue
        a, b = scratch.entry_a[e], scratch.entry_b[e]
        bits = zone_bits[a] & zone_bits[b] if use_zone else np.uint64(1)
        if not use_graph:
            _add_merge(merges, 0, bits)
            continue
        meets_a, meets_b = a in (k1, k2), b in (k1, k2)
        if is_first or meets_a or meets_b:
            if not meets_a:
                _add_merge(merges, a, bits)
            if not meets_b:
                _add_merge(merges, b, bits)
        if meets_a or meets_b:
            # After the merge every centre of either component is a centre of the joined one.
            _add_merge(merges, k1, bits)
            _add_merge(merges, k2, bits)


@nb.njit(nogil=True, cache=True)
def count_positions(
    flat_supervoxels, layout, region, zones, switches, per_merge, n_entries, skipped, k1, k2, mask, zone_bits,
    scratch, merges, counts,
):  # fmt: skip
    """Add the descriptors that each rule set computes in one region to `counts`.

    per_merge : descriptors per position and per merge: 1 for the first scores, 2 for an update
    mask      : uint64 (words,)  centres that the visibility rule keeps
    counts    : int64 (>= rule sets,)
    """
    first, last = layout.centre_start[region], layout.centre_start[region + 1]
    n_rows = layout.local_start[region + 1] - layout.local_start[region] + 1
    for rule_set in range(len(switches)):
        use_visibility, use_zone, use_graph = switches[rule_set]
        tabulate_merges(n_entries, skipped, k1, k2, use_zone, use_graph, n_rows, zone_bits, scratch, merges)
        total = 0
        for c in range(last - first):
            if use_visibility and (mask[c >> 6] >> np.uint64(c & 63)) & np.uint64(1) == 0:
                continue
            row = scratch.table[flat_supervoxels[layout.flat_centres[first + c]]] if use_graph else 0
            n = merges[row, zones[first + c] if use_zone else 0]
            if n > 0:
                total += per_merge * (1 + n)
        counts[rule_set] += total


@nb.njit(nogil=True, cache=True)
def changed_at_centre(n_groups, merged, is_tried, stamp, scratch):
    """Count the descriptors that the incremental algorithm of the paper emits at a sampled centre.

    In its terms, with the bits J of the merge {k1, k2} and P of a merge e that is tried: r, r | J (after the
    merge), r | P (after e) and r | J | P | P' (after both), where P' are the bits of the pair that becomes
    the same one as e. Each is emitted when a score needs it.

    is_tried : whether another action joins k1 and k2 as well

    Returns how many of them are different, and how many the algorithm emits as it is listed, where r and
    r | J are two even if J is empty, and the last one comes twice if both pairs that become one are tried.
    """
    has_j = merged >= 0 and scratch.stamps[merged] == stamp
    needs_before = has_j and is_tried
    needs_after = needs_before
    n, n_twice = 0, 0
    for g in range(n_groups):
        e = scratch.group_entry[g]
        if e == merged:
            continue
        f = scratch.partner[e]
        has_f = f >= 0 and scratch.stamps[f] == stamp
        if has_f and f < e:
            continue
        e_tried = scratch.entry_slot[e] >= 0
        f_tried = f >= 0 and scratch.entry_slot[f] >= 0
        emits_e = e_tried and (has_j or has_f)
        if emits_e or f_tried:
            needs_after = True
            n += 1
            n_twice += emits_e and f_tried
        if emits_e:
            needs_before = True
            n += 1
        if f_tried and has_f:
            needs_before = True
            n += 1
    n_listed = n + n_twice + needs_before + needs_after
    if has_j:
        return n + needs_before + needs_after, n_listed
    return n + (needs_before or needs_after), n_listed


@nb.njit(nogil=True, cache=True)
def count_first_scores(
    flat_supervoxels, layout, offsets, components, begin, end, zones, place_bits, switches, zone_bits,
    scratch, merges, counts,
):  # fmt: skip
    """Count what the first scores of the regions `begin` to `end` cost.

    counts : int64 (rule sets + 2,)  descriptors per rule set, then those that changed, then those emitted
    """
    for region in range(begin, end):
        load_components(layout, components, region, scratch)
        shift, width, n = enter_pairs(layout, components, region, scratch)
        join_zone_bits(layout, components, region, NOBODY, NOBODY, place_bits, zone_bits)
        count_positions(
            flat_supervoxels, layout, region, zones, switches, 1, n, np.int64(-1), NOBODY, NOBODY,
            place_bits[:0], zone_bits, scratch, merges, counts,
        )  # fmt: skip
        lookup = open_lookup(scratch, shift, width, n)
        for centre in range(layout.centre_start[region], layout.centre_start[region + 1]):
            n_groups = sample_centre(flat_supervoxels, layout, centre, offsets, lookup, scratch)
            if n_groups > 0:
                counts[len(switches)] += 1 + n_groups
                counts[len(switches) + 1] += 1 + n_groups


@nb.njit(nogil=True, cache=True)
def count_update(
    flat_supervoxels, layout, offsets, components, action, regions, k1, k2, mask_start, masks, sampled, zones,
    place_bits, switches, zone_bits, scratch, merges, counts,
):  # fmt: skip
    """Count what the update of all scores costs when an action merges k1[i] and k2[i] in region i.

    masks   : uint64 (mask_start[-1],)  centres that the visibility rule keeps
    sampled : uint64 (mask_start[-1],)  centres that all rules keep; nothing changes elsewhere
    counts  : as in `count_first_scores`
    """
    for i in range(len(regions)):
        region = regions[i]
        load_components(layout, components, region, scratch)
        shift, width, n, merged = enter_changes(layout, components, region, k1[i], k2[i], scratch)
        join_zone_bits(layout, components, region, k1[i], k2[i], place_bits, zone_bits)
        is_tried = has_other_action(layout, components, region, k1[i], k2[i], action)
        mask = masks[mask_start[i] : mask_start[i + 1]]
        count_positions(
            flat_supervoxels, layout, region, zones, switches, 2, n, -1 if is_tried else merged,
            np.int64(k1[i]), np.int64(k2[i]), mask, zone_bits, scratch, merges, counts,
        )  # fmt: skip
        lookup = open_lookup(scratch, shift, width, n)
        first = layout.centre_start[region]
        for c in range(layout.centre_start[region + 1] - first):
            if (sampled[mask_start[i] + (c >> 6)] >> np.uint64(c & 63)) & np.uint64(1) == 0:
                continue
            n_groups = sample_centre(flat_supervoxels, layout, first + c, offsets, lookup, scratch)
            n_changed, n_listed = changed_at_centre(n_groups, merged, is_tried, first + c, scratch)
            counts[len(switches)] += n_changed
            counts[len(switches) + 1] += n_listed

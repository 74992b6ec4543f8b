"""Zones: parts of a region's centres, and bit vectors that tell from which of them a supervoxel is seen."""

import numba as nb
import numpy as np

MAX_ZONES = 64


@nb.njit(nogil=True, cache=True)
def see_zones(layout, zones, begin, end, seen):
    """Set bit z of a place when some centre of zone z samples its supervoxel, in regions `begin` to `end`.

    zones : uint8 (N,)   zone of each centre, counted within its region
    seen  : uint64 (L,)  written
    """
    for region in range(begin, end):
        first = layout.centre_start[region]
        n_words = (layout.centre_start[region + 1] - first + 63) // 64
        row = layout.seen_start[region]
        for place in range(layout.local_start[region], layout.local_start[region + 1]):
            bits = np.uint64(0)
            for word in range(n_words):
                rest = layout.seen[row + word]
                centre = first + 64 * word
                while rest != 0:
                    if rest & np.uint64(1):
                        bits |= np.uint64(1) << np.uint64(zones[centre])
                    rest >>= np.uint64(1)
                    centre += 1
            seen[place] = bits
            row += n_words


@nb.njit(nogil=True, cache=True)
def count_active(layout, region, seen, mask):
    """Count the actions of a region whose two ends are both seen from the zones in `mask`."""
    begin = layout.local_start[region]
    n = 0
    for slot in range(layout.slot_start[region], layout.slot_start[region + 1]):
        u, v = seen[begin + layout.slot_u[slot]], seen[begin + layout.slot_v[slot]]
        n += (u & mask) != 0 and (v & mask) != 0
    return n


@nb.njit(nogil=True, cache=True)
def _gain(layout, region, seen, a, b, alpha, beta, sizes, active):
    """How much cheaper the region gets when zones a and b become one."""
    mask = (np.uint64(1) << np.uint64(a)) | (np.uint64(1) << np.uint64(b))
    n = count_active(layout, region, seen, mask)
    apart = (sizes[a] + alpha) * active[a] + (sizes[b] + alpha) * active[b]
    return apart + beta - (sizes[a] + sizes[b] + alpha) * n


@nb.njit(nogil=True, cache=True)
def merge_zones(layout, begin, end, alpha, beta, sizes, active, gains, names, zones, seen):
    """Merge zones, best first, as long as the sum of (|Z| + alpha) |A_Z| plus beta per zone falls.

    sizes, active, names : int64 (64,)       scratch
    gains                : float64 (64, 64)  scratch
    zones, seen          : as in `see_zones`; changed in place, zones are numbered anew from 0
    """
    for region in range(begin, end):
        first, last = layout.centre_start[region], layout.centre_start[region + 1]
        sizes[:] = 0
        for centre in range(first, last):
            sizes[zones[centre]] += 1
        for a in range(MAX_ZONES):
            names[a] = a
            if sizes[a] > 0:
                active[a] = count_active(layout, region, seen, np.uint64(1) << np.uint64(a))
        for a in range(MAX_ZONES):
            for b in range(a + 1, MAX_ZONES):
                if sizes[a] > 0 and sizes[b] > 0:
                    gains[a, b] = _gain(layout, region, seen, a, b, alpha, beta, sizes, active)
                else:
                    gains[a, b] = -1.0
        while True:
            a, b = best_pair(gains)
            if gains[a, b] <= 0:
                break
            _join(layout, region, a, b, alpha, beta, sizes, active, gains, names, seen)
        _renumber(layout, region, sizes, names, zones, seen)


@nb.njit(nogil=True, cache=True)
def best_pair(gains):
    """Find the pair a < b with the largest gain, the first of equals."""
    best_a, best_b = 0, 1
    for a in range(MAX_ZONES):
        for b in range(a + 1, MAX_ZONES):
            if gains[a, b] > gains[best_a, best_b]:
                best_a, best_b = a, b
    return best_a, best_b


@nb.njit(nogil=True, cache=True)
def _join(layout, region, a, b, alpha, beta, sizes, active, gains, names, seen):
    """Make zone b a part of zone a and bring the gains of a up to date."""
    bit_a, bit_b = np.uint64(1) << np.uint64(a), np.uint64(1) << np.uint64(b)
    active[a] = count_active(layout, region, seen, bit_a | bit_b)
    for place in range(layout.local_start[region], layout.local_start[region + 1]):
        if seen[place] & bit_b:
            seen[place] = (seen[place] & ~bit_b) | bit_a
    sizes[a] += sizes[b]
    sizes[b] = 0
    for c in range(MAX_ZONES):
        if names[c] == b:
            names[c] = a
        if c != b:
            gains[min(b, c), max(b, c)] = -1.0
        if c != a and sizes[c] > 0:
            low, high = min(a, c), max(a, c)
            gains[low, high] = _gain(layout, region, seen, low, high, alpha, beta, sizes, active)


@nb.njit(nogil=True, cache=True)
def _renumber(layout, region, sizes, names, zones, seen):
    """Number the zones that are left from 0, in the order of the old numbers."""
    n = 0
    for a in range(MAX_ZONES):
        if sizes[a] > 0:
            sizes[a] = n
            n += 1
    for centre in range(layout.centre_start[region], layout.centre_start[region + 1]):
        zones[centre] = sizes[names[zones[centre]]]
    for place in range(layout.local_start[region], layout.local_start[region + 1]):
        bits = np.uint64(0)
        for a in range(MAX_ZONES):
            if (seen[place] >> np.uint64(a)) & np.uint64(1):
                bits |= np.uint64(1) << np.uint64(sizes[a])
        seen[place] = bits


@nb.njit(nogil=True, cache=True)
def zone_centres(layout, zones, seen, components, regions, k1, k2, mask_start, masks):
    """Mark the centres whose zone sees k1[i] or k2[i], for every joined region i.

    masks : uint64 (mask_start[-1],)  zeroed by the caller
    """
    for i in range(len(regions)):
        region = regions[i]
        visible = np.uint64(0)
        for place in range(layout.local_start[region], layout.local_start[region + 1]):
            if components[place] == k1[i] or components[place] == k2[i]:
                visible |= seen[place]
        first = layout.centre_start[region]
        for c in range(layout.centre_start[region + 1] - first):
            if (visible >> np.uint64(zones[first + c])) & np.uint64(1):
                masks[mask_start[i] + (c >> 6)] |= np.uint64(1) << np.uint64(c & 63)

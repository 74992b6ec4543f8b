"""Describe contacts of segments by numbers: see `napari_celis.core.contact_features` for what they mean.

A row of sums has count, sum and sum of squares of the affinities in units, then their histogram.
"""

import math

import numba as nb

from napari_celis.core.kernels.contacts import UNITS


@nb.njit(nogil=True, cache=True)
def quantiles_of(row, edges, shares, out):
    """Read quantiles off the histogram of a row of sums, along straight lines inside its bins.

    edges  : float64 (B + 1,)  of the bins
    shares : float64 (Q,)      ascending
    out    : float64 (Q,)
    """
    n_bins = len(edges) - 1
    total = 0.0
    for b in range(n_bins):
        total += row[3 + b]
    b, before = 0, 0.0
    for q in range(len(shares)):
        wanted = shares[q] * total
        while b < n_bins - 1 and before + row[3 + b] < wanted:
            before += row[3 + b]
            b += 1
        share = (wanted - before) / max(float(row[3 + b]), 1.0)
        out[q] = edges[b] + share * (edges[b + 1] - edges[b])


@nb.njit(nogil=True, cache=True)
def summarise(row, edges, shares, out):
    """Write mean, standard deviation and quantiles of a row of sums; zeros where nothing was counted."""
    count = max(float(row[0]), 1.0)
    mean = row[1] / UNITS / count
    out[0] = mean
    out[1] = math.sqrt(max(row[2] / UNITS / count - mean * mean, 0.0))
    quantiles_of(row, edges, shares, out[2:])


@nb.njit(nogil=True, cache=True)
def divergence(row_p, row_q, n_bins):
    """Jensen-Shannon divergence of the histograms of two rows of sums, in bits."""
    n_p, n_q = max(float(row_p[0]), 1.0), max(float(row_q[0]), 1.0)
    total_p, total_q = 0.0, 0.0
    for b in range(n_bins):
        p, q = row_p[3 + b] / n_p, row_q[3 + b] / n_q
        middle = (p + q) / 2
        if p > 0:
            total_p += p * math.log2(p / middle)
        if q > 0:
            total_q += q * math.log2(q / middle)
    return (total_p + total_q) / 2


@nb.njit(nogil=True, cache=True)
def ordered_ends(graph, contact):
    """Return the two segments of a contact, the smaller first; of equals the one named lower."""
    u, v = min(graph.ends[contact]), max(graph.ends[contact])
    if graph.voxels[u] <= graph.voxels[v]:
        return u, v
    return v, u


@nb.njit(nogil=True, cache=True)
def describe(graph, sums, low, high, inside, contacts, edges, shares, summary, out):
    """Write all features of some contacts.

    graph     : arrays of the segment graph
    sums      : int64 (A, 3 + B)        of contacts
    low, high : float64 (A,)
    inside    : int64 (N + 1, 3 + B)    of segments
    contacts  : int (n,)
    summary   : float64 (3, 2 + Q)      scratch
    out       : float32 (n, 9 + B + 6 (2 + Q))
    """
    n_bins, width = len(edges) - 1, 2 + len(shares)
    for i in range(len(contacts)):
        c = contacts[i]
        small, large = ordered_ends(graph, c)
        row, area = sums[c], float(sums[c, 0])
        size_small, size_large = float(graph.voxels[small]), float(graph.voxels[large])
        out[i, 0] = math.log(area)
        out[i, 1] = low[c]
        out[i, 2] = high[c]
        out[i, 3] = math.log(size_small)
        out[i, 4] = math.log(size_large)
        out[i, 5] = area / graph.surface[small]
        out[i, 6] = area / graph.surface[large]
        out[i, 7] = area / size_small ** (2 / 3)
        out[i, 8] = divergence(inside[small], inside[large], n_bins)
        count = max(area, 1.0)
        for b in range(n_bins):
            out[i, 9 + b] = row[3 + b] / count
        summarise(row, edges, shares, summary[0])
        summarise(inside[small], edges, shares, summary[1])
        summarise(inside[large], edges, shares, summary[2])
        at = 9 + n_bins
        for m in range(width):
            out[i, at + m] = summary[0, m]
            out[i, at + width + m] = summary[1, m]
            out[i, at + 2 * width + m] = summary[2, m]
            out[i, at + 3 * width + m] = summary[1, m] - summary[0, m]
            out[i, at + 4 * width + m] = summary[2, m] - summary[0, m]
            out[i, at + 5 * width + m] = abs(summary[1, m] - summary[2, m])


@nb.njit(nogil=True, cache=True)
def describe_briefly(graph, sums, contacts, edges, shares, quantiles, out):
    """Write the few features that carry over from one volume to another; arguments as in `describe`.

    quantiles : float64 (Q,)  scratch
    out       : float32 (n, 3 + Q)
    """
    for i in range(len(contacts)):
        c = contacts[i]
        small, _ = ordered_ends(graph, c)
        area = float(sums[c, 0])
        out[i, 0] = sums[c, 1] / UNITS / area
        quantiles_of(sums[c], edges, shares, quantiles)
        for q in range(len(shares)):
            out[i, 1 + q] = quantiles[q]
        out[i, 1 + len(shares)] = math.log(area)
        out[i, 2 + len(shares)] = area / graph.surface[small]

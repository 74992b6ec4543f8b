"""Walk the merge trees of all segments once, and add up what lies along every seam that a cut would open.

A tree hangs from the supervoxel that its segment is named after. Cutting the merge above a supervoxel takes
its subtree away; the seam between the two sides consists of all actions whose path through the tree leads
over that merge.
"""

import numba as nb


@nb.njit(nogil=True, cache=True)
def root_of(parent, node):
    """Follow links to their end, halving the way."""
    while parent[node] != node:
        parent[node] = parent[parent[node]]
        node = parent[node]
    return node


@nb.njit(nogil=True, cache=True)
def pick_tree(u, v, order, link, is_tree):
    """Mark the actions that joined two segments when they are taken in order.

    order   : int64 (n,)      actions
    link    : int32 (N + 1,)  every supervoxel its own; working memory
    is_tree : bool (A,)       cleared by the caller
    """
    for action in order:
        a, b = root_of(link, u[action]), root_of(link, v[action])
        if a != b:
            link[a] = b
            is_tree[action] = True


@nb.njit(nogil=True, cache=True)
def hang(start, edges, u, v, segment, above, merge, place):
    """Hang every tree from the name of its segment; returns how many supervoxels were placed.

    start, edges : int64 (N + 2,), (2 T,)  the actions of the trees by supervoxel
    above        : int32 (N + 1,)  written: next supervoxel towards the name, itself at the top
    merge        : int32 (N + 1,)  written: action between the two, -1 at the top
    place        : int32 (N + 1,)  written: the supervoxels, each after the one above it
    """
    n = 0
    for top in range(1, len(segment)):
        if segment[top] != top:
            continue
        above[top], merge[top] = top, -1
        place[n] = top
        first, n = n, n + 1
        while first < n:
            node = place[first]
            first += 1
            for at in range(start[node], start[node + 1]):
                action = edges[at]
                other = v[action] if u[action] == node else u[action]
                if action != merge[node]:
                    above[other], merge[other] = node, action
                    place[n] = other
                    n += 1
    return n


@nb.njit(nogil=True, cache=True)
def count_depths(place, n, above, depth):
    """Write how far below the top every placed supervoxel hangs, int32 (N + 1,)."""
    for i in range(n):
        node = place[i]
        depth[node] = 0 if above[node] == node else depth[above[node]] + 1


@nb.njit(nogil=True, cache=True)
def meet(u, v, inner, above, depth, jump, meeting):
    """Find the supervoxel where the ways of both ends of actions to the top meet.

    inner   : int64 (n,)      actions with both ends in one segment
    jump    : int32 (N + 1, J)  what lies 1, 2, 4 … steps above; from `fill_jumps`
    meeting : int32 (n,)      written
    """
    for i in range(len(inner)):
        a, b = u[inner[i]], v[inner[i]]
        if depth[a] < depth[b]:
            a, b = b, a
        rise = depth[a] - depth[b]
        for j in range(jump.shape[1]):
            if (rise >> j) & 1:
                a = jump[a, j]
        for j in range(jump.shape[1] - 1, -1, -1):
            if jump[a, j] != jump[b, j]:
                a, b = jump[a, j], jump[b, j]
        meeting[i] = a if a == b else above[a]


@nb.njit(nogil=True, cache=True)
def fill_jumps(place, n, above, jump):
    """Write what lies 1, 2, 4 … steps above every placed supervoxel; the top lies above itself."""
    for i in range(n):
        node = place[i]
        jump[node, 0] = above[node]
        for j in range(1, jump.shape[1]):
            jump[node, j] = jump[jump[node, j - 1], j - 1]


@nb.njit(nogil=True, cache=True)
def spread(u, v, inner, meeting, values, out):
    """Let the values of actions count on their way through the tree; `gather` then adds them up.

    values : int64 (A, C)      by action
    out    : int64 (N + 1, C)  zeroed by the caller
    """
    for i in range(len(inner)):
        action = inner[i]
        for c in range(values.shape[1]):
            value = values[action, c]
            out[u[action], c] += value
            out[v[action], c] += value
            out[meeting[i], c] -= 2 * value


@nb.njit(nogil=True, cache=True)
def gather(place, n, above, out):
    """Add up what every supervoxel and all below it have, from the bottom; int64 (N + 1, C)."""
    for i in range(n - 1, -1, -1):
        node = place[i]
        up = above[node]
        if up != node:
            for c in range(out.shape[1]):
                out[up, c] += out[node, c]


@nb.njit(nogil=True, cache=True)
def gather_largest(place, n, above, sizes, largest):
    """Find the largest supervoxel, of equals the first, among each and all below it.

    largest : int32 (N + 1,)  every supervoxel itself, by the caller
    """
    for i in range(n - 1, -1, -1):
        node = place[i]
        up, own = above[node], largest[node]
        if up != node:
            other = largest[up]
            if sizes[own] > sizes[other] or (sizes[own] == sizes[other] and own < other):
                largest[up] = own


@nb.njit(nogil=True, cache=True)
def first_along(u, v, inner, meeting, rank, values, above, depth, link, out):
    """Write to every seam the value of the first action along it, in the order of `rank`.

    rank   : int64 (n,)      places in `inner`, in the order that decides
    values : float64 (A,)    by action
    link   : int32 (N + 1,)  every supervoxel itself; working memory that skips what is written
    out    : float64 (N + 1,)  by the supervoxel below the seam
    """
    for i in rank:
        action = inner[i]
        end = depth[meeting[i]]
        for start in (u[action], v[action]):
            node = root_of(link, start)
            while depth[node] > end:
                out[node] = values[action]
                link[node] = above[node]
                node = root_of(link, node)


@nb.njit(nogil=True, cache=True)
def number_below(place, n, above, count, begin, free):
    """Number supervoxels so that each is followed by all below it.

    count : int32 (N + 1,)  ones by the caller; written: how many each and all below it are
    begin : int32 (N + 1,)  written: number of each
    free  : int32 (N + 1,)  working memory
    """
    for i in range(n - 1, -1, -1):
        node = place[i]
        if above[node] != node:
            count[above[node]] += count[node]
    total = 0
    for i in range(n):
        node = place[i]
        up = above[node]
        if up == node:
            begin[node] = total
            total += count[node]
        else:
            begin[node] = free[up]
            free[up] += count[node]
        free[node] = begin[node] + 1


@nb.njit(nogil=True, cache=True)
def share_between(places, a, b):
    """Return what lies between two seams as a share of the smaller of the parts beyond them, at most 1.

    places : int64 (S, 5)  as in `JudgedMerges.places`
    """
    if places[a, 0] != places[b, 0]:
        return 1.0
    total = places[a, 4]
    if places[b, 1] <= places[a, 1] < places[b, 1] + places[b, 2]:
        between, beyond = places[b, 3] - places[a, 3], min(places[a, 3], total - places[b, 3])
    elif places[a, 1] <= places[b, 1] < places[a, 1] + places[a, 2]:
        between, beyond = places[a, 3] - places[b, 3], min(places[b, 3], total - places[a, 3])
    else:
        between, beyond = total - places[a, 3] - places[b, 3], min(places[a, 3], places[b, 3])
    return min(1.0, between / max(beyond, 1))


@nb.njit(nogil=True, cache=True)
def keep_apart_from(places, known, factor):
    """Lower the weight of all seams near to known ones.

    known  : int64 (m,)    rows of `places`
    factor : float64 (S,)  ones by the caller; 0 for the known ones themselves
    """
    for k in range(len(known)):
        for i in range(len(factor)):
            factor[i] = min(factor[i], share_between(places, i, known[k]))


@nb.njit(nogil=True, cache=True)
def keep_apart_in_order(places, factor):
    """Lower the weight of every seam by those that come before it."""
    for i in range(len(factor)):
        for k in range(i):
            factor[i] = min(factor[i], share_between(places, i, k))

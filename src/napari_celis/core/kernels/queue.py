"""A binary heap that knows where every item is, so that keys can change and items can leave.

heap  : int32 (n,)    items, the lowest key first; only the first `size[0]` count
position : int32 (n,)    where each item is in `heap`, -1 for those that are not
key   : float64 (n,)  key of each item
order : int32 (n,)    which of two items with the same key comes first
size  : int64 (1,)
"""

import numba as nb


@nb.njit(nogil=True, cache=True)
def _is_before(queue, a, b):
    if queue.key[a] != queue.key[b]:
        return queue.key[a] < queue.key[b]
    return queue.order[a] < queue.order[b]


@nb.njit(nogil=True, cache=True)
def _rise(queue, at):
    item = queue.heap[at]
    while at > 0:
        above = (at - 1) >> 1
        if not _is_before(queue, item, queue.heap[above]):
            break
        queue.heap[at] = queue.heap[above]
        queue.position[queue.heap[at]] = at
        at = above
    queue.heap[at] = item
    queue.position[item] = at
    return at


@nb.njit(nogil=True, cache=True)
def _sink(queue, at):
    item, size = queue.heap[at], queue.size[0]
    while 2 * at + 1 < size:
        below = 2 * at + 1
        if below + 1 < size and _is_before(queue, queue.heap[below + 1], queue.heap[below]):
            below += 1
        if not _is_before(queue, queue.heap[below], item):
            break
        queue.heap[at] = queue.heap[below]
        queue.position[queue.heap[at]] = at
        at = below
    queue.heap[at] = item
    queue.position[item] = at


@nb.njit(nogil=True, cache=True)
def put(queue, items, keys, orders):
    """Add items, or give those that are there another key."""
    for i in range(len(items)):
        item = items[i]
        queue.key[item], queue.order[item] = keys[i], orders[i]
        if queue.position[item] < 0:
            queue.heap[queue.size[0]] = item
            queue.position[item] = queue.size[0]
            queue.size[0] += 1
        _sink(queue, _rise(queue, queue.position[item]))


@nb.njit(nogil=True, cache=True)
def drop(queue, items):
    """Take items out; those that are not there do not matter."""
    for i in range(len(items)):
        at = queue.position[items[i]]
        if at < 0:
            continue
        queue.position[items[i]] = -1
        queue.size[0] -= 1
        if at < queue.size[0]:
            queue.heap[at] = queue.heap[queue.size[0]]
            queue.position[queue.heap[at]] = at
            _sink(queue, _rise(queue, at))


@nb.njit(nogil=True, cache=True)
def below(queue, key, waiting, out):
    """List the items with a key of at most `key`, in no particular order, and return how many there are.

    waiting, out : int32 (>= as many as there are + 1,)  the former is working memory
    """
    n, n_waiting = 0, 0
    if queue.size[0] > 0 and queue.key[queue.heap[0]] <= key:
        waiting[0] = 0
        n_waiting = 1
    while n_waiting > 0:
        n_waiting -= 1
        at = waiting[n_waiting]
        out[n] = queue.heap[at]
        n += 1
        for child in range(2 * at + 1, min(2 * at + 3, queue.size[0])):
            if queue.key[queue.heap[child]] <= key:
                waiting[n_waiting] = child
                n_waiting += 1
    return n


@nb.njit(nogil=True, cache=True)
def first_items(queue, limit, waiting, out):
    """List the first items in order, as long as their keys are below `limit`, and return how many there are.

    waiting : int32 (len(out) + 2,)  working memory
    out     : int32 (n,)             at most so many
    """
    n, n_waiting = 0, 0
    if queue.size[0] > 0:
        waiting[0] = 0
        n_waiting = 1
    while n < len(out) and n_waiting > 0:
        best = 0
        for i in range(1, n_waiting):
            if _is_before(queue, queue.heap[waiting[i]], queue.heap[waiting[best]]):
                best = i
        at = waiting[best]
        if not queue.key[queue.heap[at]] < limit:
            break
        out[n] = queue.heap[at]
        n += 1
        waiting[best] = waiting[n_waiting - 1]
        n_waiting -= 1
        for child in range(2 * at + 1, min(2 * at + 3, queue.size[0])):
            waiting[n_waiting] = child
            n_waiting += 1
    return n

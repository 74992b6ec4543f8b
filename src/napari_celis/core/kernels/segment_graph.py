"""Join two segments of the segment graph, and take a join back.

`graph` is the named tuple of arrays that `napari_celis.core.segment_graph` describes. A contact is named
after one of its actions. Its *halves* 2c and 2c + 1 hang in the lists of the segments `ends[c, 0]` and
`ends[c, 1]`. What is taken out of a list keeps its own pointers, so that putting things back in reverse order
restores every list as it was.
"""

import numba as nb


@nb.njit(nogil=True, cache=True)
def unlink(graph, half, owner):
    """Take a half out of the list of the segment that owns it."""
    before, after = graph.half_before[half], graph.half_after[half]
    if before >= 0:
        graph.half_after[before] = after
    else:
        graph.head[owner] = after
    if after >= 0:
        graph.half_before[after] = before


@nb.njit(nogil=True, cache=True)
def relink(graph, half, owner):
    """Put a half back where `unlink` took it from."""
    before, after = graph.half_before[half], graph.half_after[half]
    if before >= 0:
        graph.half_after[before] = half
    else:
        graph.head[owner] = half
    if after >= 0:
        graph.half_before[after] = half


@nb.njit(nogil=True, cache=True)
def push(graph, half, owner):
    """Put a half at the beginning of a list."""
    after = graph.head[owner]
    graph.half_before[half] = -1
    graph.half_after[half] = after
    graph.head[owner] = half
    if after >= 0:
        graph.half_before[after] = half


@nb.njit(nogil=True, cache=True)
def open_contacts(graph, contacts):
    """Hang new contacts into the lists of both their segments, and count their faces there."""
    for i in range(len(contacts)):
        for side in range(2):
            graph.surface[graph.ends[contacts[i], side]] += graph.area[contacts[i]]
        push(graph, 2 * contacts[i], graph.ends[contacts[i], 0])
        push(graph, 2 * contacts[i] + 1, graph.ends[contacts[i], 1])


@nb.njit(nogil=True, cache=True)
def list_contacts(graph, segment, out):
    """Write the contacts of a segment and return how many there are."""
    n = 0
    half = graph.head[segment]
    while half >= 0:
        out[n] = half >> 1
        n += 1
        half = graph.half_after[half]
    return n


@nb.njit(nogil=True, cache=True)
def count_contacts(graph, segment):
    """Count the contacts of a segment."""
    n = 0
    half = graph.head[segment]
    while half >= 0:
        n += 1
        half = graph.half_after[half]
    return n


@nb.njit(nogil=True, cache=True)
def _list_chain(first, after, out):
    """Write the entries of a linked list and return how many there are; the end is -1."""
    n = 0
    entry = first
    while entry >= 0:
        out[n] = entry
        n += 1
        entry = after[entry]
    return n


@nb.njit(nogil=True, cache=True)
def list_actions(graph, contact, out):
    """Write the actions of a contact and return how many there are."""
    return _list_chain(graph.first_action[contact], graph.next_action, out)


@nb.njit(nogil=True, cache=True)
def list_members(graph, segment, out):
    """Write the supervoxels of a segment and return how many there are."""
    return _list_chain(graph.first_member[segment], graph.next_member, out)


@nb.njit(nogil=True, cache=True)
def _name_chain(first, after, names, name):
    """Give all entries of a linked list the same name."""
    entry = first
    while entry >= 0:
        names[entry] = name
        entry = after[entry]


@nb.njit(nogil=True, cache=True)
def join(graph, contact, kept, absorbed, pairs):
    """Merge the two segments of a contact; `absorbed` becomes part of `kept`.

    pairs : int32 (>= contacts of `absorbed`, 4)  written: contact that took in another one, that other one,
                                                  and last and lowest action of the former before

    Returns how many pairs there are, the head of the list of `kept` before, and the last half of `absorbed`
    that moved there (-1 for none).
    """
    a_half = 2 * contact + (graph.ends[contact, 1] == kept)
    unlink(graph, a_half, kept)
    unlink(graph, a_half ^ 1, absorbed)
    graph.is_open[contact] = False
    half = graph.head[kept]
    while half >= 0:
        graph.mark[graph.ends[half >> 1, 1 - (half & 1)]] = half >> 1
        half = graph.half_after[half]
    n, tail = 0, -1
    half = graph.head[absorbed]
    while half >= 0:
        after = graph.half_after[half]
        moved = half >> 1
        other = graph.ends[moved, 1 - (half & 1)]
        own = graph.mark[other]
        if own >= 0:
            unlink(graph, half, absorbed)
            unlink(graph, half ^ 1, other)
            graph.is_open[moved] = False
            pairs[n, 0], pairs[n, 1] = own, moved
            pairs[n, 2], pairs[n, 3] = graph.last_action[own], graph.lowest_action[own]
            n += 1
            graph.next_action[graph.last_action[own]] = graph.first_action[moved]
            graph.last_action[own] = graph.last_action[moved]
            graph.lowest_action[own] = min(graph.lowest_action[own], graph.lowest_action[moved])
            graph.n_actions[own] += graph.n_actions[moved]
            graph.area[own] += graph.area[moved]
            _name_chain(graph.first_action[moved], graph.next_action, graph.contact_of, own)
        else:
            graph.ends[moved, half & 1] = kept
            tail = half
        half = after
    half = graph.head[kept]
    while half >= 0:
        graph.mark[graph.ends[half >> 1, 1 - (half & 1)]] = -1
        half = graph.half_after[half]
    before = graph.head[kept]
    if tail >= 0:
        graph.half_after[tail] = before
        if before >= 0:
            graph.half_before[before] = tail
        graph.head[kept] = graph.head[absorbed]
    _name_chain(graph.first_member[absorbed], graph.next_member, graph.segment, kept)
    graph.next_member[graph.last_member[kept]] = graph.first_member[absorbed]
    graph.last_member[kept] = graph.last_member[absorbed]
    graph.n_members[kept] += graph.n_members[absorbed]
    graph.voxels[kept] += graph.voxels[absorbed]
    graph.surface[kept] += graph.surface[absorbed] - 2 * graph.area[contact]
    return n, before, tail


@nb.njit(nogil=True, cache=True)
def unjoin(graph, contact, kept, absorbed, pairs, before, tail, last_member):
    """Take back the newest join; arguments as `join` took and returned them.

    last_member : int  last member of `kept` before the join
    """
    graph.surface[kept] -= graph.surface[absorbed] - 2 * graph.area[contact]
    graph.voxels[kept] -= graph.voxels[absorbed]
    graph.n_members[kept] -= graph.n_members[absorbed]
    graph.last_member[kept] = last_member
    graph.next_member[last_member] = -1
    _name_chain(graph.first_member[absorbed], graph.next_member, graph.segment, absorbed)
    if tail >= 0:
        graph.half_after[tail] = -1
        if before >= 0:
            graph.half_before[before] = -1
        graph.head[kept] = before
        half = graph.head[absorbed]
        while half >= 0:
            graph.ends[half >> 1, half & 1] = absorbed
            half = graph.half_after[half]
    for i in range(len(pairs) - 1, -1, -1):
        own, moved, last = pairs[i, 0], pairs[i, 1], pairs[i, 2]
        graph.lowest_action[own] = pairs[i, 3]
        graph.area[own] -= graph.area[moved]
        graph.n_actions[own] -= graph.n_actions[moved]
        graph.last_action[own] = last
        graph.next_action[last] = -1
        _name_chain(graph.first_action[moved], graph.next_action, graph.contact_of, moved)
        graph.is_open[moved] = True
        side = graph.ends[moved, 1] == absorbed
        half = 2 * moved + side
        relink(graph, half ^ 1, graph.ends[moved, 1 - side])
        relink(graph, half, absorbed)
    graph.is_open[contact] = True
    a_half = 2 * contact + (graph.ends[contact, 1] == kept)
    relink(graph, a_half ^ 1, absorbed)
    relink(graph, a_half, kept)


@nb.njit(nogil=True, cache=True)
def hide_contacts(graph, segment, contacts):
    """Take the contacts of a segment out of the lists of its neighbours; its own list stays."""
    for i in range(len(contacts)):
        side = graph.ends[contacts[i], 1] == segment
        other = graph.ends[contacts[i], 1 - side]
        graph.surface[other] -= graph.area[contacts[i]]
        unlink(graph, 2 * contacts[i] + 1 - side, other)


@nb.njit(nogil=True, cache=True)
def show_contacts(graph, segment, contacts):
    """Undo `hide_contacts`."""
    for i in range(len(contacts) - 1, -1, -1):
        side = graph.ends[contacts[i], 1] == segment
        other = graph.ends[contacts[i], 1 - side]
        relink(graph, 2 * contacts[i] + 1 - side, other)
        graph.surface[other] += graph.area[contacts[i]]


@nb.njit(nogil=True, cache=True)
def close_contacts(graph, contacts):
    """Undo `open_contacts`."""
    for i in range(len(contacts) - 1, -1, -1):
        unlink(graph, 2 * contacts[i] + 1, graph.ends[contacts[i], 1])
        unlink(graph, 2 * contacts[i], graph.ends[contacts[i], 0])
        for side in range(2):
            graph.surface[graph.ends[contacts[i], side]] -= graph.area[contacts[i]]

"""Describe all actions of a volume at one moment, in one pass."""

import numba as nb


@nb.njit(nogil=True, cache=True)
def describe(u, v, root, voxels, taken, available, smaller, larger, state):
    """Write the sizes of the two segments of every action, and what can become of it.

    root           : int (N + 1,)    segment of every supervoxel
    voxels         : int64 (N + 1,)  of every segment
    smaller, larger: int64 (A,)      written
    state          : uint8 (A,)      written: 0 open, 1 merged, 4 unseen, as `ActionState` says
    """
    for action in range(len(u)):
        a, b = root[u[action]], root[v[action]]
        smaller[action] = min(voxels[a], voxels[b])
        larger[action] = max(voxels[a], voxels[b])
        if taken[action] or a == b:
            state[action] = 1
        elif available[action]:
            state[action] = 0
        else:
            state[action] = 4


@nb.njit(nogil=True, cache=True)
def stand_for_contacts(contact, state, scores, area, best):
    """Find the open action that stands for each contact: the lowest score, of equals the largest area.

    best : int32 (A,)  by contact; filled with -1 by the caller
    """
    for action in range(len(contact)):
        if state[action] != 0:
            continue
        c = contact[action]
        other = best[c]
        is_lower = other < 0 or scores[action] < scores[other]
        if is_lower or (scores[action] == scores[other] and area[action] > area[other]):
            best[c] = action

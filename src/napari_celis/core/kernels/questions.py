"""Put questions into the order in which they are asked."""

import numba as nb


@nb.njit(nogil=True, cache=True)
def nearest_of_close(gain, position, start, close, n_ordered, rows):
    """Let the nearest question come next among those whose gain is close to the best that is left.

    gain     : float64 (n,)    descending
    position : float64 (n, 3)
    start    : float64 (3,)    where to begin; not a number: at the first
    rows     : int64 (n,)      rearranged; only the first `n_ordered` of the result mind where they lie
    """
    n = len(gain)
    place = start.copy()
    has_place = place[0] == place[0]
    for done in range(min(n, n_ordered)):
        best, best_distance = done, -1.0
        if has_place:
            limit = gain[done] * (1.0 - close)
            for i in range(done, n):
                if gain[i] < limit:
                    break
                distance = 0.0
                for axis in range(3):
                    distance += (position[i, axis] - place[axis]) ** 2
                if best_distance < 0 or distance < best_distance:
                    best, best_distance = i, distance
        # What was passed over moves back by one, so that gains stay in order.
        row, chosen = rows[best], gain[best]
        for axis in range(3):
            place[axis] = position[best, axis]
        for i in range(best, done, -1):
            rows[i], gain[i] = rows[i - 1], gain[i - 1]
            for axis in range(3):
                position[i, axis] = position[i - 1, axis]
        rows[done], gain[done] = row, chosen
        for axis in range(3):
            position[done, axis] = place[axis]
        has_place = True

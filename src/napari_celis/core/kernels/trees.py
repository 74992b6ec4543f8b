"""Decision trees, walked from their roots to their leaves."""

import numba as nb
import numpy as np


@nb.njit(nogil=True, cache=True)
def average_leaves(features, root, node_table, number, out):
    """Write the mean over all trees of the leaf values that each row arrives at.

    features   : float32 (N, F)
    root       : int64 (T,)    first node of each tree
    node_table : int32 (M, 3)  column that a node looks at, the node to its left and to its right;
                               the column of a leaf is negative
    number     : float32 (M,)  rows up to and including this go left; in a leaf, its value
    out        : float64 (N,)  zeroed by the caller
    """
    # Trees outside: the nodes of one tree stay near while all rows pass through it.
    for tree in range(root.shape[0]):
        for row in range(features.shape[0]):
            node = root[tree]
            while node_table[node, 0] >= 0:
                if features[row, node_table[node, 0]] <= number[node]:
                    node = node_table[node, 1]
                else:
                    node = node_table[node, 2]
            out[row] += number[node]
    for row in range(features.shape[0]):
        out[row] /= root.shape[0]


@nb.njit(nogil=True, cache=True)
def average_lowest_leaves(low, high, root, node_table, number, waiting, out):
    """Write the mean over all trees of the lowest leaf that a row between two rows can arrive at.

    low, high : float32 (N, F)  each column of a row lies between the two, ends included
    waiting   : int64 (D,)      scratch, as long as the largest tree has nodes
    out       : float64 (N,)    zeroed by the caller; the other arguments as in `average_leaves`
    """
    for tree in range(root.shape[0]):
        for row in range(low.shape[0]):
            lowest = np.float32(np.inf)
            waiting[0] = root[tree]
            n_waiting = 1
            while n_waiting > 0:
                n_waiting -= 1
                node = waiting[n_waiting]
                column = node_table[node, 0]
                if column < 0:
                    lowest = min(lowest, number[node])
                    continue
                if low[row, column] <= number[node]:
                    waiting[n_waiting] = node_table[node, 1]
                    n_waiting += 1
                if not high[row, column] <= number[node]:
                    waiting[n_waiting] = node_table[node, 2]
                    n_waiting += 1
            out[row] += lowest
    for row in range(low.shape[0]):
        out[row] /= root.shape[0]


@nb.njit(nogil=True, cache=True)
def fill_node_values(node_table, number, value):
    """Write the value of every node: that of a leaf, or the mean of the two below.

    value : float64 (M,)  written; the other arguments as in `average_leaves`
    """
    # What lies below a node comes after it.
    for node in range(number.shape[0] - 1, -1, -1):
        if node_table[node, 0] < 0:
            value[node] = number[node]
        else:
            value[node] = (value[node_table[node, 1]] + value[node_table[node, 2]]) / 2.0


@nb.njit(nogil=True, cache=True)
def average_steps(features, root, node_table, number, value, out):
    """Write by column the mean over all trees of what its questions change the value of the node by.

    value : float64 (M,)        from `fill_node_values`
    out   : float64 (N, F + 1)  zeroed by the caller; last the value at the roots, and rows add up to what
                                `average_leaves` writes; the other arguments as there
    """
    last = out.shape[1] - 1
    for row in range(features.shape[0]):
        for tree in range(root.shape[0]):
            node = root[tree]
            out[row, last] += value[node]
            while node_table[node, 0] >= 0:
                column = node_table[node, 0]
                side = 1 if features[row, column] <= number[node] else 2
                below = node_table[node, side]
                out[row, column] += value[below] - value[node]
                node = below
        for column in range(last + 1):
            out[row, column] /= root.shape[0]

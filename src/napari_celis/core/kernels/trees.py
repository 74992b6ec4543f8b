"""Decision trees, walked from their roots to their leaves."""

import numba as nb


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

"""Segments and their contacts straight from the actions: slow, plain, without the library."""

from __future__ import annotations


class PlainGraph:
    """Segments as sets of supervoxels; everything else is worked out anew whenever it is asked for."""

    def __init__(self, u, v, area, sizes):
        self.ends = list(zip((int(i) for i in u), (int(i) for i in v), strict=True))
        self.area = [int(a) for a in area]
        self.sizes = [int(size) for size in sizes]
        self.segment = list(range(len(sizes)))

    def members(self, segment):
        """Supervoxels of a segment."""
        return {i for i, name in enumerate(self.segment) if name == segment and i > 0}

    def voxels(self, segment):
        """Voxels of a segment."""
        return sum(self.sizes[i] for i in self.members(segment))

    def contacts(self):
        """Actions between each pair of touching segments, in ascending order."""
        found = {}
        for action, (u, v) in enumerate(self.ends):
            pair = frozenset((self.segment[u], self.segment[v]))
            if len(pair) == 2:
                found.setdefault(pair, []).append(action)
        return found

    def surface(self, segment):
        """Faces of a segment towards others."""
        own = (actions for pair, actions in self.contacts().items() if segment in pair)
        return sum(self.area[action] for actions in own for action in actions)

    def join(self, pair):
        """Let the larger segment of two take in the other one; of equals the one named lower."""
        kept, gone = sorted(pair, key=lambda name: (-self.voxels(name), name))
        for member in self.members(gone):
            self.segment[member] = kept

    def split(self, moved, name):
        """Give some supervoxels of one segment a segment of their own."""
        for member in moved:
            self.segment[member] = name

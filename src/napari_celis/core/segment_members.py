"""Segments by their members: which supervoxels each has, and how segments join and part."""

from __future__ import annotations

import numpy as np

from napari_celis.core.segment_graph import larger


class SegmentMembers:
    """The segments of a volume, every supervoxel by itself at first.

    Parameters
    ----------
    sizes : ndarray of int
        Voxels of every supervoxel, (N + 1,).
    """

    def __init__(self, sizes: np.ndarray) -> None:
        self._sizes = sizes
        self._voxels: list[int] = sizes.tolist()
        self._members: dict[int, list[int]] = {}
        self.segment_of = np.arange(len(sizes), dtype=np.int32)
        """Segment of every supervoxel, named after one of its own, int32 (N + 1,)."""
        self.n_segments = int(np.count_nonzero(sizes[1:]))
        """Number of segments."""

    def members_of(self, segment: int) -> list[int]:
        """List the supervoxels of a segment; not to be changed."""
        return self._members.setdefault(segment, [segment])

    def larger(self, a: int, b: int) -> int:
        """Return the larger of two segments, after which both are named when they join.

        Parameters
        ----------
        a, b : int
            The segments; of equals, the lower one counts as larger.
        """
        return larger(a, b, self._voxels)

    def join(self, kept: int, absorbed: int) -> np.ndarray:
        """Let one segment take in another.

        Parameters
        ----------
        kept : int
            The segment that keeps its name.
        absorbed : int
            The segment that ends.

        Returns
        -------
        moved : ndarray of int32
            The supervoxels that changed segment.
        """
        newcomers = self.members_of(absorbed)
        self.members_of(kept).extend(newcomers)
        moved = np.array(newcomers, dtype=np.int32)
        self.segment_of[moved] = kept
        self._voxels[kept] += self._voxels[absorbed]
        self.n_segments -= 1
        return moved

    def part(self, moved: np.ndarray, name: int) -> None:
        """Let supervoxels leave their segment under a name of their own.

        Parameters
        ----------
        moved : ndarray of int32
            Some supervoxels of one segment.
        name : int
            One of them.
        """
        segment = int(self.segment_of[moved[0]])
        own = self.members_of(segment)
        if own[-len(moved) :] == moved.tolist():
            del own[-len(moved) :]
        else:
            gone = set(moved.tolist())
            self._members[segment] = [member for member in own if member not in gone]
        self._members[name] = moved.tolist()
        self.segment_of[moved] = name
        voxels = int(self._sizes[moved].sum())
        self._voxels[segment] -= voxels
        self._voxels[name] = voxels
        self.n_segments += 1

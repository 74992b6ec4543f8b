"""Scores from before a split: what no region with the split supervoxel sees is as it was."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from napari_celis.core.actions import ActionTable
from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.kept_scores import KeptScores
from napari_celis.core.regions import Layout
from napari_celis.core.scores import SpecScores
from napari_celis.core.segments import ranges


@dataclass(frozen=True, eq=False)
class ScoresBeforeSplit:
    """Scores of a volume, for one in which a supervoxel has become two."""

    kept: KeptScores
    layouts: tuple[Layout, ...]
    """What the regions of each spec hold before."""
    actions: ActionTable
    """From before."""
    supervoxel: int
    """Dense index of the one that was split; that of the part that left is the highest."""

    @classmethod
    def of(cls, agglomerator: Agglomerator, supervoxel_id: int) -> ScoresBeforeSplit | None:
        """Copy the present ones; None if they are not all evaluated.

        Parameters
        ----------
        agglomerator : Agglomerator
            Before the split.
        supervoxel_id : int
            The supervoxel to be split.
        """
        kept = agglomerator.kept_scores()
        if kept is None:
            return None
        layouts = tuple(scores.table.layout for scores in agglomerator.specs)
        return cls(kept, layouts, agglomerator.actions, agglomerator.supervoxels.index_of(supervoxel_id))

    def fitted(
        self, specs: Sequence[SpecScores], actions: ActionTable, taken: np.ndarray
    ) -> KeptScores | None:
        """Put every number where it belongs now.

        Parameters
        ----------
        specs : sequence of SpecScores
            After the split.
        actions : ActionTable
            After the split.
        taken : ndarray
            Which actions are taken, bool (A,).
        """
        if len(specs) != len(self.layouts):
            return None
        found = [self._of_spec(scores, before) for scores, before in zip(specs, self.layouts, strict=True)]
        sums, energies, is_stale = zip(*found, strict=True)
        return KeptScores(self._taken(actions, taken), sums, energies, is_stale)

    def _taken(self, actions: ActionTable, taken: np.ndarray) -> np.ndarray:
        """Tell which actions were taken; those of the parts count as they are, their regions are stale."""
        was_taken, width = taken.copy(), actions.n_supervoxels + 1
        before, after = (table.u.astype(np.int64) * width + table.v for table in (self.actions, actions))
        place = np.searchsorted(before, after)
        is_old = (place < len(before)) & (before[np.minimum(place, len(before) - 1)] == after)
        was_taken[is_old] = self.kept.taken[place[is_old]]
        return was_taken

    def _of_spec(self, scores: SpecScores, before: Layout) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the sums, energies and stale regions of one spec."""
        after = scores.table.layout
        region_of = np.repeat(np.arange(len(before.local_start) - 1), np.diff(before.local_start))
        is_stale = np.zeros(scores.table.tiling.n_regions, dtype=bool)
        is_stale[region_of[before.local_sv == self.supervoxel]] = True
        same = np.flatnonzero(~is_stale)
        sums = np.zeros_like(scores.sums)
        # Rows of other actions only move, so within a region their slots keep their order.
        sums[ranges(after.slot_start, same)] = self.kept.sums[scores.index][ranges(before.slot_start, same)]
        return sums, self.kept.region_energy[scores.index].copy(), is_stale

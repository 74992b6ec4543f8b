"""What never changes about a run, so that the window may read it at any time."""

from __future__ import annotations

from dataclasses import dataclass

from napari_celis.core.actions import ActionTable
from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.descriptors import DescriptorSpec
from napari_celis.core.supervoxels import Supervoxels
from napari_celis.evaluation.overlaps import Overlaps


@dataclass(frozen=True, eq=False)
class RunTables:
    """Supervoxels, actions, descriptor specs and the first energy of one run."""

    supervoxels: Supervoxels
    actions: ActionTable
    specs: tuple[DescriptorSpec, ...]
    first_energy: float
    """Energy before the first decision, also where that was made at an earlier time."""
    scores_are_odds: bool = False
    """Whether a score is the log-odds that a merge is wrong."""
    overlaps: Overlaps | None = None
    """Voxels that supervoxels share with the truth; None without one."""

    @classmethod
    def of(cls, agglomerator: Agglomerator, overlaps: Overlaps | None = None) -> RunTables:
        """Collect them; before the engine's thread starts, or in it.

        Parameters
        ----------
        agglomerator : Agglomerator
            Of the run.
        overlaps : Overlaps, optional
            Of its supervoxels and the truth.
        """
        specs = tuple(scores.table.tiling.spec for scores in agglomerator.specs)
        first_energy = agglomerator.energy - agglomerator.energy_change
        return cls(
            agglomerator.supervoxels,
            agglomerator.actions,
            specs,
            first_energy,
            agglomerator.scoring.are_odds,
            overlaps,
        )

    def ids_of(self, action: int) -> tuple[int, int]:
        """Return the ids of the two supervoxels of an action."""
        ids = self.supervoxels.ids
        return int(ids[self.actions.u[action]]), int(ids[self.actions.v[action]])

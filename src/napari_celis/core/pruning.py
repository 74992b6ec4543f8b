"""Pruning rules: which centres may have to be looked at when two components merge.

Each rule returns a superset of the centres where a term changes, so any set of rules gives the same scores; a
better rule only costs fewer look-ups. The connectivity-region rule (only regions where the action joins two
components are visited at all) is `SpecScores.find_join`; the descriptor rule (energies are evaluated only
where bits change) is the one-pass sampling itself, which finds no group where no bit changes.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from napari_celis.core.buffers import Buffers
from napari_celis.core.kernels import changes as kernels
from napari_celis.core.regions import RegionTable
from napari_celis.core.supervoxels import Supervoxels
from napari_celis.core.visibility import near_centres, visible_centres
from napari_celis.core.zones import ZoneRule, ZoneSettings


@dataclass(frozen=True, eq=False)
class Join:
    """One merge seen from one spec: the regions where it joins two components, and which two."""

    regions: np.ndarray
    """int64 (n,), ascending."""
    k1: np.ndarray
    """The smaller component of each region, which keeps its name."""
    k2: np.ndarray


class SpecState(Protocol):
    """What a rule may look at."""

    table: RegionTable
    supervoxels: Supervoxels
    components: np.ndarray

    @property
    def buffers(self) -> Buffers:
        """Working memory of the spec."""


class CentreRule(Protocol):
    """Marks centres that may have to be looked at."""

    def __call__(self, state: SpecState, join: Join, mask_start: np.ndarray) -> np.ndarray:
        """Return one bit per centre of the joined regions, packed; region i begins at `mask_start[i]`."""


def masked_centres(
    rules: Sequence[CentreRule], state: SpecState, join: Join
) -> tuple[np.ndarray, np.ndarray]:
    """Keep the centres that pass every rule: where each region's mask begins, and the masks.

    Parameters
    ----------
    rules : sequence of CentreRule
        Each keeps some centres.
    state : SpecState
        The scores of one spec.
    join : Join
        The components that merge, per region.
    """
    mask_start = mask_starts(state.table, join.regions)
    masks = np.full(mask_start[-1], ~np.uint64(0))
    for rule in rules:
        masks &= rule(state, join, mask_start)
    return mask_start, masks


def mask_starts(table: RegionTable, regions: np.ndarray) -> np.ndarray:
    """Tell where the mask of each region begins, with the end of the last one behind, int64 (n + 1,).

    Parameters
    ----------
    table : RegionTable
        The regions of a spec.
    regions : ndarray
        Numbers of regions.
    """
    start = table.layout.centre_start
    n_words = (start[regions + 1] - start[regions] + 63) // 64
    return np.concatenate([[0], np.cumsum(n_words)]).astype(np.int64)


def views_of(table: RegionTable) -> np.ndarray:
    """Allocate working memory: who sees each component of a region, uint64."""
    return np.empty((table.max_places + 1, table.max_mask_words), dtype=np.uint64)


def touchable_centres(state: SpecState, join: Join, mask_start: np.ndarray) -> np.ndarray:
    """Mark the centres that sample both components, or a pair that had bits but no term (our own rule)."""
    masks = np.zeros(mask_start[-1], dtype=np.uint64)
    kernels.touchable_centres(
        state.table.layout, state.components, join.regions, join.k1, join.k2, mask_start,
        state.buffers.scratch, views_of(state.table), masks,
    )  # fmt: skip
    return masks


class CountedRule:
    """A rule that counts what it does; one object may serve all specs and threads of an agglomerator."""

    def __init__(self, name: str, rule: CentreRule) -> None:
        self.name = name
        self.rule = rule
        self.examined = 0
        """Centres of the regions where a merge joins two components."""
        self.kept = 0
        """Those of them that this rule, on its own, would look at."""
        self._lock = threading.Lock()

    def __call__(self, state: SpecState, join: Join, mask_start: np.ndarray) -> np.ndarray:
        """Apply the rule and count."""
        masks = self.rule(state, join, mask_start)
        n_centres = np.diff(state.table.layout.centre_start)[join.regions]
        # The last word of a region may have bits behind its last centre.
        used = masks.copy()
        last = mask_start[1:] - 1
        used[last] &= ~np.uint64(0) >> ((-n_centres) % 64).astype(np.uint64)
        with self._lock:
            self.examined += int(n_centres.sum())
            self.kept += int(np.bitwise_count(used).sum())
        return masks


def paper_rules(settings: ZoneSettings | None = None) -> tuple[CountedRule, CountedRule, CountedRule]:
    """Make the graph, visibility and zone rules of the paper, each with its own counters."""
    return (
        CountedRule("graph", near_centres),
        CountedRule("visibility", visible_centres),
        CountedRule("zone", ZoneRule(settings)),
    )

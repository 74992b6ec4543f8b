"""What an operation changes in one descriptor spec, and what it costs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

N_COLUMNS = 2
"""What is summed per component pair: the energy change, and the number of centres that see it."""
N_SHIFTS = 3
"""What a pair counts in its contact: see `kernels.scores.add_pair`."""


@dataclass
class Counters:
    """What one spec has cost so far."""

    sampled_centres: int = 0
    """Centres whose pairs were looked up, once each."""
    lookups: int = 0
    """Sampled pairs looked up."""
    evaluations: int = 0
    """Descriptors that reached the energy model."""
    lookup_seconds: float = 0.0
    """Time for the look-ups and the descriptors made of them, of all threads together."""
    energy_seconds: float = 0.0
    """Time for the energy model."""

    def add(self, other: Counters) -> None:
        """Add what another counted."""
        self.sampled_centres += other.sampled_centres
        self.lookups += other.lookups
        self.evaluations += other.evaluations
        self.lookup_seconds += other.lookup_seconds
        self.energy_seconds += other.energy_seconds


@dataclass(frozen=True, eq=False)
class Effect:
    """Which sums of one spec changed, and what that means for their totals."""

    slots: np.ndarray
    """Slots whose sums changed."""
    leaders: np.ndarray
    """Leaders of the pairs that count differently in their contacts, int64 (n,)."""
    shifts: np.ndarray
    """By how much, int64 (n, N_SHIFTS)."""


@dataclass(frozen=True, eq=False)
class Change:
    """What an operation changed in one spec, enough to take it back."""

    regions: np.ndarray
    region_energy: np.ndarray
    sums: np.ndarray
    known: np.ndarray
    places: np.ndarray
    components: np.ndarray
    effect: Effect

    def arrays(self) -> list[np.ndarray]:
        """List the arrays that it keeps."""
        own = [array for array in vars(self).values() if isinstance(array, np.ndarray)]
        return [*own, *vars(self.effect).values()]

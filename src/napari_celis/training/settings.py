"""What a training can be told, and how its time is divided."""

from __future__ import annotations

from dataclasses import dataclass

from napari_celis.core.presets import Preset
from napari_celis.models.affinity_base import Preset as AffinityPreset
from napari_celis.training import AFFINITY_SHARE, DEFAULT_MINUTES

MOST_EXAMPLES, EXAMPLES_PER_MINUTE = 100_000, 4_000
MOST_DECISIONS, DECISIONS_PER_MINUTE = 20_000, 600
ENERGY_PART = 0.6
"""Part of the rest that is for energy models; the others are for the expert, examples, policy and
thresholds."""
FULL_MINUTES = 10.0
"""With less time than this, each slab is looked at in one orientation only."""
SYMMETRIES = 4


@dataclass(frozen=True)
class TrainSettings:
    """What `celis train` can be told."""

    preset: Preset = "fast"
    affinity: AffinityPreset = "unet"
    minutes: float = DEFAULT_MINUTES
    """Processor time per core for everything."""
    affinity_share: float = AFFINITY_SHARE
    """Share of the time for affinity networks; energy models and policy have the rest."""
    power: float = 0.5
    """Examples weigh ``|change of error|`` to this power; 1 is the paper."""
    second_round: bool = False
    """Whether energy models and policy learn once more, from states that they themselves come to."""
    unsure: bool = False
    """Whether energy models and policy learn where affinities are unsure; see `training.unsure`."""
    seed: int = 0
    dilation: int = 0
    """Voxels by which true boundaries are widened for the affinity network; the paper tries 0 to 8."""
    min_voxels: int = 0
    """Smaller true objects are unknown to the affinity network; the paper leaves out those below 10,000."""
    device: str = "auto"
    """See `choose_device`."""

    @property
    def examples(self) -> int:
        """Examples per spec and fold: as many as an epoch can get through in the time."""
        return min(MOST_EXAMPLES, max(1_000, round(EXAMPLES_PER_MINUTE * self.minutes)))

    @property
    def decisions(self) -> int:
        """Decisions that the policy may look at along one run."""
        return min(MOST_DECISIONS, max(200, round(DECISIONS_PER_MINUTE * self.minutes)))

    @property
    def n_symmetries(self) -> int:
        """Orientations of each slab that energy models learn from."""
        return SYMMETRIES if self.minutes >= FULL_MINUTES else 1

    @property
    def n_rounds(self) -> int:
        """How often energy models learn."""
        return 2 if self.second_round else 1

    @property
    def energy_share(self) -> float:
        """Share of the time for energy models."""
        return ENERGY_PART * (1 - self.affinity_share)

    @property
    def middle_share(self) -> float:
        """Share of the time for everything between: the expert, examples, policy and thresholds."""
        return 1 - self.affinity_share - self.energy_share

    @property
    def seconds(self) -> float:
        """The time in seconds."""
        return 60 * self.minutes

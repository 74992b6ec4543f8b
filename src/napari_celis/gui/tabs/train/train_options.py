"""What `celis train` is told."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


def checkpoint_of(model: Path) -> Path:
    """Name the folder beside a model that an unfinished training is resumed from."""
    return model.with_name(f"{model.name}.training")


@dataclass(frozen=True)
class TrainVolume:
    """One annotated volume, each part as `path[:dataset]`."""

    image: str
    truth: str
    supervoxels: str | None = None
    """Made from the image if not given."""

    def arguments(self) -> list[str]:
        """Write it as arguments of `celis train`."""
        words = ["--image", self.image, "--truth", self.truth]
        return words if self.supervoxels is None else [*words, "--supervoxels", self.supervoxels]


@dataclass(frozen=True)
class TrainOptions:
    """What `celis train` is told."""

    volumes: tuple[TrainVolume, ...]
    """What to learn from, one or several."""
    output: Path
    preset: str = "fast"
    affinity: str = "unet"
    minutes: float = 30.0
    seed: int = 0
    second_round: bool = False
    resume: bool = False

    def arguments(self) -> list[str]:
        """Write them as arguments of `celis`."""
        words = ["train", *(word for volume in self.volumes for word in volume.arguments())]
        words += ["--preset", self.preset, "--affinity", self.affinity]
        words += ["--minutes", f"{self.minutes:g}", "--seed", str(self.seed)]
        words += ["--second-round"] if self.second_round else []
        if checkpoint_of(self.output).exists():
            words += ["--resume" if self.resume else "--restart"]
        return [*words, "--output", str(self.output)]

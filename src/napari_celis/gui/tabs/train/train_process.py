"""A training run: its command, its process, and the records it writes as it goes."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from qtpy.QtCore import QObject, QTimer, Signal

from napari_celis.gui.session.background.celis_process import CelisProcess

POLL_MS = 300


def checkpoint_of(model: Path) -> Path:
    """Name the folder beside a model that an unfinished training is resumed from."""
    return model.with_name(f"{model.name}.training")


@dataclass(frozen=True)
class TrainOptions:
    """What `celis train` is told."""

    image: str
    truth: str
    output: Path
    supervoxels: str | None = None
    """Made from the image if not given."""
    preset: str = "fast"
    affinity: str = "unet"
    minutes: float = 30.0
    seed: int = 0
    second_round: bool = False
    resume: bool = False

    def arguments(self) -> list[str]:
        """Write them as arguments of `celis`."""
        words = ["train", "--image", self.image, "--truth", self.truth]
        if self.supervoxels is not None:
            words += ["--supervoxels", self.supervoxels]
        words += ["--preset", self.preset, "--affinity", self.affinity]
        words += ["--minutes", f"{self.minutes:g}", "--seed", str(self.seed)]
        words += ["--second-round"] if self.second_round else []
        if checkpoint_of(self.output).exists():
            words += ["--resume" if self.resume else "--anew"]
        return [*words, "--output", str(self.output)]


@dataclass(frozen=True)
class Record:
    """One line of the records."""

    stage: str
    done: float
    """Share of the whole, 0 to 1."""
    seconds: float
    figures: dict[str, float] = field(default_factory=dict)
    """Numbers by name; anything else in the record is left out."""

    @classmethod
    def from_json(cls, line: str) -> Record:
        """Read one line."""
        fields: dict[str, Any] = json.loads(line)
        figures = {
            name: float(value)
            for name, value in fields.get("figures", {}).items()
            if isinstance(value, (int, float)) and not isinstance(value, bool)
        }
        return cls(str(fields["stage"]), float(fields["done"]), float(fields.get("seconds", 0.0)), figures)


class RecordFile:
    """Reads the lines that another process appends to a file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._position = 0

    def new_records(self) -> Iterator[Record]:
        """Read the lines that were completed since the last time."""
        if not self.path.is_file():
            return
        with self.path.open("rb") as file:
            file.seek(self._position)
            data = file.read()
        complete = data[: data.rfind(b"\n") + 1]
        self._position += len(complete)
        for line in complete.splitlines():
            if line.strip():
                yield Record.from_json(line.decode())


class Training(QObject):
    """Runs `celis train`; the process is `process`, its records come as signals."""

    recorded = Signal(object)
    """A Record."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.process = CelisProcess(self)
        self.process.ended.connect(self._on_ended)
        self._folder = tempfile.TemporaryDirectory(prefix="celis-train-")
        self._records: RecordFile | None = None
        self._n_runs = 0
        self._timer = QTimer(self, interval=POLL_MS)
        self._timer.timeout.connect(self._read_records)

    @property
    def is_running(self) -> bool:
        """Whether the process lives."""
        return self.process.is_running

    def start(self, options: TrainOptions) -> None:
        """Begin, or take up where a checkpoint ends."""
        self._n_runs += 1
        self._records = RecordFile(Path(self._folder.name, f"records-{self._n_runs}.jsonl"))
        self.process.start([*options.arguments(), "--records", str(self._records.path)])
        self._timer.start()

    def close(self) -> None:
        """End the process; its checkpoint stays."""
        self._timer.stop()
        self.process.close()
        self._folder.cleanup()

    def _read_records(self) -> None:
        if self._records is not None:
            for record in self._records.new_records():
                self.recorded.emit(record)

    def _on_ended(self) -> None:
        self._timer.stop()
        self._read_records()

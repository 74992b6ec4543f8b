"""The progress of another process: lines that it appends to a file as it goes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Record:
    """One line of the records."""

    stage: str
    done: float
    """Share of the whole, 0 to 1."""
    seconds: float
    figures: dict[str, float] = field(default_factory=dict)
    """Numbers by name; anything else in the record is left out."""
    network: str = ""
    """Which network of the stage is trained, such as "2 of 3"; empty where nothing is said."""

    @classmethod
    def from_json(cls, line: str) -> Record:
        """Read one line."""
        fields: dict[str, Any] = json.loads(line)
        figures = {
            name: float(value)
            for name, value in fields.get("figures", {}).items()
            if isinstance(value, (int, float)) and not isinstance(value, bool)
        }
        seconds, network = float(fields.get("seconds", 0.0)), str(fields.get("network", ""))
        return cls(str(fields["stage"]), float(fields["done"]), seconds, figures, network)


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

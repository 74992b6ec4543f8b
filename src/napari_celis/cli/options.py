"""Options and small services that commands share."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated, Any

import typer

JsonOption = Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write the figures here.")]


def write_json(path: Path | None, figures: dict[str, Any]) -> None:
    """Write `figures` under a temporary name, then rename; do nothing without a path."""
    if path is None:
        return
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        temporary.write_text(json.dumps(figures, indent=2) + "\n")
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)

"""What the package says about itself, read from its own files."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name


def project(checkout: Path) -> dict[str, Any]:
    """Return the table `project` of pyproject.toml."""
    table: dict[str, Any] = tomllib.loads((checkout / "pyproject.toml").read_text())["project"]
    return table


def classified_pythons(checkout: Path) -> list[str]:
    """List the versions of Python in the classifiers, in their order."""
    return [
        found[1]
        for line in project(checkout)["classifiers"]
        if (found := re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", line))
    ]


def pins(checkout: Path) -> dict[str, str]:
    """Return the pinned version of every package."""
    lines = (checkout / "scripts/constraints.txt").read_text().splitlines()
    pairs = (line.split("==") for line in lines if line and not line.startswith("#"))
    return {canonicalize_name(name): version for name, version in pairs}

"""Every package that is declared is used, and every one that is used is declared."""

import ast
import importlib.metadata
import re
import sys
import tomllib
from pathlib import Path

import pytest

TOOLS = {
    "hatchling": "builds",
    "import-linter": "checks the arrows between rooms",
    "moto": "a server in a process of its own",
    "mypy": "checks types",
    "napari-celis": "stands for its own extras",
    "pyqt6": "the Qt that qtpy finds",
    "pyside6-essentials": "the other Qt that qtpy finds, on request",
    "pytest-qt": "a plugin",
    "pytest-timeout": "a plugin",
    "pytest-xdist": "a plugin",
    "pytest-xvfb": "a plugin",
    "ruff": "checks style",
}
"""Of the extra `dev`: called by name or by their plugin, never imported."""
BY_NAME = {
    "bokeh": "distributed draws its dashboard with it",
    "s3fs": "fsspec opens s3:// with it",
}
"""Of other extras: loaded by another library, never imported."""


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def names_of(requirements: list[str]) -> set[str]:
    return {normal(re.match(r"[A-Za-z0-9._-]+", line)[0]) for line in requirements}


@pytest.fixture(scope="module")
def declared(checkout) -> dict[str, set[str]]:
    project = tomllib.loads((checkout / "pyproject.toml").read_text())["project"]
    extras = {name: names_of(lines) for name, lines in project["optional-dependencies"].items()}
    return {"": names_of(project["dependencies"]), **extras}


def imported(*folders: Path) -> set[str]:
    """Distributions that the files of some folders import, at their top or anywhere inside."""
    own = {path.stem for folder in folders for path in folder.rglob("*.py")}
    own |= {path.name for folder in folders for path in folder.rglob("*") if path.is_dir()}
    found = set()
    for folder in folders:
        for path in folder.rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Import):
                    found |= {alias.name.partition(".")[0] for alias in node.names}
                elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                    found.add(node.module.partition(".")[0])
    found -= {"napari_celis", *sys.stdlib_module_names}
    known = importlib.metadata.packages_distributions()
    # Of an extra that is not installed, such as `fuzz`, the module has the name of its package.
    return {normal(known.get(name, [name])[0]) for name in found if name in known or name not in own}


def test_the_package_imports_what_it_declares(checkout, declared):
    used = imported(checkout / "src")
    optional = set.union(
        *(names for extra, names in declared.items() if extra not in ("", "all", "dev", "docs", "fuzz"))
    )
    assert used - declared[""] - optional == set(), "used and not declared"
    assert declared[""] - used == set(), "declared and not used"
    assert optional - used - set(BY_NAME) == set(), "declared for an extra and not used"


def test_tests_and_scripts_import_what_is_declared(checkout, declared):
    used = imported(*(checkout / name for name in ("tests", "scripts", "benchmarks")))
    everything = set.union(*declared.values())
    assert used - everything == set()
    assert declared["dev"] - used <= set(TOOLS)

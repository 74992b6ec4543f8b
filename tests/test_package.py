"""The package as others meet it: what importing costs, what the manifest promises, what a wheel holds."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from npe2 import PluginManifest

import napari_celis
from napari_celis.cli import app

HEAVY = {"torch", "napari", "qtpy", "vispy", "numba", "scipy", "zarr", "h5py", "dask"}


def heavy_modules_after(code: str) -> set[str]:
    """Run `code` in a fresh interpreter and list the large libraries that it loaded."""
    report = "import sys; print('\\nLOADED', *sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{report}"], capture_output=True, text=True, check=True, timeout=60
    )
    return HEAVY & set(done.stdout.rpartition("LOADED")[2].split())


def test_import_loads_no_large_library():
    assert heavy_modules_after("import napari_celis") == set()


COMMANDS = sorted(
    (command.name or command.callback.__name__).replace("_", "-") for command in app.registered_commands
)


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], *([name, "--help"] for name in COMMANDS)])
def test_help_loads_no_large_library(arguments):
    code = f"""
import sys
from napari_celis.cli import main
sys.argv[1:] = {arguments!r}
try:
    main()
except SystemExit as end:
    assert end.code == 0
"""
    assert heavy_modules_after(code) == set()


def test_version_comes_from_one_place(checkout):
    assert importlib.metadata.version("napari-celis") == napari_celis.__version__
    run = subprocess.run(
        [sys.executable, "-m", "napari_celis", "--version"], capture_output=True, text=True, timeout=60
    )
    assert run.stdout == f"celis {napari_celis.__version__}\n"
    assert "version" not in tomllib.loads((checkout / "pyproject.toml").read_text())["project"]


def test_manifest_is_valid_and_its_commands_exist():
    manifest = PluginManifest.from_distribution("napari-celis")
    manifest.validate_imports()
    assert manifest.name == "napari-celis"
    assert {command.id.partition(".")[0] for command in manifest.contributions.commands} == {"napari-celis"}


def test_root_manifest_leads_to_the_one_in_the_package(checkout):
    manifest = checkout / "napari.yaml"
    # Git writes the target of a link as text where links are not allowed.
    assert manifest.is_symlink() or manifest.read_text() == "src/napari_celis/napari.yaml"


def test_base_dependencies_bring_no_qt_and_never_cap_napari():
    base = [r for r in importlib.metadata.requires("napari-celis") or [] if "extra ==" not in r]
    assert not [r for r in base if r.lower().startswith(("pyqt5", "pyqt6", "pyside"))]
    assert [r for r in base if r.startswith("napari")] == ["napari>=0.6"]


@pytest.fixture(scope="session")
def built(checkout, tmp_path_factory) -> Path:
    """Build wheel and source archive from the checkout, without touching it."""
    pytest.importorskip("hatchling")
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", folder], cwd=checkout, check=True, timeout=120
    )
    return folder


def test_wheel_holds_manifest_and_sample(built):
    with zipfile.ZipFile(next(built.glob("*.whl"))) as wheel:
        names = wheel.namelist()
        manifest = wheel.read("napari_celis/napari.yaml").decode()
        [entry_points] = [name for name in names if name.endswith("entry_points.txt")]
        declared = wheel.read(entry_points).decode()
    assert manifest.startswith("name: napari-celis")
    assert "napari-celis = napari_celis:napari.yaml" in declared
    assert "celis = napari_celis.cli:main" in declared
    assert any(name.startswith("napari_celis/sample_data/") for name in names)
    assert not [name for name in names if name.startswith(("tests/", "scripts/"))]


def test_source_archive_holds_what_a_wheel_needs(built):
    with tarfile.open(next(built.glob("*.tar.gz"))) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "src/napari_celis/napari.yaml"} <= names
    assert any(name.startswith("sample_data/") for name in names)

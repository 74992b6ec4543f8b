"""The walks of docs/architecture.md: the files are there, and a run enters them in that order."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import napari_celis as celis

ROW = re.compile(r"^\| (\d+) \| `([\w/.]+)` \| `([\w.]+)` \|", re.MULTILINE)


@pytest.fixture(scope="module")
def page(checkout) -> str:
    return (checkout / "docs/architecture.md").read_text()


def test_every_file_on_the_page_exists(page, checkout):
    package = checkout / "src/napari_celis"
    names = re.findall(r"`((?:\w+/)+(?:\w+\.py)?)`", page)
    assert len(names) > 30
    if not (package / "gui/canvas").is_dir():
        names = [name for name in names if not name.startswith("gui/")]  # the rooms of the window come later
    assert [name for name in names if not ((package / name).exists() or (checkout / name).exists())] == []


def test_every_function_on_the_page_exists(page, checkout):
    missing = []
    for _, file, function in ROW.findall(page):
        path = checkout / "src/napari_celis" / file
        nodes = ast.parse(path.read_text()).body if path.is_file() else None
        for name in function.split(".") if nodes is not None else ():
            found = [node for node in nodes if getattr(node, "name", None) == name]
            missing += [] if found else [f"{file} {function}"]
            nodes = found[0].body if found else []
    assert missing == []


def test_the_command_goes_the_way_that_the_page_shows(page, tmp_path):
    volumes = celis.sample()
    for role, kind in (("image", "image"), ("supervoxels", "labels")):
        small = celis.Volume(volumes[role].data[:24, :40, :40], (10, 10, 10), name=role)
        celis.write_volume(small, f"{tmp_path}/small.h5:{role}", kind=kind)
    tracer = Path(__file__).with_name("walk_tracer.py")
    arguments = ["--image", f"{tmp_path}/small.h5:image", "--supervoxels", f"{tmp_path}/small.h5:supervoxels"]
    arguments += ["--model", str(celis.bundled_models()["phantom"]), "-o", str(tmp_path / "out.zarr")]
    done = subprocess.run(
        [sys.executable, tracer, "agglomerate", *arguments], capture_output=True, text=True, check=True
    )
    entered = done.stdout.partition("ENTERED\n")[2].splitlines()
    [walk] = [part for part in page.split("\n## ") if part.startswith("`celis agglomerate`")]
    rows = ROW.findall(walk)
    assert [int(number) for number, _, _ in rows] == list(range(1, len(rows) + 1))
    assert 20 <= len(rows) <= 26
    positions = [entered.index(f"{file} {function}") for _, file, function in rows]
    assert positions == sorted(positions)

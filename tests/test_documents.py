"""Documents do what they say: commands of README and tutorial run as they stand there.

Code of docs/api.md runs in test_front_door.py, that of docs/examples in test_example_scripts.py.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys

import numpy as np
import pytest

from napari_celis import cli
from napari_celis.io.volumes import open_volume

NOT_RUN = ("./scripts/", "pip ", ".ci/", ". .venv/")
"""How lines begin that set up a computer; CI runs the scripts themselves."""
WINDOWS = ("view", "demo")
SHORTER = {"--minutes 30": "--minutes 0.1"}


def commands(text: str) -> list[list[str]]:
    """List the commands of all blocks of shell, as words."""
    blocks = re.findall(r"^ *```sh\n(.*?)^ *```", text, re.MULTILINE | re.DOTALL)
    lines = "".join(blocks).replace("\\\n", " ").splitlines()
    for long, short in SHORTER.items():
        lines = [line.replace(long, short) for line in lines]
    return [
        shlex.split(line, comments=True)
        for line in map(str.strip, lines)
        if line and not line.startswith(NOT_RUN)
    ]


@pytest.fixture
def run(monkeypatch, capsys):
    """Return a function that runs a command of a document in this process; windows are opened and closed."""

    def do(words: list[str]) -> str:
        if words[0] == "python":
            done = subprocess.run([sys.executable, *words[1:]], capture_output=True, text=True, check=True)
            return done.stdout
        assert words[0] == "celis", f"{words} is no command of ours"
        monkeypatch.setattr(sys, "argv", words)
        with pytest.raises(SystemExit) as end:
            cli.main()
        printed = capsys.readouterr()
        assert not end.value.code, f"{shlex.join(words)}: {printed.err}"
        return printed.out

    return do


@pytest.fixture
def windows(make_napari_viewer, monkeypatch, tmp_path_factory):
    """Let commands open their windows in a test; return what was open when they handed over to the user."""
    import platformdirs

    from napari_celis.gui.plugin import viewer_window

    folder = tmp_path_factory.mktemp("state")
    monkeypatch.setattr(platformdirs, "user_state_path", lambda *names, **options: folder)
    seen: list[list[str]] = []
    opened: list[object] = []

    def open_one(title):
        opened.append(make_napari_viewer())
        return opened[-1]

    monkeypatch.setattr(viewer_window, "Viewer", open_one)
    monkeypatch.setattr(
        viewer_window, "run", lambda: seen.append([layer.name for layer in opened[-1].layers])
    )
    return seen


def test_the_readme(checkout, tmp_path, monkeypatch, run, windows):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sample_data").symlink_to(checkout / "sample_data")
    printed = [run(words) for words in commands((checkout / "README.md").read_text())]
    assert vi_of(printed[2]) < vi_of(printed[0])
    assert windows == [["image", "truth"]]


@pytest.mark.timeout(1200)  # a minute's work, on computers that are busy with other things too
def test_the_tutorial(checkout, tmp_path, monkeypatch, run, windows):
    monkeypatch.chdir(tmp_path)
    text = (checkout / "docs/tutorial.md").read_text()
    printed = {shlex.join(words[:3]): run(words) for words in commands(text)}
    assert "0 differences" in printed["celis replay work.celis"]
    assert windows == [["image"], []]  # a session loads its volumes in the background
    before, after = (vi_of(printed[f"celis evaluate {name}.zarr"]) for name in ("supervoxels", "proofread"))
    assert f"{before:.2f}" in text
    assert f"{after:.2f}" in text
    np.testing.assert_array_equal(
        open_volume("proofread.precomputed").read(), open_volume("segmentation.zarr").read()
    )


def vi_of(printed: str) -> float:
    """Read the errors away from boundaries out of what `celis evaluate` prints."""
    [line] = [line for line in printed.splitlines() if line.startswith("VI (bits)")]
    return float(line.split()[-1])


def test_figures_of_the_readme_are_those_of_the_pages_that_measured_them(checkout):
    items = re.findall(
        r"^- \*\*(.*?)(?=^- |^$)", (checkout / "README.md").read_text(), re.MULTILINE | re.DOTALL
    )
    assert len(items) == 3
    for item in items:
        [page] = re.findall(r"\(docs/([\w-]+\.md)#", item)
        [command] = re.findall(r"^ +`(.+)`$", item, re.MULTILINE)
        measured = (checkout / "docs" / page).read_text()
        assert command in measured
        figures = set(re.findall(r"\d[\d.,]*\d|\d", re.sub(r"\(docs/.*?\)|`.*`", "", item)))
        assert all(re.search(rf"(?<![\d.]){re.escape(one)}(?!\d)", measured) for one in figures), figures


def test_pictures_and_pages_that_are_linked_exist(checkout):
    for page in [*(checkout / "docs").rglob("*.md"), checkout / "README.md", checkout / "CONTRIBUTING.md"]:
        for place in re.findall(r"\]\(([^)#\s]+)", page.read_text()):
            if not place.startswith(("http:", "https:")):
                assert (page.parent / place).exists(), f"{page.name} links to {place}"

"""`import napari_celis as celis`: what it offers, what it costs, and the examples of docs/api.md."""

import ast
import contextlib
import io
import re
import subprocess
import sys
from importlib.resources import files

import numpy as np
import pytest

import napari_celis as celis


def code_blocks(text: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def blocks(checkout) -> list[str]:
    return code_blocks((checkout / "docs/api.md").read_text())


def test_every_name_is_there_and_says_what_it_is():
    for name in celis.__all__:
        assert getattr(celis, name).__doc__
    assert set(celis.__all__) <= set(dir(celis))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        celis.nothing  # noqa: B018


def test_the_types_and_the_lazy_names_agree():
    """What a type checker sees is what is loaded."""
    tree = ast.parse((files("napari_celis") / "__init__.py").read_text())
    [guarded] = [node for node in tree.body if isinstance(node, ast.If)]
    seen = {alias.name: node.module for node in guarded.body for alias in node.names}
    assert seen == {name: f"napari_celis.{room}" for name, room in celis._HOME.items()}
    assert sorted(seen) == sorted(celis.__all__)
    assert (files("napari_celis") / "py.typed").is_file()


@pytest.mark.parametrize("name", ["Volume", "CelisError", "open_volume"])
def test_small_names_load_no_network_and_no_window(name):
    code = f"import sys, napari_celis as celis; celis.{name}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"torch", "napari", "qtpy"} & set(done.stdout.split())


def test_every_name_has_an_example(blocks):
    used = {
        node.attr
        for block in blocks
        for node in ast.walk(ast.parse(block))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "celis"
    }
    assert set(celis.__all__) <= used


def test_examples_run(blocks, tmp_path, monkeypatch):
    """One after the other, as they stand on the page."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "example"}
    with contextlib.redirect_stdout(io.StringIO()):
        for number, block in enumerate(blocks, start=1):
            exec(compile(block, f"example {number} of docs/api.md", "exec"), names)


def test_an_unfinished_training_is_not_deleted_unasked(tmp_path):
    (tmp_path / "own.safetensors.training").mkdir()
    ones = np.ones((4, 4, 4), np.uint8)
    with pytest.raises(celis.CelisError, match="resume=True"):
        celis.train(ones, ones, output=tmp_path / "own.safetensors")


def test_arrays_of_unknown_voxel_size_are_refused_by_a_model():
    model = celis.bundled_models()["phantom"]
    with pytest.raises(celis.CelisError, match="unknown size"):
        celis.predict_affinities(np.ones((20, 20, 20), np.uint8), model)


def test_methods_that_nobody_knows_are_named():
    volumes = celis.sample()
    small = [celis.Volume(volumes[name].data[:24, :32, :32], (10, 10, 10), name=name) for name in volumes]
    choice = celis.Choice(*small, model=celis.load_model(celis.bundled_models()["phantom"]))
    with pytest.raises(celis.CelisError, match="no method magic"):
        celis.compare(choice, choice, methods=["none", "magic"])

"""The same mistake gets the same sentence on the command line and in the panel, and nothing is half done."""

from __future__ import annotations

import re
from dataclasses import replace

import h5py
import numpy as np
import platformdirs
import pytest
from napari.components import ViewerModel
from napari.layers import Image, Labels
from typer.testing import CliRunner

from gui.conftest import SHAPE, VOXEL_NM
from models.small import small_model
from napari_celis.cli import app
from napari_celis.core.errors import CelisError
from napari_celis.gui.session.workspace import Workspace
from napari_celis.io import memory
from napari_celis.io.volumes import open_volume
from napari_celis.models.model_file import save_model
from pipeline.mistakes import MISTAKES, Case, good_case

ROLES = ("image", "supervoxels", "affinities")


def name_of(folder, role):
    """Name a volume in both worlds the same."""
    return f"{folder}/{role}.h5:data"


def write(case: Case, folder) -> list[str]:
    """Write the volumes of a case, and return the options that name them."""
    words = []
    for role in ROLES:
        given = getattr(case, role)
        if given is not None:
            with h5py.File(folder / f"{role}.h5", "w") as file:
                dataset = file.create_dataset("data", data=given.data)
                dataset.attrs.update(resolution=given.voxel_size_nm, offset=given.offset_nm)
                if given.offsets is not None:
                    dataset.attrs["offsets"] = given.offsets
            words += [f"--{role}", name_of(folder, role)]
    return words


def agglomerate(case: Case, folder):
    """Write files and run `celis agglomerate`."""
    words = ["agglomerate", "-o", str(folder / "out.zarr"), "--json", str(folder / "out.json")]
    words += ["--model", str(save_model(small_model(), folder / "model.safetensors"))]
    words += ["--threshold", str(case.threshold)]
    return CliRunner().invoke(app, [*words, *write(case, folder)])


def on_the_command_line(case: Case, folder, qtbot) -> str:
    """Return what the command says; nothing may be written."""
    result = agglomerate(case, folder)
    assert not list(folder.glob("out*"))
    assert isinstance(result.exception, CelisError)
    return str(result.exception)


def in_a_comparison(case: Case, folder, qtbot) -> str:
    """Tune on a volume that is fine, judge on the spoiled one, and return what `celis compare` says."""
    words = ["compare", "--json", str(folder / "out.json"), *write(case, folder)]
    words += ["--model", str(save_model(small_model(), folder / "model.safetensors"))]
    (folder / "train").mkdir()
    train = write(good_case(), folder / "train")
    words += [word.replace("--", "--train-") for word in train]
    for option, place in (("--truth", case.image), ("--train-truth", good_case().image)):
        path = folder / f"{option.strip('-')}.h5"
        with h5py.File(path, "w") as file:
            dataset = file.create_dataset("data", data=np.ones(SHAPE, np.uint64))
            dataset.attrs.update(resolution=place.voxel_size_nm, offset=place.offset_nm)
        words += [option, f"{path}:data"]
    result = CliRunner().invoke(app, words)
    assert not list(folder.glob("out*"))
    assert isinstance(result.exception, CelisError)
    return str(result.exception)


def in_the_panel(case: Case, folder, qtbot) -> str:
    """Choose layers, press *Prepare*, and return what the panel says; there may be no engine."""
    workspace = Workspace.of(ViewerModel())
    try:
        for role in ROLES:
            given = getattr(case, role)
            if given is not None:
                workspace.data.choose(role, workspace.viewer.add_layer(as_layer(role, given, folder)))
        workspace.data.use_model(replace(small_model(), thresholds={"energy": case.threshold}))
        workspace.preparation.prepare()
        qtbot.waitUntil(lambda: not workspace.preparation.is_busy, timeout=30_000)
        assert workspace.run.engine is None
        return workspace.messages.current.text
    finally:
        workspace.dispose()


def as_layer(role, given, folder):
    """Make the layer that a person would choose."""
    leading = (1.0,) * (given.data.ndim - 3)
    place = {"scale": (*leading, *given.voxel_size_nm), "translate": (*leading, *given.offset_nm)}
    if role == "supervoxels" and given.data.dtype.kind != "f":
        return Labels(given.data, name=name_of(folder, role), **place)
    metadata = {} if given.offsets is None else {"offsets": given.offsets}
    return Image(given.data, name=name_of(folder, role), metadata=metadata, **place)


NOT_IN_A_COMPARISON = ("threshold is not a number", "threshold is infinite", "contacts without affinities")
"""Mistakes that the options of `celis compare` leave no room for."""


@pytest.mark.parametrize("caller", [on_the_command_line, in_a_comparison, in_the_panel])
@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_gets_its_sentence(mistake, caller, tmp_path, qtbot, monkeypatch):
    if caller is in_a_comparison and mistake in NOT_IN_A_COMPARISON:
        return
    monkeypatch.setattr(platformdirs, "user_state_path", lambda *names, **options: tmp_path / "state")
    case = MISTAKES[mistake].spoil(good_case())
    monkeypatch.setattr(memory, "available_bytes", lambda: case.free_bytes)
    said = caller(case, tmp_path, qtbot)
    expected = MISTAKES[mistake].sentence.format(**{role: name_of(tmp_path, role) for role in ROLES})
    assert re.fullmatch(re.escape(expected).replace(r"\*", "[0-9.]+"), said), said
    # One sentence, and one with the way out; numbers and abbreviations end in no full stop.
    assert len(re.findall(r"[.;] [A-Z]", said)) <= 1


@pytest.mark.parametrize("left_out", [("affinities",), (), ("image",), ("image", "supervoxels")])
def test_without_a_mistake_it_is_written(left_out, tmp_path):
    case = replace(good_case(with_affinities=True), **dict.fromkeys(left_out))
    result = agglomerate(case, tmp_path)
    assert result.exit_code == 0, result.output
    written = open_volume(tmp_path / "out.zarr")
    assert (written.shape, written.voxel_size_nm) == (SHAPE, VOXEL_NM)
    assert (tmp_path / "out.json").exists()

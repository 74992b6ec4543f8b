"""The tab Train, with a stand-in for the training itself that takes no time."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from napari.components import ViewerModel
from napari.layers import Image, Labels
from qtpy.QtCore import Qt
from qtpy.QtGui import QGuiApplication
from qtpy.QtWidgets import QMessageBox

from models.small import small_model
from napari_celis.core.volume import Volume
from napari_celis.gui.layers.volume_layers import volume_to_layer
from napari_celis.gui.session.background import celis_process
from napari_celis.gui.session.messages import Message
from napari_celis.gui.session.workspace import Workspace
from napari_celis.gui.tabs.train.train_options import checkpoint_of
from napari_celis.gui.tabs.train.train_tab import TrainTab
from napari_celis.io.volumes import open_volume, write_volume
from napari_celis.models.model_file import save_model

YES, NO = QMessageBox.StandardButton.Yes, QMessageBox.StandardButton.No
RNG = np.random.default_rng(0)
GREY = Volume(RNG.integers(0, 255, (12, 20, 20), dtype=np.uint8), (10.0, 10.0, 10.0), name="grey")
IDS = Volume(np.repeat(np.arange(1, 5, dtype=np.uint32), 3 * 400).reshape(12, 20, 20), (10.0, 10.0, 10.0))

STAND_IN = """
import argparse, json, pathlib, shutil, sys, time
here = pathlib.Path(__file__).parent
parser = argparse.ArgumentParser()
parser.add_argument("command")
for name in "image truth supervoxels".split():
    parser.add_argument(f"--{name}", action="append")
for name in "preset affinity minutes seed output records".split():
    parser.add_argument(f"--{name}")
parser.add_argument("--resume", action="store_true")
parser.add_argument("--restart", action="store_true")
parser.add_argument("--second-round", action="store_true")
told = parser.parse_args()
(here / "told.json").write_text(json.dumps(vars(told)))
output = pathlib.Path(told.output)
part = output.with_name(output.name + ".training")
with open(told.records, "w") as file:
    def record(stage, done, **figures):
        line = {"stage": stage, "done": done, "figures": figures, "seconds": 60 * done}
        file.write(json.dumps(line) + "\\n")
        file.flush()
    first = 5 if part.exists() and told.resume else 0
    for i in range(first, 10):
        record("affinity network 1 of 3", i / 20, loss=1 / (i + 1))
    part.mkdir(exist_ok=True)
    print("half of it is done", flush=True)
    if told.seed == "1":
        sys.exit("celis: Nothing can be learned from this truth. Choose another one.")
    if told.seed == "2" and not told.resume:
        time.sleep(600)
    record("energy of small", 0.9, loss=0.5, validation_loss=0.6, auc=0.9, names=["a"])
shutil.copy(here / "model.safetensors", output)
part.rmdir()
"""


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    """Run a script instead of celis, and keep models in a folder of their own."""
    folder = tmp_path / "stand_in"
    folder.mkdir()
    (folder / "train.py").write_text(STAND_IN)
    save_model(small_model(), folder / "model.safetensors")
    monkeypatch.setattr(celis_process, "PROGRAM", str(folder / "train.py"))
    return folder


@pytest.fixture
def answers(monkeypatch):
    """Answer every question of the tab, and list them."""
    asked, given = [], [YES]

    def question(parent, title, text, *arguments):
        asked.append(text)
        return given[0]

    monkeypatch.setattr(QMessageBox, "question", question)
    return asked, given


def make_tab(qtbot, viewer, tmp_path):
    for name, kind, data in [("grey", Image, GREY), ("truth", Labels, IDS), ("supervoxels", Labels, IDS)]:
        viewer.add_layer(kind(data.data, name=name, scale=data.voxel_size_nm, units="nm"))
    workspace = Workspace.of(viewer)
    tab = TrainTab(workspace)
    tab.form.output.value = str(tmp_path / "new.safetensors")
    if not hasattr(viewer, "window"):
        qtbot.addWidget(tab)
    return workspace, tab


@pytest.fixture
def windowless(qtbot, tmp_path, stand_in):
    """Make the tab without the cost of a window."""
    workspace, tab = make_tab(qtbot, ViewerModel(), tmp_path)
    yield workspace, tab
    workspace.dispose()


def press(qtbot, button):
    assert button.isEnabled()
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)


def run_to_the_end(qtbot, tab, button):
    with qtbot.waitSignal(tab.process.ended, timeout=30000):
        press(qtbot, button)


def test_train_cancel_resume_and_close_in_a_real_window(
    qtbot, tmp_path, stand_in, make_napari_viewer, answers
):
    asked, given = answers
    viewer = make_napari_viewer(show=True)
    workspace, tab = make_tab(qtbot, viewer, tmp_path)
    viewer.window.add_dock_widget(tab, area="right")
    assert not tab.resume.isEnabled()

    # Cancel keeps the checkpoint.
    tab.form.seed.value = 2
    press(qtbot, tab.start)
    qtbot.waitUntil(lambda: "half of it is done" in tab.log.toPlainText(), timeout=30000)
    qtbot.waitUntil(lambda: len(tab.curves.history.stages) == 1, timeout=5000)
    assert not tab.start.isEnabled()
    with qtbot.waitSignal(tab.process.stopped, timeout=30000):
        press(qtbot, tab.progress.cancel)
    assert "Press Resume to go on" in tab.log.toPlainText()
    assert checkpoint_of(tmp_path / "new.safetensors").is_dir()

    # Resume goes on with the same curves, and the finished model is selected at once.
    run_to_the_end(qtbot, tab, tab.resume)
    assert json.loads((stand_in / "told.json").read_text())["resume"]
    qtbot.waitUntil(lambda: workspace.data.model is not None, timeout=10000)
    assert workspace.data.model_path == tmp_path / "new.safetensors"
    assert list(tab.curves.history.stages) == ["affinity network 1 of 3", "energy of small"]
    minutes = tab.curves.history.stages["affinity network 1 of 3"]["loss"][0]
    assert len(minutes) == 15
    assert minutes == sorted(minutes)

    # A model that exists is not replaced without asking.
    given[0] = NO
    press(qtbot, tab.start)
    assert "exists. Replace it" in asked[-1]
    assert not tab.is_busy
    given[0] = YES

    # Closing asks; No leaves everything as it is, Yes ends the process.
    press(qtbot, tab.start)
    qtbot.waitUntil(lambda: "half of it is done" in tab.log.toPlainText(), timeout=30000)
    pid = tab.process.pid
    given[0] = NO
    assert not viewer.window._qt_window.close()
    assert "A training is running" in asked[-1]
    assert tab.process.is_running
    given[0] = YES
    # The fixture closes the viewer once more, and needs its window for that.
    viewer.window._qt_window.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    viewer.window._qt_window.close()
    assert not tab.process.is_running
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert Workspace.of(viewer) is not workspace


def test_settings_reach_the_command(windowless, qtbot, stand_in, tmp_path):
    _, tab = windowless
    tab.form.preset.value = "paper"
    tab.form.affinity.value = "paper"
    tab.form.minutes.value = 2.5
    tab.form.seed.value = 7
    tab.form.second_round.value = True
    run_to_the_end(qtbot, tab, tab.start)
    told = json.loads((stand_in / "told.json").read_text())
    wanted = {
        "preset": "paper",
        "affinity": "paper",
        "minutes": "2.5",
        "seed": "7",
        "resume": False,
        "second_round": True,
    }
    assert {name: told[name] for name in wanted} == wanted
    # Layers that lie in no file were written to one, with their voxel size.
    assert not told["image"][0].startswith(str(tmp_path))
    tab.form.use_supervoxels.value = False
    assert "--supervoxels" not in tab.command.text.text()
    tab.command.copy.click()
    copied = QGuiApplication.clipboard().text()
    assert copied.startswith("celis train --image IMAGE --truth TRUTH --preset paper --affinity paper")
    assert copied.endswith(f"--minutes 2.5 --seed 7 --second-round --output {tmp_path / 'new.safetensors'}")


def test_layers_in_memory_are_copied_for_the_process(windowless, qtbot, stand_in):
    _, tab = windowless
    tab.form.seed.value = 2
    press(qtbot, tab.start)
    qtbot.waitUntil(lambda: "half of it is done" in tab.log.toPlainText(), timeout=30000)
    told = json.loads((stand_in / "told.json").read_text())
    image = open_volume(told["image"][0])
    np.testing.assert_array_equal(image.read(), GREY.data)
    assert image.voxel_size_nm == GREY.voxel_size_nm
    np.testing.assert_array_equal(open_volume(told["supervoxels"][0]).read(), IDS.data)


def test_layers_from_files_are_not_copied(windowless, qtbot, stand_in, tmp_path):
    workspace, tab = windowless
    path = tmp_path / "data.h5"
    for dataset, volume, kind, role in [("raw", GREY, "image", "image"), ("ids", IDS, "labels", "truth")]:
        write_volume(volume, f"{path}:{dataset}", kind=kind)
        data, settings, _ = volume_to_layer(open_volume(f"{path}:{dataset}"), kind)
        layer = (Image if kind == "image" else Labels)(data, **settings)
        workspace.viewer.add_layer(layer)
        workspace.data.choose(role, layer)
    assert f"--image {path}:raw --truth {path}:ids" in tab.command.text.text()
    run_to_the_end(qtbot, tab, tab.start)
    told = json.loads((stand_in / "told.json").read_text())
    assert (told["image"][0], told["truth"][0]) == (f"{path}:raw", f"{path}:ids")
    # With another voxel size it is no longer what lies in the file.
    workspace.data.image_layer.scale = (20, 20, 20)
    for role in ("truth", "supervoxels"):
        workspace.data.layer(role).scale = (20, 20, 20)
    tab.form.output.value = str(tmp_path / "other.safetensors")
    run_to_the_end(qtbot, tab, tab.start)
    assert json.loads((stand_in / "told.json").read_text())["image"] != f"{path}:raw"


def test_failure_of_the_process_is_said(windowless, qtbot):
    workspace, tab = windowless
    tab.form.seed.value = 1
    run_to_the_end(qtbot, tab, tab.start)
    assert workspace.messages.current == Message(
        "Nothing can be learned from this truth. Choose another one.", "error"
    )
    assert tab.start.isEnabled()
    assert tab.progress.isHidden()


def test_bad_input_is_said_and_nothing_starts(windowless, qtbot, tmp_path):
    workspace, tab = windowless
    for name, words in [("model.txt", "ends in .safetensors"), ("no/where.safetensors", "does not exist")]:
        tab.form.output.value = str(tmp_path / name)
        press(qtbot, tab.start)
        assert words in workspace.messages.current.text
        assert not tab.is_busy
    tab.form.output.value = str(tmp_path / "new.safetensors")
    workspace.data.choose("truth", workspace.viewer.add_labels(np.ones((3, 4, 5), np.uint8), name="small"))
    press(qtbot, tab.start)
    assert "shape" in workspace.messages.current.text
    workspace.data.choose("truth", None)
    assert not tab.start.isEnabled()
    assert "Choose the truth" in tab.data.text()


def test_unfinished_training_is_not_thrown_away_without_asking(windowless, qtbot, answers):
    _, tab = windowless
    asked, given = answers
    checkpoint_of(tab.form.path()).mkdir()
    given[0] = NO
    press(qtbot, tab.start)
    assert "unfinished" in asked[-1]
    assert not tab.is_busy
    given[0] = YES
    run_to_the_end(qtbot, tab, tab.start)
    assert len(tab.curves.history.stages["affinity network 1 of 3"]["loss"][0]) == 10


def test_browse_fills_in_the_name(windowless, qtbot, monkeypatch, tmp_path):
    _, tab = windowless
    chosen = str(tmp_path / "mine")
    monkeypatch.setattr(tab.form.output, "_show_file_dialog", lambda *arguments, **more: chosen)
    press(qtbot, tab.form.output.choose_btn.native)
    assert tab.form.path() == tmp_path / "mine.safetensors"
    assert f"--output {chosen}.safetensors" in tab.command.text.text()


def test_real_celis_takes_the_options_and_explains_a_truth_without_labels(qtbot, tmp_path):
    viewer = ViewerModel()
    workspace, tab = make_tab(qtbot, viewer, tmp_path)
    workspace.data.choose(
        "truth", viewer.add_labels(np.zeros((12, 20, 20), np.uint8), name="empty", scale=[10] * 3)
    )
    tab.form.second_round.value = True
    with qtbot.waitSignal(tab.process.ended, timeout=120000):
        press(qtbot, tab.start)
    assert "nothing but background" in workspace.messages.current.text
    workspace.dispose()


def test_celis_train_has_the_options_that_the_tab_uses():
    command = [sys.executable, "-m", "napari_celis", "train", "--help"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    for option in (
        "--records",
        "--resume",
        "--preset",
        "--affinity",
        "--minutes",
        "--seed",
        "--supervoxels",
        "--second-round",
    ):
        assert option in shown


def other_volume(viewer):
    """Add the layers of a second volume."""
    grey = Image(255 - GREY.data, name="other grey", scale=GREY.voxel_size_nm, units="nm")
    ids = [
        Labels(IDS.data + 4, name=name, scale=IDS.voxel_size_nm, units="nm")
        for name in ("other truth", "other supervoxels")
    ]
    for layer in (grey, *ids):
        viewer.add_layer(layer)
    return grey, *ids


def test_several_volumes_are_trained_on_together(windowless, qtbot, stand_in):
    workspace, tab = windowless
    grey, truth, supervoxels = other_volume(workspace.viewer)
    assert not tab.further.rows.isVisibleTo(tab)
    press(qtbot, tab.further.add)
    assert [tab.further.rows.item(i).text() for i in range(tab.further.rows.count())] == [
        "grey, truth, supervoxels"
    ]
    # The volume that is chosen is not learned from twice.
    assert tab.command.text.text().count("--image") == 1
    data = workspace.data
    for role, layer in (("image", grey), ("truth", truth), ("supervoxels", supervoxels)):
        data.choose(role, layer)
    assert tab.command.text.text().count("--image") == tab.command.text.text().count("--supervoxels") == 2
    run_to_the_end(qtbot, tab, tab.start)
    told = json.loads((stand_in / "told.json").read_text())
    assert len(told["image"]) == len(told["truth"]) == len(told["supervoxels"]) == 2
    assert len({*told["image"], *told["truth"], *told["supervoxels"]}) == 6
    tab.form.use_supervoxels.value = False
    assert "--supervoxels" not in tab.command.text.text()
    tab.further.rows.setCurrentRow(0)
    press(qtbot, tab.further.remove)
    assert tab.further.volumes == ()
    assert tab.command.text.text().count("--image") == 1


def test_a_further_volume_without_supervoxels_is_refused(windowless, qtbot, stand_in):
    workspace, tab = windowless
    grey, truth, supervoxels = other_volume(workspace.viewer)
    data = workspace.data
    data.choose("supervoxels", None)
    press(qtbot, tab.further.add)
    for role, layer in (("image", grey), ("truth", truth), ("supervoxels", supervoxels)):
        data.choose(role, layer)
    press(qtbot, tab.start)
    assert "grey was added without supervoxels" in workspace.messages.current.text
    assert not tab.is_busy

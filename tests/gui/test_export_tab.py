"""The tab Export: every button, in the background, with nothing half-written."""

from __future__ import annotations

import csv
import json
import os
import threading

import numpy as np
import pytest
from napari.components import ViewerModel
from napari.layers import Layer
from PIL import Image
from qtpy.QtCore import Qt
from qtpy.QtGui import QGuiApplication
from qtpy.QtWidgets import QFileDialog

from conftest import small_agglomerator, small_volumes
from models.small import small_model
from napari_celis.core.errors import VolumeError
from napari_celis.gui import celis_process, export_jobs, export_tab
from napari_celis.gui.engine import Engine
from napari_celis.gui.export_tab import ExportTab
from napari_celis.gui.layers import volume_to_layer
from napari_celis.gui.workspace import Workspace
from napari_celis.io.decisions import read_decision_log, read_merge_list
from napari_celis.io.volumes import open_volume
from napari_celis.models.checkpoint import save_model

COMPARE = """
import argparse, json, pathlib, sys, time
parser = argparse.ArgumentParser()
parser.add_argument("command")
for name in ("image truth supervoxels train-image train-truth train-supervoxels model ignore-boundary json "
             "plot").split():
    parser.add_argument(f"--{name}")
told = parser.parse_args()
here = pathlib.Path(__file__).parent
(here / "told.json").write_text(json.dumps(vars(told)))
if told.ignore_boundary == "7":
    sys.exit("celis: The training truth holds a single object. Give a volume with several objects.")
if told.ignore_boundary == "9":
    print("waiting", flush=True)
    time.sleep(600)
sys.stderr.write("methods:  50%|#####     | 1/2\\n")
print("forest was left out: it needs scikit-learn.")
def method(vi):
    figures = dict(vi=vi, vi_split=vi / 2, vi_merge=vi / 2, rand_f1=0.9)
    curve = dict(split=[0.1, vi], merge=[vi, 0.1], front=[1, 0])
    inside = {**figures, "vi": vi / 4, "n": 2}
    return dict(figures, ignore_boundary=inside, threshold=None, tuned_on=None, seconds=1.0, segments=12,
                curve=dict(threshold=[0, 1], all=curve, ignore_boundary=curve))
pathlib.Path(told.json).write_text(json.dumps({"none": method(2.0), "celis_energy": method(1.0)}))
pathlib.Path(told.plot).write_bytes(b"picture")
"""


class FileDialog:
    """Answers the file dialog."""

    def __init__(self, monkeypatch):
        self.name = ""
        monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *arguments: (str(self.name), ""))


@pytest.fixture
def dialog(monkeypatch):
    return FileDialog(monkeypatch)


def fill(viewer):
    """Show the small volumes, and an engine that has made some decisions."""
    for role, volume in small_volumes().items():
        kind = "image" if role == "image" else "labels"
        data, settings, _ = volume_to_layer(volume, kind)
        viewer.add_layer(Layer.create(data, {**settings, "name": role}, kind))
    workspace = Workspace.of(viewer)
    agglomerator = small_agglomerator()
    for _ in range(3):
        agglomerator.step(np.inf)
    last = agglomerator.history[-1]
    agglomerator.cut(last.u_id, last.v_id)
    engine = Engine(agglomerator, 0.0, parent=workspace)
    workspace.use_engine(engine, agglomerator.supervoxels)
    return workspace


@pytest.fixture
def windowless(qtbot):
    """Make the tab without the cost of a window."""
    workspace = fill(ViewerModel())
    tab = ExportTab(workspace)
    qtbot.addWidget(tab)
    yield workspace, tab
    workspace.dispose()


def press(qtbot, button):
    assert button.isEnabled()
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)


def export(qtbot, tab, button):
    press(qtbot, button)
    qtbot.waitUntil(lambda: not tab.is_busy, timeout=20000)


def names(folder):
    return sorted(entry.name for entry in folder.iterdir())


def test_every_button_in_a_real_window(qtbot, make_napari_viewer, dialog, tmp_path):
    viewer = make_napari_viewer()
    workspace = fill(viewer)
    tab = ExportTab(workspace)
    viewer.window.add_dock_widget(tab, area="right")
    segmentation = workspace.engine.snapshot.segment_ids[workspace.supervoxels.dense]

    dialog.name = tmp_path / "seg"
    export(qtbot, tab, tab.export)
    np.testing.assert_array_equal(open_volume(tmp_path / "seg.zarr").read(), segmentation)
    assert f"Wrote {tmp_path / 'seg.zarr'}" in tab.done.text()

    dialog.name = tmp_path / "merges.csv"
    export(qtbot, tab, tab.merges)
    with dialog.name.open() as file:
        assert [row["kind"] for row in csv.DictReader(file)] == ["greedy", "greedy"]
    dialog.name = tmp_path / "merges.json"
    export(qtbot, tab, tab.merges)
    assert len(read_merge_list(dialog.name)) == 2

    dialog.name = tmp_path / "log"
    export(qtbot, tab, tab.log)
    assert read_decision_log(tmp_path / "log.jsonl") == list(workspace.engine.snapshot.steps)

    press(qtbot, tab.meshes)
    assert "No segment is selected" in workspace.problem[0]
    workspace.select(1, 2)
    for name, start in [("cells.obj", b"o segment_"), ("cells.ply", b"ply\n")]:
        dialog.name = tmp_path / name
        export(qtbot, tab, tab.meshes)
        assert dialog.name.read_bytes().startswith(start)

    dialog.name = tmp_path / "view.png"
    export(qtbot, tab, tab.screenshot)
    with Image.open(dialog.name) as picture:
        assert min(picture.size) > 50

    dialog.name = tmp_path / "look.html"
    export(qtbot, tab, tab.neuroglancer)
    page = dialog.name.read_text()
    assert str(workspace.segment_of(1)) in page
    np.testing.assert_array_equal(
        open_volume(tmp_path / "look-segmentation.precomputed").read(), segmentation
    )
    assert (tmp_path / "look-image.precomputed").is_dir()
    assert workspace.problem == ("", "")
    assert not [name for name in names(tmp_path) if name.startswith(".")]


@pytest.mark.parametrize("suffix", [".zarr", ".h5", ".tif", ".npy", ".precomputed"])
def test_every_format_with_a_crop(windowless, qtbot, dialog, tmp_path, suffix):
    workspace, tab = windowless
    tab.form.role.setCurrentIndex(tab.form.role.findData("supervoxels"))
    tab.form.format.setCurrentIndex(tab.form.format.findData(suffix))
    for (low, high), (start, stop) in zip(tab.form.ranges, [(2, 8), (5, 20), (0, 10)], strict=True):
        low.setValue(start)
        high.setValue(stop)
    assert tab.form.size.text() == "6 × 15 × 10 voxels"
    dialog.name = tmp_path / "part"
    export(qtbot, tab, tab.export)
    written = open_volume(tmp_path / f"part{suffix}")
    np.testing.assert_array_equal(written.read(), workspace.supervoxels_layer.data[2:8, 5:20, :10])
    assert written.offset_nm == (20.0, 50.0, 0.0)
    press(qtbot, tab.form.whole)
    assert tab.form.size.text() == "12 × 20 × 20 voxels"


def test_coarser_level(windowless, qtbot, dialog, tmp_path, monkeypatch):
    _, tab = windowless
    monkeypatch.setattr("napari_celis.io.pyramid.SMALLEST", 8)
    tab.form.refresh()
    assert [tab.form.level.itemText(i) for i in range(tab.form.level.count())][:2] == [
        "10 × 10 × 10 nm",
        "20 × 20 × 20 nm",
    ]
    tab.form.level.setCurrentIndex(1)
    dialog.name = tmp_path / "coarse.npy"
    export(qtbot, tab, tab.export)
    coarse = open_volume(dialog.name)
    assert coarse.shape == (6, 10, 10)
    assert coarse.voxel_size_nm == (20.0, 20.0, 20.0)


def test_empty_crop_is_said(windowless, qtbot, dialog, tmp_path):
    workspace, tab = windowless
    tab.form.ranges[0][0].setValue(9)
    tab.form.ranges[0][1].setValue(4)
    assert tab.form.size.text() == "An empty crop"
    dialog.name = tmp_path / "part.npy"
    export(qtbot, tab, tab.export)
    assert "The crop runs from 9 to 4 along z" in workspace.problem[0]
    assert names(tmp_path) == []


def test_dialog_that_was_dismissed_writes_nothing(windowless, qtbot, dialog, tmp_path):
    workspace, tab = windowless
    workspace.select(1)
    for button in (tab.export, tab.neuroglancer, tab.merges, tab.log, tab.meshes):
        press(qtbot, button)
        assert not tab.is_busy


def test_unwritable_folder_ends_in_a_sentence(windowless, qtbot, dialog, tmp_path):
    workspace, tab = windowless
    (tmp_path / "taken.npy").mkdir()
    dialog.name = tmp_path / "taken.npy"
    export(qtbot, tab, tab.export)
    assert "is a folder" in workspace.problem[0]
    assert tab.export.isEnabled()


def test_full_disk_ends_in_a_sentence_and_leaves_nothing(windowless, qtbot, dialog, tmp_path, monkeypatch):
    workspace, tab = windowless

    def full(*arguments, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("napari_celis.io.atomic._flush_to_disk", full)
    for button, name in [(tab.export, "seg.npy"), (tab.merges, "merges.csv"), (tab.log, "log.jsonl")]:
        dialog.name = tmp_path / name
        export(qtbot, tab, button)
        assert "No space left on device. Free some space" in workspace.problem[0]
    assert names(tmp_path) == []


class Gate:
    """Holds the writing of a volume after its first block until a test lets go."""

    def __init__(self, monkeypatch):
        self.is_reached, self.may_go = threading.Event(), threading.Event()
        monkeypatch.setattr("napari_celis.io.blocks.BLOCK_BYTES", 20 * 20 * 8)
        original = export_jobs.write_volume

        def write(volume, target, *, kind, progress):
            def held(done, total):
                self.is_reached.set()
                assert self.may_go.wait(20)
                progress(done, total)

            return original(volume, target, kind=kind, progress=held)

        monkeypatch.setattr(export_jobs, "write_volume", write)


@pytest.fixture
def gate(monkeypatch):
    return Gate(monkeypatch)


@pytest.mark.parametrize("suffix", [".zarr", ".h5", ".tif", ".npy", ".precomputed"])
def test_cancel_leaves_no_half_file(windowless, qtbot, dialog, gate, tmp_path, suffix):
    _, tab = windowless
    dialog.name = tmp_path / f"seg{suffix}"
    press(qtbot, tab.export)
    qtbot.waitUntil(gate.is_reached.is_set, timeout=20000)
    assert not tab.export.isEnabled()
    assert names(tmp_path) != [], "the temporary file"
    press(qtbot, tab.progress.cancel)
    gate.may_go.set()
    qtbot.waitUntil(lambda: not tab.is_busy, timeout=20000)
    assert names(tmp_path) == []
    assert tab.done.text() == "Cancelled; nothing was written."


def test_cancelled_neuroglancer_export_leaves_nothing(windowless, qtbot, dialog, tmp_path, monkeypatch):
    workspace, tab = windowless

    def fail(*arguments):
        raise VolumeError("The link could not be written. Try again.")

    monkeypatch.setattr(export_jobs, "write_link", fail)
    dialog.name = tmp_path / "look.html"
    export(qtbot, tab, tab.neuroglancer)
    assert workspace.problem[0] == "The link could not be written. Try again."
    assert names(tmp_path) == []


def test_closing_the_viewer_leaves_no_half_file(qtbot, dialog, gate, tmp_path):
    workspace = fill(ViewerModel())
    tab = ExportTab(workspace)
    qtbot.addWidget(tab)
    dialog.name = tmp_path / "seg.zarr"
    press(qtbot, tab.export)
    qtbot.waitUntil(gate.is_reached.is_set, timeout=20000)
    threading.Timer(0.2, gate.may_go.set).start()
    workspace.dispose()
    assert names(tmp_path) == []
    assert "celis export" not in [thread.name for thread in threading.enumerate()]


def test_error_in_the_thread_reaches_the_user(windowless, qtbot, dialog, tmp_path, monkeypatch):
    workspace, tab = windowless

    def fail(*arguments):
        raise RuntimeError("out of luck")

    monkeypatch.setattr(export_tab, "write_part", fail)
    dialog.name = tmp_path / "seg.npy"
    export(qtbot, tab, tab.export)
    assert "out of luck" in workspace.problem[0]


def test_empty_workspace_says_what_to_do(qtbot):
    workspace = Workspace.of(ViewerModel())
    tab = ExportTab(workspace)
    qtbot.addWidget(tab)
    assert "nothing to export yet" in tab.done.text()
    for button in (tab.export, tab.merges, tab.log, tab.meshes, tab.neuroglancer, tab.compare.start):
        assert not button.isEnabled()
    assert "Choose an image" in tab.compare.hint.text()
    workspace.viewer.add_image(np.zeros((4, 5, 6)), name="grey")
    assert tab.export.isEnabled()
    assert tab.done.text() == ""
    assert tab.command.text.text() == "celis convert IMAGE image.zarr --kind image"
    workspace.dispose()


def test_command_is_that_of_the_run(windowless):
    workspace, tab = windowless
    tab.command.copy.click()
    assert QGuiApplication.clipboard().text() == workspace.command()


@pytest.fixture
def compare(windowless, qtbot, tmp_path, monkeypatch):
    """Prepare a comparison by a stand-in for celis."""
    workspace, tab = windowless
    monkeypatch.setattr("napari_celis.gui.compare_data.SHALLOWEST", 4)
    (tmp_path / "compare.py").write_text(COMPARE)
    monkeypatch.setattr(celis_process, "PROGRAM", str(tmp_path / "compare.py"))
    assert "Choose a model" in tab.compare.hint.text()
    workspace.use_model(small_model(), save_model(small_model(), tmp_path / "model.safetensors"))
    return workspace, tab.compare


def run_compare(qtbot, view):
    with qtbot.waitSignal(view.process.ended, timeout=30000):
        press(qtbot, view.start)


def test_comparison_shows_table_and_curves(compare, qtbot, tmp_path, dialog):
    workspace, view = compare
    stages = []
    view.process.progressed.connect(lambda title, share: stages.append((title, share)))
    run_compare(qtbot, view)
    told = json.loads((tmp_path / "told.json").read_text())
    assert told["train_supervoxels"].endswith("train-supervoxels.npy")
    assert stages == [("methods", 0.5)]
    assert workspace.problem == ("forest was left out: it needs scikit-learn.", "warning")
    table = view.results.table
    texts = [[table.item(row, column).text() for column in range(5)] for row in range(2)]
    assert texts == [
        ["none", "2.000", "1.000", "1.000", "0.900"],
        ["celis energy", "1.000", "0.500", "0.500", "0.900"],
    ]
    assert [table.item(row, 1).font().bold() for row in range(2)] == [False, True]
    assert len(view.results.plot.getPlotItem().listDataItems()) == 4
    view.results.voxels.setCurrentIndex(1)
    assert table.item(0, 1).text() == "0.500"
    dialog.name = tmp_path / "table"
    press(qtbot, view.save_table)
    assert set(json.loads((tmp_path / "table.json").read_text())) == {"none", "celis_energy"}
    dialog.name = tmp_path / "plot.png"
    press(qtbot, view.save_plot)
    assert dialog.name.read_bytes() == b"picture"


def test_halves_are_the_two_ends_of_the_volume(compare, qtbot, tmp_path):
    workspace, view = compare
    view.boundary.setValue(9)
    press(qtbot, view.start)
    qtbot.waitUntil((tmp_path / "told.json").exists, timeout=20000)
    qtbot.waitUntil(lambda: (tmp_path / "told.json").stat().st_size > 0, timeout=20000)
    told = json.loads((tmp_path / "told.json").read_text())
    image = np.asarray(workspace.image_layer.data)
    np.testing.assert_array_equal(open_volume(told["train_image"]).read(), image[:6])
    np.testing.assert_array_equal(open_volume(told["image"]).read(), image[6:])
    assert open_volume(told["image"]).offset_nm == (60.0, 0.0, 0.0)
    with qtbot.waitSignal(view.process.stopped, timeout=20000):
        press(qtbot, view.progress.cancel)
    assert view.start.isEnabled()


def test_closing_the_viewer_ends_a_comparison(compare, qtbot, tmp_path):
    workspace, view = compare
    view.boundary.setValue(9)
    press(qtbot, view.start)
    qtbot.waitUntil((tmp_path / "told.json").exists, timeout=20000)
    pid = view.process.pid
    workspace.dispose()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_method_far_off_does_not_squeeze_the_others(windowless):
    _, tab = windowless
    results = tab.compare.results
    curve = {"split": [1.0], "merge": [1.0], "front": [0]}

    def method(split):
        figures = {"vi": split + 1.0, "vi_split": split, "vi_merge": 1.0, "rand_f1": 0.5}
        rest = {"threshold": 0.5, "tuned_on": "train", "seconds": 1.0, "segments": 3}
        return {
            **figures,
            **rest,
            "ignore_boundary": figures,
            "curve": {"all": curve, "ignore_boundary": curve},
        }

    results.show_results(
        {"none": method(1.0), "forest": method(2.0), "oracle": method(0.5), "watershed": method(9)}
    )
    assert "Too far off to be drawn: watershed." in results.note.text()
    assert results.plot.viewRange()[0][1] < 3
    assert results.table.rowCount() == 4


def test_other_layers_to_tune_on(compare, qtbot, tmp_path):
    workspace, view = compare
    workspace.viewer.add_image(np.full((5, 6, 7), 3, np.uint8), name="other image")
    assert view.train_truth.isHidden()
    view.train_image.setCurrentText("other image")
    view.train_truth.setCurrentIndex(-1)
    assert not view.start.isEnabled()
    workspace.viewer.add_labels(np.full((5, 6, 7), 4, np.uint8), name="other truth")
    view.train_truth.setCurrentText("other truth")
    run_compare(qtbot, view)
    told = json.loads((tmp_path / "told.json").read_text())
    assert open_volume(told["train_image"]).read().max() == 3
    assert open_volume(told["train_truth"]).read().max() == 4
    assert open_volume(told["image"]).shape == (12, 20, 20)
    assert told["supervoxels"] is None
    assert "--train-image TRAIN_IMAGE" in view.command.text.text()


def test_failed_comparison_is_said(compare, qtbot):
    workspace, view = compare
    view.boundary.setValue(7)
    run_compare(qtbot, view)
    assert workspace.problem[0].startswith("The training truth holds a single object.")
    assert view.results.isHidden()


def test_shallow_volume_is_said(compare, qtbot, monkeypatch):
    workspace, view = compare
    monkeypatch.setattr("napari_celis.gui.compare_data.SHALLOWEST", 32)
    press(qtbot, view.start)
    assert "12 sections, too few" in workspace.problem[0]
    assert not view.is_busy

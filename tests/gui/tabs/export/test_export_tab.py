"""The tab Export: every button, in the background, with nothing half-written."""

from __future__ import annotations

import csv
import json
import threading

import numpy as np
import pytest
from napari.components import ViewerModel
from napari.layers import Layer
from PIL import Image
from qtpy.QtGui import QGuiApplication
from qtpy.QtWidgets import QMessageBox

from gui.conftest import small_volumes
from gui.tabs.export.conftest import export, fill, names, press
from napari_celis.core.errors import VolumeError
from napari_celis.gui.canvas.canvas import Canvas
from napari_celis.gui.layers.volume_layers import volume_to_layer
from napari_celis.gui.session.command_line import agglomerate_command
from napari_celis.gui.session.messages import Message
from napari_celis.gui.session.workspace import Workspace
from napari_celis.gui.tabs.export import export_jobs, export_tab
from napari_celis.gui.tabs.export.export_tab import ExportTab
from napari_celis.io.decisions import read_decision_log, read_merge_list
from napari_celis.io.volumes import open_volume, write_volume


def test_every_button_in_a_real_window(qtbot, make_napari_viewer, dialog, tmp_path):
    viewer = make_napari_viewer()
    workspace = fill(viewer)
    tab = ExportTab(workspace)
    viewer.window.add_dock_widget(tab, area="right")
    segmentation = workspace.run.engine.snapshot.segment_ids[workspace.run.supervoxels.dense]

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
    assert read_decision_log(tmp_path / "log.jsonl") == list(workspace.run.engine.snapshot.steps)

    workspace.segments.write(1, name="axon", note="ends here")
    dialog.name = tmp_path / "segments"
    export(qtbot, tab, tab.segments)
    with (tmp_path / "segments.csv").open() as file:
        rows = list(csv.DictReader(file))
    labels, sizes = np.unique(segmentation, return_counts=True)
    assert [(int(one["id"]), int(one["voxels"])) for one in rows] == list(
        zip(labels.tolist(), sizes.tolist(), strict=True)
    )
    assert (rows[0]["name"], rows[0]["note"]) == ("axon", "ends here")
    assert float(rows[0]["volume_um3"]) == pytest.approx(sizes[0] * 1e3 / 1e9)

    press(qtbot, tab.meshes)
    assert "No segment is selected" in workspace.messages.current.text
    workspace.selection.select(1, 2)
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
    assert str(workspace.run.segment_of(1)) in page
    np.testing.assert_array_equal(
        open_volume(tmp_path / "look-segmentation.precomputed").read(), segmentation
    )
    assert (tmp_path / "look-image.precomputed").is_dir()
    said = json.loads((tmp_path / "look-segmentation.precomputed" / "properties" / "info").read_text())
    columns = {column["id"]: column["values"] for column in said["inline"]["properties"]}
    assert columns["name"][0] == "axon"
    assert workspace.messages.current == Message()
    assert not [name for name in names(tmp_path) if name.startswith(".")]


def test_properties_of_a_crop_are_about_what_is_in_it(windowless, qtbot, dialog, tmp_path):
    workspace, tab = windowless
    workspace.segments.write(1, name="inside")
    workspace.segments.write(workspace.run.supervoxels.n, name="outside")
    for low, high in tab.form.ranges:
        high.setValue(4)
        low.setValue(0)
    dialog.name = tmp_path / "crop.zarr"
    export(qtbot, tab, tab.export)
    labels = set(np.unique(open_volume(dialog.name).read()).tolist())
    ome = json.loads((dialog.name / "zarr.json").read_text())["attributes"]["ome"]
    properties = {one["label-value"]: one for one in ome["image-label"]["properties"]}
    assert set(properties) == labels
    assert [one.get("name") for one in properties.values() if "name" in one] == ["inside"]
    assert all(
        {"state", "decisions", "decisions_by_hand", "voxels"} <= set(one) for one in properties.values()
    )


@pytest.mark.parametrize("suffix", [".zarr", ".h5", ".tif", ".npy", ".precomputed"])
def test_every_format_with_a_crop(windowless, qtbot, dialog, tmp_path, suffix):
    workspace, tab = windowless
    tab.form.role.setCurrentIndex(tab.form.role.findData("supervoxels"))
    tab.form.format.setCurrentIndex(tab.form.format.findData(suffix))
    for (low, high), (start, stop) in zip(tab.form.ranges, [(2, 8), (5, 20), (0, 10)], strict=True):
        low.setValue(start)
        high.setValue(stop)
    assert tab.form.size_label.text() == "6 × 15 × 10 voxels"
    dialog.name = tmp_path / "part"
    export(qtbot, tab, tab.export)
    written = open_volume(tmp_path / f"part{suffix}")
    np.testing.assert_array_equal(written.read(), workspace.data.supervoxels_layer.data[2:8, 5:20, :10])
    assert written.offset_nm == (20.0, 50.0, 0.0)
    press(qtbot, tab.form.whole)
    assert tab.form.size_label.text() == "12 × 20 × 20 voxels"


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
    assert tab.form.size_label.text() == "An empty crop"
    dialog.name = tmp_path / "part.npy"
    export(qtbot, tab, tab.export)
    assert "The crop runs from 9 to 4 along z" in workspace.messages.current.text
    assert names(tmp_path) == []


def test_dialog_that_was_dismissed_writes_nothing(windowless, qtbot, dialog, tmp_path):
    workspace, tab = windowless
    workspace.selection.select(1)
    for button in (tab.export, tab.neuroglancer, tab.merges, tab.log, tab.meshes):
        press(qtbot, button)
        assert not tab.is_busy


def test_unwritable_folder_ends_in_a_sentence(windowless, qtbot, dialog, tmp_path):
    workspace, tab = windowless
    (tmp_path / "taken.npy").mkdir()
    dialog.name = tmp_path / "taken.npy"
    export(qtbot, tab, tab.export)
    assert "is a folder" in workspace.messages.current.text
    assert tab.export.isEnabled()


def test_full_disk_ends_in_a_sentence_and_leaves_nothing(windowless, qtbot, dialog, tmp_path, monkeypatch):
    workspace, tab = windowless

    def full(*arguments, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("napari_celis.io.atomic.sync_file", full)
    for button, name in [(tab.export, "seg.npy"), (tab.merges, "merges.csv"), (tab.log, "log.jsonl")]:
        dialog.name = tmp_path / name
        export(qtbot, tab, button)
        assert "No space left on device. Free some space" in workspace.messages.current.text
    assert names(tmp_path) == []


class Gate:
    """Holds the writing of a volume after its first block until a test lets go."""

    def __init__(self, monkeypatch):
        self.is_reached, self.may_go = threading.Event(), threading.Event()
        monkeypatch.setattr("napari_celis.io.blocks.BLOCK_BYTES", 20 * 20 * 8)
        original = export_jobs.write_volume

        def write(volume, target, *, progress, **options):
            def held(done, total):
                self.is_reached.set()
                assert self.may_go.wait(20)
                progress(done, total)

            return original(volume, target, progress=held, **options)

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
    assert workspace.messages.current.text == "The link could not be written. Try again."
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
    assert "out of luck" in workspace.messages.current.text


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


def test_command_is_that_of_the_run_in_the_chosen_format(windowless):
    workspace, tab = windowless
    tab.command.copy.click()
    assert QGuiApplication.clipboard().text() == agglomerate_command(workspace)
    tab.form.format.setCurrentIndex(tab.form.format.findData(".h5"))
    assert tab.command.text.text() == agglomerate_command(workspace, "segmentation.h5")
    assert tab.command.text.text().endswith("-o segmentation.h5")


def test_what_the_dialog_did_not_ask_about_is_not_replaced_unasked(
    windowless, qtbot, dialog, answers, tmp_path
):
    workspace, tab = windowless
    asked, given = answers
    tab.form.format.setCurrentIndex(tab.form.format.findData(".npy"))
    (tmp_path / "seg.npy").write_text("mine")
    (tmp_path / "log.jsonl").write_text("mine")
    for button, name, full in ((tab.export, "seg", "seg.npy"), (tab.log, "log", "log.jsonl")):
        dialog.name = tmp_path / name
        export(qtbot, tab, button)
        assert asked.pop() == f"{full} exists already. Replace?"
        assert (tmp_path / full).read_text() == "mine"
    # The dialog has asked about the very name that it returned.
    dialog.name = tmp_path / "log.jsonl"
    export(qtbot, tab, tab.log)
    assert asked == []
    assert len(read_decision_log(dialog.name)) == len(workspace.run.engine.snapshot.steps)
    given.append(QMessageBox.StandardButton.Yes)
    dialog.name = tmp_path / "seg"
    export(qtbot, tab, tab.export)
    assert open_volume(tmp_path / "seg.npy").shape == workspace.run.supervoxels.dense.shape


def test_volumes_of_a_page_are_not_replaced_unasked(windowless, qtbot, dialog, answers, tmp_path):
    _, tab = windowless
    asked, _ = answers
    for name in ("look-image.precomputed", "look-segmentation.precomputed"):
        (tmp_path / name).mkdir()
    dialog.name = tmp_path / "look.html"
    press(qtbot, tab.neuroglancer)
    assert asked == ["look-image.precomputed and look-segmentation.precomputed exist already. Replace?"]
    assert not tab.is_busy
    assert not dialog.name.exists()


@pytest.mark.parametrize("name", ["mine.h5", "mine.zarr", "look.html"])
def test_nothing_is_written_over_what_a_layer_shows(windowless, qtbot, dialog, answers, tmp_path, name):
    workspace, tab = windowless
    asked, given = answers
    given.append(QMessageBox.StandardButton.Yes)
    truth = small_volumes()["truth"]
    path = tmp_path / ("look-segmentation.precomputed" if name == "look.html" else name)
    dataset = ":volumes/labels/neuron_ids" if path.suffix == ".h5" else ""
    write_volume(truth, f"{path}{dataset}", kind="labels")
    data, settings, _ = volume_to_layer(open_volume(f"{path}{dataset}"), "labels")
    workspace.viewer.add_layer(Layer.create(data, {**settings, "name": "precious"}, "labels"))
    tab.form.format.setCurrentIndex(max(0, tab.form.format.findData(path.suffix)))
    dialog.name = tmp_path / name
    press(qtbot, tab.neuroglancer if name == "look.html" else tab.export)
    assert "is open as the layer 'precious'" in workspace.messages.current.text
    assert asked == []
    assert not tab.is_busy
    np.testing.assert_array_equal(open_volume(f"{path}{dataset}").read(), truth.read())


def test_a_run_can_be_exported_when_all_layers_are_gone(windowless, qtbot, dialog, tmp_path):
    workspace, tab = windowless
    segmentation = workspace.run.engine.snapshot.segment_ids[workspace.run.supervoxels.dense]
    workspace.selection.select(1, 2)
    workspace.viewer.layers.clear()
    dialog.name = tmp_path / "seg.npy"
    export(qtbot, tab, tab.export)
    np.testing.assert_array_equal(open_volume(dialog.name).read(), segmentation)
    dialog.name = tmp_path / "seg.zarr"
    export(qtbot, tab, tab.export)
    assert open_volume(dialog.name).voxel_size_nm == (10, 10, 10)
    dialog.name = tmp_path / "cells.obj"
    export(qtbot, tab, tab.meshes)
    assert dialog.name.exists()


def test_a_layer_that_no_file_can_hold_is_said(windowless, qtbot, dialog, tmp_path):
    workspace, tab = windowless
    workspace.selection.select(1, 2)
    Canvas.of(workspace).segmentation.layer.rotate = (0, 0, 30)
    dialog.name = tmp_path / "cells.obj"
    export(qtbot, tab, tab.meshes)
    assert "has its own rotate" in workspace.messages.current.text

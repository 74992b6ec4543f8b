"""The comparison in the tab Export: table, curves, and what it is tuned on."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest
from napari.layers import Layer

from gui.conftest import small_volumes
from gui.tabs.export.conftest import press
from models.small import small_model
from napari_celis.gui.layers.opening import open_layers
from napari_celis.gui.qt.widgets import TallArea
from napari_celis.gui.session.background import celis_process
from napari_celis.gui.session.messages import Message
from napari_celis.io.volumes import open_volume, write_volume
from napari_celis.models.model_file import save_model

COMPARE = """
import argparse, json, pathlib, sys, time
parser = argparse.ArgumentParser()
parser.add_argument("command")
for name in ("image truth supervoxels train-image train-truth train-supervoxels model ignore-boundary json "
             "plot records").split():
    parser.add_argument(f"--{name}")
told = parser.parse_args()
here = pathlib.Path(__file__).parent
(here / "told.json").write_text(json.dumps(vars(told)))
if told.ignore_boundary == "7":
    sys.exit("celis: The training truth holds a single object. Give a volume with several objects.")
if told.ignore_boundary == "9":
    print("waiting", flush=True)
    time.sleep(600)
pathlib.Path(told.records).write_text('{"stage": "methods", "done": 0.5}\\n')
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


@pytest.fixture
def compare(windowless, qtbot, tmp_path, monkeypatch):
    """Prepare a comparison by a stand-in for celis."""
    workspace, tab = windowless
    monkeypatch.setattr("napari_celis.pipeline.halves.SHALLOWEST", 4)
    (tmp_path / "compare.py").write_text(COMPARE)
    monkeypatch.setattr(celis_process, "PROGRAM", str(tmp_path / "compare.py"))
    assert "Choose a model" in tab.compare.hint.text()
    workspace.data.use_model(small_model(), save_model(small_model(), tmp_path / "model.safetensors"))
    return workspace, tab.compare


def test_the_theme_may_change_before_there_are_results(compare):
    workspace, view = compare
    workspace.viewer.theme = "light"
    workspace.viewer.theme = "dark"
    assert view.results.table.rowCount() == 0


def run_compare(qtbot, view):
    with qtbot.waitSignal(view.process.ended, timeout=30000):
        press(qtbot, view.start)


def test_comparison_shows_table_and_curves(compare, qtbot, tmp_path, dialog, answers):
    workspace, view = compare
    stages = []
    view.process.recorded.connect(lambda record: stages.append((record.stage, record.done)))
    run_compare(qtbot, view)
    told = json.loads((tmp_path / "told.json").read_text())
    assert told["train_supervoxels"].endswith("train-supervoxels.npy")
    assert stages == [("methods", 0.5)]
    assert workspace.messages.current == Message("forest was left out: it needs scikit-learn.", "warning")
    table = view.results.table
    texts = [[table.item(row, column).text() for column in range(5)] for row in range(2)]
    assert texts == [
        ["no merging", "2.000", "1.000", "1.000", "0.900"],
        ["celis energy", "1.000", "0.500", "0.500", "0.900"],
    ]
    assert [table.item(row, 1).font().bold() for row in range(2)] == [False, True]
    assert len(view.results.plot.getPlotItem().listDataItems()) == 4
    view.results.voxels.setCurrentIndex(1)
    assert table.item(0, 1).text() == "0.500"
    dialog.name = tmp_path / "table"
    press(qtbot, view.save_table)
    assert set(json.loads((tmp_path / "table.json").read_text())) == {"none", "celis_energy"}
    # The dialog asked about another name than that of the file.
    (tmp_path / "table.json").write_text("mine")
    press(qtbot, view.save_table)
    assert answers[0] == ["table.json exists already. Replace?"]
    assert (tmp_path / "table.json").read_text() == "mine"
    dialog.name = tmp_path / "plot.png"
    press(qtbot, view.save_plot)
    assert dialog.name.read_bytes() == b"picture"


def test_results_come_into_view(compare, windowless, qtbot):
    (_, view), (_, tab) = compare, windowless
    area = TallArea(tab)
    qtbot.addWidget(area)
    area.resize(400, 200)
    area.show()
    with qtbot.waitSignal(view.process.ended, timeout=30000):
        view.start.click()
        area.verticalScrollBar().setValue(0)
    note, shown = view.results.note, area.viewport()
    qtbot.waitUntil(lambda: shown.rect().contains(note.mapTo(shown, note.rect().center())))
    area.takeWidget()


def test_halves_are_the_two_ends_of_the_volume(compare, qtbot, tmp_path):
    workspace, view = compare
    view.boundary.setValue(9)
    press(qtbot, view.start)
    qtbot.waitUntil((tmp_path / "told.json").exists, timeout=20000)
    qtbot.waitUntil(lambda: (tmp_path / "told.json").stat().st_size > 0, timeout=20000)
    told = json.loads((tmp_path / "told.json").read_text())
    image = np.asarray(workspace.data.image_layer.data)
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


def test_command_names_the_files_that_the_layers_came_from(compare, tmp_path):
    workspace, view = compare
    volumes = small_volumes()
    for role in ("image", "truth", "supervoxels"):
        path = write_volume(
            volumes[role], tmp_path / f"{role}.h5", kind="image" if role == "image" else "labels"
        )
        [layer] = [Layer.create(*parts) for parts in open_layers(str(path))]
        workspace.viewer.add_layer(layer)
        workspace.data.choose(role, layer)
    text = view.command.text.text()
    for role in ("image", "truth", "supervoxels"):
        assert f"--{role} {workspace.data.layer(role).metadata['celis']['source']}" in text
    assert str(tmp_path / "image.h5") in text
    assert "train" not in text, "celis cuts the halves itself"
    assert view.command.note.isHidden()


def test_command_says_what_has_to_be_saved_first(compare, tmp_path):
    workspace, view = compare
    text, note = view.command.text.text(), view.command.note
    assert "--image IMAGE --truth TRUTH --supervoxels SUPERVOXELS" in text
    assert "“image” for IMAGE, “truth” for TRUTH, “supervoxels” for SUPERVOXELS" in note.text()
    assert not note.isHidden()
    workspace.viewer.add_image(np.full((5, 6, 7), 3, np.uint8), name="other image")
    workspace.viewer.add_labels(np.full((5, 6, 7), 4, np.uint8), name="other truth")
    view.train_image.setCurrentText("other image")
    view.train_truth.setCurrentText("other truth")
    assert "“other image” for TRAIN_IMAGE, “other truth” for TRAIN_TRUTH" in note.text()
    workspace.data.choose("truth", None)
    assert note.isHidden(), "something else has to be done first"


def test_failed_comparison_is_said(compare, qtbot):
    workspace, view = compare
    view.boundary.setValue(7)
    run_compare(qtbot, view)
    assert workspace.messages.current.text.startswith("The training truth holds a single object.")
    assert view.results.isHidden()


def test_shallow_volume_is_said(compare, qtbot, monkeypatch):
    workspace, view = compare
    monkeypatch.setattr("napari_celis.pipeline.halves.SHALLOWEST", 32)
    press(qtbot, view.start)
    assert "12 sections, too few" in workspace.messages.current.text
    assert not view.is_busy

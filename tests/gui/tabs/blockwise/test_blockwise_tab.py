"""The tab Blocks: a run in a process of its own, its result as a layer, and a box that is answered."""

from __future__ import annotations

import json
import shutil

import numpy as np
import psutil
import pytest
from napari.components import ViewerModel
from napari.layers import Labels

from gui.conftest import add
from gui.patience import be_patient
from napari_celis.gui.canvas.camera import camera_of
from napari_celis.gui.layers.opening import open_layers
from napari_celis.gui.plugin.panel import CelisPanel
from napari_celis.gui.session.background import celis_process
from napari_celis.gui.session.workspace import Workspace
from napari_celis.gui.tabs.blockwise.blockwise_tab import BlockwiseTab
from napari_celis.io.lazy import LazyArray
from napari_celis.io.volumes import open_volume
from napari_celis.scale.answers import read_answers
from napari_celis.scale.boxes import box_of
from napari_celis.scale.run import BlockRun
from napari_celis.scale.storage import RunStore
from scale.box_world import SHAPE, make_request, run_all, segments_of, workers

STAND_IN = """
import json, pathlib, sys, time
here = pathlib.Path(__file__).parent
words = sys.argv[1:]
(here / "told.json").write_text(json.dumps(words))
with open(words[words.index("--records") + 1], "a") as file:
    figures = {"blocks": 3, "total": 8, "failed": 0, "seconds_left": 125.0}
    file.write(json.dumps({"stage": "contacts", "done": 0.25, "figures": figures}) + "\\n")
print("Dashboard: http://127.0.0.1:8787/status", file=sys.stderr, flush=True)
what = (here / "what").read_text()
if what == "wait":
    time.sleep(600)
if what == "fail":
    sys.exit("celis: 2 blocks failed and are empty in it. Give the same command with --retry-failed.")
"""


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A request whose result is complete."""
    request = make_request(tmp_path_factory.mktemp("finished"))
    with workers() as client:
        run_all(request, client)
    return request


@pytest.fixture
def tab(qtbot):
    """The tab of a viewer without a window."""
    be_patient(qtbot)
    workspace = Workspace.of(ViewerModel())
    tab = BlockwiseTab(workspace)
    qtbot.addWidget(tab)
    tab.show()
    yield tab
    workspace.dispose()


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    """Run a script instead of celis."""
    folder = tmp_path / "stand_in"
    folder.mkdir()
    (folder / "celis.py").write_text(STAND_IN)
    (folder / "what").write_text("end")
    monkeypatch.setattr(celis_process, "PROGRAM", str(folder / "celis.py"))
    return folder


def choose(workspace, request, *roles):
    """Open files as layers, and choose the model."""
    for role in roles:
        [(data, settings, kind)] = open_layers(getattr(request, role))
        workspace.viewer._add_layer_from_data(data, settings, kind)
    workspace.preparation.load_model(request.model)


def use_result(qtbot, tab, request, folder):
    """Point the tab at a copy of a finished result."""
    shutil.copytree(request.output, folder / "copy.zarr")
    tab.form.use_target(str(folder / "copy.zarr"))
    qtbot.waitUntil(lambda: tab.seen is not None)
    return tab.seen.run


# The run.


def test_what_is_chosen_becomes_a_command(tab, qtbot, finished, stand_in, tmp_path):
    choose(tab._workspace, finished, "image", "supervoxels")
    qtbot.waitUntil(lambda: tab._workspace.data.model is not None)
    tab.form.use_target(str(tmp_path / "new"))
    tab.form.workers.value = 3
    assert tab.start.text() == "Start"
    assert "Supervoxels: supervoxels" in tab.data.text()
    with qtbot.waitSignal(tab.process.finished):
        tab.start.click()
    told = json.loads((stand_in / "told.json").read_text())
    expected = ["blockwise", "--output", str(tmp_path / "new.zarr"), "--model", str(finished.model)]
    expected += ["--image", finished.image, "--supervoxels", finished.supervoxels, "--workers", "3"]
    assert told[: len(expected)] == expected
    assert tab.command.text.text() == celis_process.celis_command(expected)

    tab.form.use_supervoxels.value = False
    tab.form.scheduler.value = "tcp://10.0.0.1:8786"
    with qtbot.waitSignal(tab.process.finished):
        tab.start.click()
    told = json.loads((stand_in / "told.json").read_text())
    assert "--supervoxels" not in told
    assert told[-4:-2] == ["--scheduler", "tcp://10.0.0.1:8786"]
    assert "--workers" not in told


def test_progress_is_shown_and_a_run_can_be_stopped(tab, qtbot, finished, stand_in, tmp_path):
    (stand_in / "what").write_text("wait")
    choose(tab._workspace, finished, "image")
    qtbot.waitUntil(lambda: tab._workspace.data.model is not None)
    tab.form.use_target(str(tmp_path / "new.zarr"))
    tab.start.click()
    assert not tab.start.isEnabled()
    assert not tab.form.enabled
    shown = "Contacts: 3 of 8 blocks, 25% of all, about 2 min left …"
    qtbot.waitUntil(lambda: tab.progress.stage.text() == shown)
    qtbot.waitUntil(lambda: tab.run_view.dashboard.isVisible())
    assert "http://127.0.0.1:8787/status" in tab.run_view.dashboard.text()
    with qtbot.waitSignal(tab.process.stopped):
        tab.progress.cancel.click()
    assert tab.log.toPlainText().endswith("Stopped. Finished blocks are kept.")
    assert tab.start.isEnabled()
    assert not tab.run_view.dashboard.isVisible()
    assert not tab.progress.isVisible()


def test_a_real_run_is_stopped_with_its_workers_and_goes_on(tab, qtbot, tmp_path):
    request = make_request(tmp_path)
    choose(tab._workspace, request, "image", "supervoxels")
    qtbot.waitUntil(lambda: tab._workspace.data.model is not None)
    tab.form.use_target(request.output)
    tab.form.workers.value = 1
    with qtbot.waitSignal(tab.process.recorded):
        tab.start.click()
    group = psutil.Process(tab.process.pid)
    started = [group, *group.children(recursive=True)]
    assert len(started) > 1
    with qtbot.waitSignal(tab.process.stopped):
        tab.progress.cancel.click()
    psutil.wait_procs(started, timeout=30)
    assert not any(one.is_running() and one.status() != psutil.STATUS_ZOMBIE for one in started)
    qtbot.waitUntil(lambda: tab.start.text() == "Go on")
    with qtbot.waitSignal(tab.process.ended):
        tab.start.click()
    assert tab._workspace.messages.current.text == ""
    qtbot.waitUntil(lambda: tab.start.text() == "Run again")
    assert tab.log.toPlainText().startswith(f"Wrote {request.output}: ")


def test_failed_blocks_are_told_and_taken_up_again(tab, qtbot, finished, stand_in, tmp_path):
    run = use_result(qtbot, tab, finished, tmp_path)
    assert not tab.run_view.retry.isVisible()
    (stand_in / "what").write_text("fail")
    values = {"error": "The chunk is damaged.", "place": "z 0–11, y 0–19, x 0–19"}
    run.set_failure("decisions", run.grid.block(0), values)
    with qtbot.waitSignal(tab.process.failed):
        tab.start.click()
    assert "press “Retry failed blocks”" in tab._workspace.messages.current.text
    qtbot.waitUntil(lambda: tab.run_view.retry.isVisible())
    assert "z 0–11, y 0–19, x 0–19: The chunk is damaged." in tab.run_view.failed.text()
    with qtbot.waitSignal(tab.process.ended):
        tab.run_view.retry.click()
    assert "--retry-failed" in json.loads((stand_in / "told.json").read_text())


def test_what_cannot_be_started_is_said_in_one_sentence(tab, qtbot, finished, stand_in, tmp_path):
    messages = tab._workspace.messages
    tab.form.use_target(str(tmp_path / "new.zarr"))
    tab.start.click()
    assert messages.current.text == "Choose an image and a model on the tab Data first."
    add(tab._workspace.viewer, "image")
    tab._workspace.preparation.load_model(finished.model)
    qtbot.waitUntil(lambda: tab._workspace.data.model is not None)
    tab.start.click()
    assert "The image layer “image” does not lie in a file" in messages.current.text
    tab.form.use_target(str(tmp_path / "nowhere" / "new.zarr"))
    tab.start.click()
    assert "does not exist" in messages.current.text
    assert not tab.process.is_running
    assert not (stand_in / "told.json").exists()


def test_a_place_with_a_run_is_looked_at(tab, qtbot, finished, tmp_path):
    run = use_result(qtbot, tab, finished, tmp_path)
    assert tab.start.text() == "Run again"
    assert tab.run_view.finished.isVisible()
    assert "supervoxels became" in tab.run_view.finished.text()
    assert not tab.run_view.stages.isVisible()
    assert tab.result.show_layer.isEnabled()
    assert "--block 12 20 20 --halo 4 6 6" in tab.command.text.text()
    shutil.rmtree(run.store.path("celis/done/metadata"))
    tab.form.use_target(str(tmp_path))
    assert tab.start.text() == "Start"
    assert not tab.result.show_layer.isEnabled()
    tab.form.use_target(run.store.url)
    qtbot.waitUntil(lambda: tab.seen is not None)
    assert tab.start.text() == "Go on"
    assert tab.run_view.stages.value("agglomeration") == "6 of 6"
    assert tab.run_view.stages.value("metadata") == "0 of 1"
    assert not tab.result.box.open.isEnabled()


# The result.


def test_a_box_from_the_command_line_names_its_result(tab, qtbot, finished):
    tab._workspace.box.open(finished.output, box_of((0, 12, 5, 30, 5, 45), SHAPE))
    qtbot.waitUntil(lambda: tab._workspace.box.is_active)
    assert tab.form.target() == finished.output
    qtbot.waitUntil(lambda: tab.start.text() == "Run again")
    assert tab.result.box.sentence.text().startswith("The box z 0–11, y 5–29, x 5–44 is open.")


def test_from_start_to_answers_in_a_real_window(make_napari_viewer, qtbot, tmp_path):
    be_patient(qtbot)
    request = make_request(tmp_path)
    viewer = make_napari_viewer(show=True)
    panel = CelisPanel(viewer)
    viewer.window.add_dock_widget(panel, name="CELIS", area="right")
    workspace, tab = panel.workspace, panel.tab("Blocks")
    panel.show_tab("Blocks")
    choose(workspace, request, "image", "supervoxels")
    qtbot.waitUntil(lambda: workspace.data.model is not None)
    tab.form.use_target(request.output)
    tab.form.workers.value = 1
    with qtbot.waitSignal(tab.process.ended):
        tab.start.click()
    assert workspace.messages.current.text == "", tab.log.toPlainText()
    qtbot.waitUntil(lambda: tab.result.show_layer.isEnabled())

    tab.result.show_layer.click()
    qtbot.waitUntil(lambda: tab.result.layer is not None)
    layer = tab.result.layer
    assert isinstance(layer, Labels)
    assert isinstance(layer.data, LazyArray)
    run = BlockRun(RunStore(request.output))
    before = segments_of(run)

    # The box around what is shown: the view is moved to a corner of the volume.
    viewer.dims.set_point(0, 130)
    camera_of(viewer).center = (0.0, 200.0, 890.0)
    tab.result.box.edge.setValue(32)
    tab.result.box.open.click()
    qtbot.waitUntil(lambda: workspace.box.is_active)
    assert workspace.box.opened.name == "z 0–11, y 0–31, x 28–59"
    assert not layer.visible
    engine = workspace.run.engine
    actions, ids, segment = engine.tables.actions, engine.tables.supervoxels.ids, engine.snapshot.segment_ids
    row = np.flatnonzero(segment[actions.u] != segment[actions.v])[0]
    u, v = int(ids[actions.u[row]]), int(ids[actions.v[row]])
    assert before[u] != before[v]
    engine.merge(u, v)
    qtbot.waitUntil(lambda: tab.result.box.write.isEnabled())
    assert tab.result.box.sentence.text().endswith("Not written yet: 1 pair merged.")
    with qtbot.waitSignal(workspace.box.written):
        tab.result.box.write.click()
    assert "Written: 1 pair merged. Press “Run again”" in tab.result.box.sentence.text()
    assert not tab.result.box.write.isEnabled()
    assert len(read_answers(run.store)) == 1

    assert tab.start.text() == "Run again"
    with qtbot.waitSignal(tab.process.ended):
        tab.start.click()
    after = segments_of(run)
    assert after[u] == after[v]
    assert "The result follows your answers now." in tab.result.box.sentence.text()
    qtbot.waitUntil(lambda: "with 1 answer of people" in tab.run_view.finished.text())
    assert (open_volume(request.output).read() > 0).all()

"""The workspace: what is chosen, what is wrong with it, and what runs in the background."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from napari.components import ViewerModel
from qtpy.QtCore import QTimer

from gui.conftest import SHAPE, add
from models.small import small_model
from napari_celis.core.kernels import adjacency, changes, watershed
from napari_celis.gui.canvas.canvas import Canvas
from napari_celis.gui.layers.volume_layers import KINDS
from napari_celis.gui.session.command_line import agglomerate_command
from napari_celis.gui.session.messages import Message
from napari_celis.gui.session.workspace import Workspace
from napari_celis.models import apply
from napari_celis.models.model_file import save_model
from napari_celis.pipeline import stages as recipe_stages


def wait_until_free(qtbot, workspace):
    qtbot.waitUntil(lambda: not workspace.preparation.is_busy, timeout=30_000)


def prepared(qtbot, workspace):
    add(workspace.viewer, *KINDS)
    workspace.data.use_model(small_model())
    wait_until_free(qtbot, workspace)
    with qtbot.waitSignal(workspace.run.changed, timeout=30_000):
        workspace.preparation.prepare()
    return workspace.run.engine


def test_layers_take_their_roles_by_name(qtbot, workspace):
    add(workspace.viewer, "truth", "image", "supervoxels")
    layers = workspace.viewer.layers
    assert workspace.data.image_layer is layers["image"]
    assert workspace.data.supervoxels_layer is layers["supervoxels"]
    assert workspace.data.truth_layer is layers["truth"]
    assert workspace.messages.current == Message(
        "There is no model yet. Choose a bundled one or a file on the tab Data.",
        "",
    )
    wait_until_free(qtbot, workspace)
    assert workspace.data.counted().supervoxels.n == 48
    assert workspace.data.counted().n_actions == 104


def test_a_model_that_is_being_loaded_is_not_said_to_be_missing(qtbot, workspace, tmp_path):
    add(workspace.viewer, "image")
    path = save_model(small_model(), tmp_path / "mine.safetensors")
    workspace.preparation.load_model(path)
    assert workspace.messages.current == Message("The model “mine” is being loaded.", "")
    wait_until_free(qtbot, workspace)
    assert workspace.messages.current == Message()
    assert workspace.data.model_path == path
    assert workspace.data.loading_path is None

    workspace.data.use_model(None)
    workspace.preparation.load_model(tmp_path / "missing.safetensors")
    wait_until_free(qtbot, workspace)
    assert workspace.messages.current.severity == "error"
    assert workspace.data.loading_path is None
    assert not workspace.data.check()
    assert workspace.messages.current.text.startswith("There is no model yet.")


def test_a_model_is_still_being_loaded_when_other_work_fails(qtbot, workspace, tmp_path):
    path = save_model(small_model(), tmp_path / "mine.safetensors")
    is_open = threading.Event()

    def fail(report):
        is_open.wait(30)
        raise ValueError("no")

    workspace.preparation.jobs.start(fail, lambda result: None)
    workspace.preparation.load_model(path)
    seen = []
    workspace.preparation.jobs.failed.connect(lambda sentence: seen.append(workspace.data.loading_path))
    is_open.set()
    qtbot.waitUntil(lambda: workspace.data.model is not None, timeout=30_000)
    assert seen == [path]
    assert workspace.data.loading_path is None


def test_prepare_makes_an_engine_and_a_live_layer(qtbot, workspace):
    engine = prepared(qtbot, workspace)
    layer = Canvas.of(workspace).segmentation.layer
    assert layer in workspace.viewer.layers
    assert not workspace.data.supervoxels_layer.visible
    assert engine.threshold == small_model().threshold
    qtbot.waitUntil(lambda: engine.snapshot.vi_split is not None)
    assert engine.snapshot.vi_split > 0
    assert engine.snapshot.vi_merge == 0
    assert not workspace.is_stale
    engine.step()
    qtbot.waitUntil(lambda: engine.snapshot.n_segments == 47)
    assert len(np.unique(layer.data)) == 47
    assert workspace.run.segment_of(1) == engine.snapshot.segment_ids[1]


def test_affinities_are_computed_once_per_image_and_model(qtbot, workspace, monkeypatch):
    calls = []
    original = apply.affinities_of
    monkeypatch.setattr(apply, "affinities_of", lambda *a, **k: calls.append(1) or original(*a, **k))
    prepared(qtbot, workspace)
    for expected in (1, 2):
        with qtbot.waitSignal(workspace.run.changed, timeout=30_000):
            workspace.preparation.prepare()
        assert len(calls) == expected
        workspace.data.use_model(small_model())
        assert workspace.is_stale


def test_without_supervoxels_they_are_made(qtbot, workspace):
    add(workspace.viewer, "image")
    workspace.data.use_model(small_model())
    workspace.preparation.make_supervoxels()
    wait_until_free(qtbot, workspace)
    made = workspace.data.supervoxels_layer
    assert made.name == "supervoxels"
    np.testing.assert_allclose(made.scale, workspace.data.image_layer.scale)
    assert workspace.data.counted().supervoxels.n == len(np.unique(made.data))


def test_supervoxels_that_do_not_touch_are_explained(qtbot, workspace):
    labels = np.zeros(SHAPE, np.uint8)
    labels[2:4], labels[8:10] = 1, 2
    add(workspace.viewer, "image")
    workspace.viewer.add_labels(labels, name="supervoxels", scale=(10, 10, 10))
    workspace.data.use_model(small_model())
    workspace.preparation.prepare()
    wait_until_free(qtbot, workspace)
    assert workspace.messages.current.text.startswith("No two supervoxels touch")
    assert workspace.run.engine is None


def test_torch_error_while_preparing_reaches_the_user(qtbot, workspace, monkeypatch):
    def broken(*args, **options):
        raise RuntimeError("weights on the moon")

    monkeypatch.setattr(apply, "affinities_of", broken)
    add(workspace.viewer, *KINDS)
    workspace.data.use_model(small_model())
    workspace.preparation.prepare()
    wait_until_free(qtbot, workspace)
    assert "RuntimeError: weights on the moon" in workspace.messages.current.text


def test_preparing_can_be_cancelled(qtbot, workspace, monkeypatch):
    is_open, stages = threading.Event(), []

    def slow(model, image, progress, say):
        is_open.wait(20)
        progress(1, 2)
        pytest.fail("went on after it was cancelled")

    monkeypatch.setattr(apply, "affinities_of", slow)
    workspace.preparation.progressed.connect(lambda progress: stages.append(progress.stage))
    add(workspace.viewer, *KINDS)
    workspace.data.use_model(small_model())
    workspace.preparation.prepare()
    qtbot.waitUntil(lambda: "affinities" in stages)
    workspace.preparation.cancel()
    is_open.set()
    wait_until_free(qtbot, workspace)
    assert workspace.messages.current == Message("Cancelled; nothing was changed.", "warning")
    assert stages[-1] == ""
    assert workspace.run.engine is None


def test_model_is_loaded_from_a_file_and_a_bad_one_explained(qtbot, workspace, tmp_path):
    path = save_model(small_model(), tmp_path / "small.safetensors")
    workspace.preparation.load_model(path)
    wait_until_free(qtbot, workspace)
    assert workspace.data.model_path == path
    assert str(path) in agglomerate_command(workspace)
    wait_until_free(qtbot, workspace)
    workspace.preparation.load_model(tmp_path / "none.safetensors")
    wait_until_free(qtbot, workspace)
    assert "There is no model file" in workspace.messages.current.text
    assert workspace.data.model_path == path


def test_first_run_says_that_it_compiles(qtbot, workspace, monkeypatch):
    stages = []
    monkeypatch.setattr(recipe_stages, "are_compiled", lambda kernels: False)
    workspace.preparation.progressed.connect(lambda progress: stages.append(progress.stage))
    prepared(qtbot, workspace)
    workspace.preparation.make_supervoxels()
    wait_until_free(qtbot, workspace)
    for stage in ("first scores", "counting contacts", "watershed"):
        assert f"{stage} (compiling, first run only)" in stages
    monkeypatch.undo()
    for kernels in (adjacency, changes, watershed):
        assert recipe_stages.are_compiled(kernels)


def test_layers_removed_or_edited_in_mid_run_stop_nothing(qtbot, workspace):
    engine = prepared(qtbot, workspace)
    engine.set_speed(5)
    engine.set_threshold(np.inf)
    engine.run()
    qtbot.waitUntil(lambda: engine.snapshot.is_running)
    layers = workspace.viewer.layers
    layers["supervoxels"].data_setitem((np.array([0]), np.array([0]), np.array([0])), 1)
    assert workspace.messages.current.text.startswith(
        "The supervoxels layer “supervoxels” was edited. The run goes on"
    )
    assert workspace.is_stale
    layers["image"].scale = (5, 5, 5)
    assert workspace.messages.current.text.startswith("The image layer “image” was edited. The run goes on")
    layers.remove("supervoxels")
    assert workspace.messages.current.text.startswith(
        "The supervoxels layer “supervoxels” was removed. The run goes on"
    )
    assert workspace.is_stale
    layers.remove(Canvas.of(workspace).segmentation.layer)
    assert "“Show segmentation”" in workspace.messages.current.text
    n_before = len(engine.snapshot.steps)
    qtbot.waitUntil(lambda: len(engine.snapshot.steps) > n_before)
    Canvas.of(workspace).segmentation.show()
    assert Canvas.of(workspace).segmentation.layer in layers


def test_selection_keeps_two_and_tells_once(qtbot, workspace):
    told = []
    workspace.selection.changed.connect(lambda: told.append(workspace.selection.supervoxels))
    workspace.selection.select(3, 4, 5)
    workspace.selection.select(3, 4)
    workspace.selection.select()
    assert told == [(3, 4), ()]


def test_each_viewer_has_its_own(qtbot, workspace):
    other = Workspace.of(ViewerModel())
    assert other is not workspace
    assert Workspace.of(workspace.viewer) is workspace
    add(other.viewer, "image")
    assert workspace.data.image_layer is None
    other.dispose()
    assert Workspace.of(workspace.viewer) is workspace


def test_dispose_in_mid_preparation_leaves_no_thread(qtbot, workspace):
    add(workspace.viewer, *KINDS)
    workspace.data.use_model(small_model())
    workspace.preparation.prepare()
    workspace.dispose()
    assert not [thread.name for thread in threading.enumerate() if thread.name.startswith("celis")]


def test_what_is_to_be_done_soon_leaves_room_for_events_and_survives_an_error(qtbot, workspace):
    done = []

    def fail():
        raise ValueError("a test")

    for name in ("first", "second"):
        workspace.deferred.add(
            lambda name=name: (done.append(name), QTimer.singleShot(0, lambda: done.append("event")))
        )
    workspace.deferred.add(fail)
    workspace.deferred.add(lambda: done.append("last"))
    assert done == []
    with qtbot.captureExceptions() as errors:
        qtbot.waitUntil(lambda: "last" in done)
    assert [str(error[1]) for error in errors] == ["a test"]
    assert done == ["first", "event", "second", "event", "last"]


def test_a_run_does_not_begin_when_the_engine_was_replaced_meanwhile(qtbot, workspace):
    begun = []
    prepared(qtbot, workspace)
    workspace.preparation.prepare(and_then=begun.append)
    with qtbot.waitSignal(workspace.run.changed, timeout=30_000):
        pass
    workspace.use_engine(None)
    workspace.deferred.add(lambda: begun.append("over"))
    qtbot.waitUntil(lambda: "over" in begun)
    assert begun == ["over"]

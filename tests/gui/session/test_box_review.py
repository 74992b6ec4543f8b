"""Boxes of a block-wise result in the panel: what they begin with, and what goes back."""

import shutil
from dataclasses import replace

import numpy as np
import pytest
from napari.layers import Image, Labels
from numpy.testing import assert_array_equal

from gui.conftest import add
from napari_celis.io.lazy import LazyArray
from napari_celis.scale.answers import read_answers
from napari_celis.scale.boxes import box_of
from napari_celis.scale.honour import Answer
from napari_celis.scale.run import BlockRun
from napari_celis.scale.storage import RunStore
from scale.box_world import SHAPE, make_request, run_all, segments_of, workers

BOX = (0, 12, 5, 30, 5, 45)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    request = make_request(tmp_path_factory.mktemp("finished"))
    with workers() as client:
        run_all(request, client)
    return request


@pytest.fixture
def result(finished, tmp_path):
    """A copy of a finished result."""
    copy = tmp_path / "result.zarr"
    shutil.copytree(finished.output, copy)
    return BlockRun(RunStore(str(copy)))


def open_box(workspace, qtbot, result, numbers=BOX):
    """Open a box and wait for its run."""
    before = workspace.run.engine
    workspace.box.open(result.store.url, box_of(numbers, SHAPE))
    qtbot.waitUntil(lambda: workspace.run.engine not in (None, before))
    return workspace.run.engine


def pairs(engine, is_one):
    """List touching supervoxels that are one, or not."""
    actions, ids, segment = engine.tables.actions, engine.tables.supervoxels.ids, engine.snapshot.segment_ids
    rows = np.flatnonzero((segment[actions.u] == segment[actions.v]) == is_one)
    return [(int(ids[actions.u[row]]), int(ids[actions.v[row]])) for row in rows]


def carry_out(workspace, qtbot, send):
    """Send a command, and wait until the answers that follow from it are known."""
    with qtbot.waitSignal(workspace.run.carried_out):
        send()
    with qtbot.waitSignal(workspace.box.changed):
        pass


def test_a_box_becomes_a_run_that_begins_with_the_result(workspace, qtbot, result):
    engine = open_box(workspace, qtbot, result)
    segments = segments_of(result)
    assert all(segments[u] == segments[v] for u, v in pairs(engine, True))
    assert all(segments[u] != segments[v] for u, v in pairs(engine, False))
    assert engine.threshold == result.settings.threshold
    data = workspace.data
    assert isinstance(data.image_layer, Image)
    assert isinstance(data.image_layer.data, LazyArray)
    assert isinstance(data.supervoxels_layer, Labels)
    assert_array_equal(data.supervoxels_layer.translate, (100, 250, 350))
    assert data.affinities_file is not None
    assert workspace.messages.current.text == ""
    assert workspace.box.is_active
    assert not workspace.is_stale


def test_decisions_wait_until_they_are_written_back(workspace, qtbot, result):
    engine = open_box(workspace, qtbot, result)
    pair = pairs(engine, False)[0]
    carry_out(workspace, qtbot, lambda: engine.keep_apart(*pair))
    assert workspace.box.unwritten == (Answer("keep-apart", *pair),)
    assert read_answers(result.store) == []
    with qtbot.waitSignal(workspace.box.written) as written:
        workspace.box.write()
    assert written.args == [[Answer("keep-apart", *pair)]]
    assert read_answers(result.store) == [Answer("keep-apart", *pair)]
    qtbot.waitUntil(lambda: workspace.box.unwritten == ())


def test_undo_takes_an_answer_back(workspace, qtbot, result):
    engine = open_box(workspace, qtbot, result)
    carry_out(workspace, qtbot, lambda: engine.merge(*pairs(engine, False)[0]))
    assert len(workspace.box.unwritten) == 1
    carry_out(workspace, qtbot, engine.undo)
    assert workspace.box.unwritten == ()


def test_earlier_answers_are_decisions_that_can_be_undone(workspace, qtbot, result):
    engine = open_box(workspace, qtbot, result)
    pair = pairs(engine, False)[0]
    carry_out(workspace, qtbot, lambda: engine.keep_apart(*pair))
    with qtbot.waitSignal(workspace.box.written):
        workspace.box.write()
    engine = open_box(workspace, qtbot, result)
    assert [step.kind for step in engine.snapshot.steps] == ["keep-apart"]
    carry_out(workspace, qtbot, engine.undo)
    assert workspace.box.unwritten == (Answer("withdrawn", *pair),)


def test_another_box_replaces_the_layers_of_the_first(workspace, qtbot, result):
    open_box(workspace, qtbot, result)
    open_box(workspace, qtbot, result, (0, 8, 0, 15, 0, 15))
    names = [layer.name for layer in workspace.viewer.layers]
    assert sorted(names) == ["image of the box", "supervoxels of the box"]
    assert workspace.run.supervoxels.dense.shape == (8, 15, 15)
    assert workspace.box.opened.name == "z 0–7, y 0–14, x 0–14"


def test_other_data_end_the_review(workspace, qtbot, result):
    open_box(workspace, qtbot, result)
    add(workspace.viewer, "image", "supervoxels")
    image, supervoxels = list(workspace.viewer.layers)[-2:]
    workspace.data.use_affinities_file(None)
    workspace.data.choose("image", image)
    workspace.data.choose("supervoxels", supervoxels)
    assert workspace.data.choice().decided.merges == ()
    assert workspace.data.choice().threshold is None
    with qtbot.waitSignal(workspace.preparation.prepared):
        workspace.preparation.prepare()
    assert not workspace.box.is_active
    assert workspace.box.unwritten == ()


def test_painting_on_the_supervoxels_forgets_how_the_box_begins(workspace, qtbot, result):
    open_box(workspace, qtbot, result)
    layer = workspace.data.supervoxels_layer
    layer.data = np.where(layer.data == layer.data[0, 0, 0], layer.data[-1, -1, -1], layer.data)
    assert workspace.data.decided.merges == ()


def test_decisions_of_an_earlier_window_are_offered_for_the_same_box_only(workspace, qtbot, result):
    from napari_celis.gui.session.run_resume import RunResume

    engine = open_box(workspace, qtbot, result)
    carry_out(workspace, qtbot, lambda: engine.merge(*pairs(engine, False)[0]))
    resume = RunResume(workspace)
    open_box(workspace, qtbot, result)
    qtbot.waitUntil(lambda: len(resume.runs) == 1)
    with qtbot.waitSignal(workspace.box.changed):
        resume.resume(resume.runs[0])
    qtbot.waitUntil(lambda: len(workspace.box.unwritten) == 1)
    digest = workspace.data.decided.digest
    # Once the answer is written, the box begins with it: that is another run, whose sessions are others.
    with qtbot.waitSignal(workspace.box.written):
        workspace.box.write()
    open_box(workspace, qtbot, result)
    assert workspace.data.decided.digest != digest


def test_earlier_answers_and_later_decisions_are_resumed_together(workspace, qtbot, result):
    from napari_celis.gui.session.run_resume import RunResume

    engine = open_box(workspace, qtbot, result)
    first, second = pairs(engine, False)[:2]
    carry_out(workspace, qtbot, lambda: engine.keep_apart(*first))
    with qtbot.waitSignal(workspace.box.written):
        workspace.box.write()
    engine = open_box(workspace, qtbot, result)
    carry_out(workspace, qtbot, lambda: engine.keep_apart(*second))
    resume = RunResume(workspace)
    open_box(workspace, qtbot, result)
    qtbot.waitUntil(lambda: len(resume.runs) == 1)
    resume.resume(resume.runs[0])
    qtbot.waitUntil(lambda: workspace.box.unwritten == (Answer("keep-apart", *second),))
    assert [step.kind for step in workspace.run.snapshot.steps] == ["keep-apart", "keep-apart"]
    assert workspace.messages.current.text == ""


def test_a_result_that_is_not_finished_is_refused_in_one_sentence(workspace, qtbot, result):
    shutil.rmtree(result.store.path("celis/done/segments"))
    with qtbot.waitSignal(workspace.messages.changed, check_params_cb=lambda message: bool(message.text)):
        workspace.box.open(result.store.url, box_of(BOX, SHAPE))
    assert "has no segments yet" in workspace.messages.current.text
    assert workspace.run.engine is None


def test_a_result_without_an_image_shows_its_supervoxels(workspace, qtbot, result):
    from napari_celis.scale.boxes import open_box as read_box

    result.settings = replace(result.settings, image=None)
    workspace.box.show(read_box(result, box_of(BOX, SHAPE)))
    qtbot.waitUntil(lambda: workspace.run.engine is not None)
    assert workspace.data.image_layer is None
    assert [layer.name for layer in workspace.viewer.layers] == ["supervoxels of the box"]

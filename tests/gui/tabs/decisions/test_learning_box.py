"""The switches for learning and going on by itself, driven as a user would."""

from __future__ import annotations

import numpy as np
import pytest
from qtpy.QtCore import Qt
from qtpy.QtTest import QTest

from gui.conftest import small_volumes
from models.small import small_model
from napari_celis.core.supervoxels import Supervoxels
from napari_celis.gui.session.engine.engine import Engine
from napari_celis.gui.tabs.decisions.learning_box import LearningBox
from napari_celis.models.apply import affinities_of
from napari_celis.models.model_file import load_model
from napari_celis.pipeline.agglomeration import agglomerator_of

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def box(qtbot, workspace):
    model, volumes = small_model(), small_volumes()
    supervoxels = Supervoxels.from_labels(volumes["supervoxels"].read())
    agglomerator = agglomerator_of(
        model, supervoxels, affinities_of(model, volumes["image"].read()), policy="learned"
    )
    workspace.data.use_model(model)
    engine = Engine(agglomerator, 0.0, learner=model.learner())
    workspace.use_engine(engine, "learned")
    box = LearningBox(workspace)
    qtbot.addWidget(box)
    box.resize(700, 60)
    box.show()
    return box


def pair(engine, action):
    return engine.tables.ids_of(int(action))


def worst(engine):
    """The open merge with the highest score."""
    snapshot = engine.snapshot
    return int(np.where(snapshot.available, snapshot.scores, -np.inf).argmax())


def test_answers_are_learned_from_and_undo_takes_that_back(qtbot, box):
    engine = box._workspace.run.engine
    assert box.learn.isEnabled()
    assert not box.learn.isChecked()
    QTest.mouseClick(box.learn, LEFT, pos=box.learn.rect().center())
    qtbot.waitUntil(lambda: engine.snapshot.is_learning)
    assert box.learned.text() == "0 answers"
    assert not box.save.isEnabled()
    before = engine.snapshot.scores
    engine.not_here(*pair(engine, engine.snapshot.next_action))
    qtbot.waitUntil(lambda: engine.snapshot.n_lessons == 1)
    assert box.learned.text() == "1 answer"
    assert (engine.snapshot.scores != before).any()
    engine.undo()
    qtbot.waitUntil(lambda: engine.snapshot.n_lessons == 0)
    np.testing.assert_array_equal(engine.snapshot.scores, before)


def test_it_goes_on_by_itself_and_takes_that_back_in_one_press(qtbot, box):
    engine = box._workspace.run.engine
    QTest.mouseClick(box.go_on, LEFT, pos=box.go_on.rect().center())
    qtbot.waitUntil(lambda: engine.snapshot.goes_on)
    engine.keep_apart(*pair(engine, worst(engine)))
    qtbot.waitUntil(lambda: engine.snapshot.n_by_itself > 0 and not engine.snapshot.is_running)
    n_merged = engine.snapshot.n_by_itself
    assert box.merged.text() == f"{n_merged:,} merged"
    QTest.mouseClick(box.take_back, LEFT)
    qtbot.waitUntil(lambda: len(engine.snapshot.steps) == 1)
    assert engine.snapshot.steps[0].kind == "keep-apart"
    assert not box.take_back.isEnabled()
    engine.redo()
    qtbot.waitUntil(lambda: engine.snapshot.n_by_itself == n_merged)


def test_what_was_learned_is_saved_as_a_new_model(qtbot, box, tmp_path):
    engine = box._workspace.run.engine
    said = []
    box._workspace.messages.changed.connect(said.append)
    box.save_model(engine, tmp_path / "new.safetensors")
    qtbot.waitUntil(lambda: bool(said))
    assert "Nothing has been learned yet" in said[-1].text
    engine.switch_learning(is_on=True)
    engine.not_here(*pair(engine, engine.snapshot.next_action))
    qtbot.waitUntil(lambda: engine.snapshot.n_lessons == 1)
    box.save_model(engine, tmp_path / "new.safetensors")
    qtbot.waitUntil(lambda: (tmp_path / "new.safetensors").exists() and len(said) > 1)
    model = load_model(tmp_path / "new.safetensors")
    assert (len(model.examples), model.policy, model.figures["answers"]) == (1, "learned", 1)
    assert [entry.name for entry in tmp_path.iterdir()] == ["new.safetensors"]


def test_without_a_run_there_is_nothing_to_switch(qtbot, workspace):
    box = LearningBox(workspace)
    qtbot.addWidget(box)
    assert not box.learn.isEnabled()
    assert not box.go_on.isEnabled()

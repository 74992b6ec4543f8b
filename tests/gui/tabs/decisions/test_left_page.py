"""What is left is told, falls with answers, and comes back with an undo."""

from __future__ import annotations

import pytest
from napari.components import ViewerModel
from napari.layers import Labels

from gui.conftest import block_labels, small_agglomerator
from gui.patience import be_patient
from napari_celis.core.question_list import list_questions
from napari_celis.core.remaining_error import remaining_error
from napari_celis.gui.canvas.canvas import Canvas
from napari_celis.gui.session.engine.engine import Engine
from napari_celis.gui.session.workspace import Workspace
from napari_celis.gui.tabs.decisions.left_page import EMPTY, GUESSED, REACHED, LeftPage


@pytest.fixture
def page(qtbot):
    be_patient(qtbot)
    viewer = ViewerModel()
    viewer.add_layer(Labels(block_labels(), name="supervoxels"))
    workspace = Workspace.of(viewer)
    Canvas.of(workspace)
    page = LeftPage(workspace)
    qtbot.addWidget(page)
    page.show()
    yield page
    workspace.dispose()


def test_the_estimate_follows_answers_and_undo(qtbot, page):
    assert page.sentence.text() == EMPTY
    assert not page.target.isEnabled()
    workspace = page.workspace
    workspace.use_engine(Engine(small_agglomerator(), -0.5, parent=workspace))
    workspace.decisions.order.renew()
    qtbot.waitUntil(lambda: 0 in page.past)
    expected = remaining_error(list_questions(small_agglomerator(), -0.5))
    qtbot.waitUntil(lambda: page.past[0] == pytest.approx(expected.bits))
    assert page.sentence.text().endswith(GUESSED)
    page.target.setValue(0.0)
    assert page.until.text() == f"about {expected.n_questions:,} answers"
    page.target.setValue(99.0)
    assert page.until.text() == REACHED

    workspace.decisions.next_uncertain()
    workspace.decisions.accept()
    workspace.decisions.order.renew()
    qtbot.waitUntil(lambda: 1 in page.past)
    twin = small_agglomerator()
    step = workspace.run.snapshot.steps[0]
    twin.merge(step.u_id, step.v_id)
    expected = remaining_error(list_questions(twin, -0.5))
    qtbot.waitUntil(lambda: page.past[1] == pytest.approx(expected.bits))
    workspace.decisions.undo()
    workspace.decisions.order.renew()
    qtbot.waitUntil(lambda: list(page.past) == [0])

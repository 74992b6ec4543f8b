"""What stands around the tiles of a contact is true of the newest snapshot, whatever was done."""

from __future__ import annotations

import pytest
from napari.layers import Labels

from gui.canvas.test_picking import KEY, press
from gui.conftest import block_labels, small_agglomerator
from gui.patience import be_patient
from napari_celis.gui.canvas.canvas import Canvas
from napari_celis.gui.canvas.contact_header import ASKED, FITTING, HINTS
from napari_celis.gui.session.engine.engine import Engine
from napari_celis.gui.session.standing import Standing
from napari_celis.gui.session.workspace import Workspace


@pytest.fixture
def canvas(make_napari_viewer, qtbot):
    be_patient(qtbot)
    viewer = make_napari_viewer(show=True)
    viewer.window.resize(900, 700)
    viewer.add_layer(Labels(block_labels(), name="supervoxels"))
    workspace = Workspace.of(viewer)
    made = Canvas.of(workspace)
    workspace.use_engine(Engine(small_agglomerator(), -0.5, parent=workspace))
    qtbot.waitUntil(lambda: workspace.decisions.pair.geometry is not None)
    yield made
    workspace.dispose()


def says(canvas, standing):
    """Whether the header asks what fits a standing, and names the keys that fit, as the inspector has it."""
    pane, keys = canvas.contact_view.pane, canvas.keys.choice.keys
    hints = " · ".join(f"<b>{keys[name]}</b> {HINTS[name]}" for name in FITTING[standing])
    return (
        canvas.contact_view.is_shown
        and ASKED[standing] in pane.question.text()
        and pane.keys.text().startswith(f"{hints} &nbsp;")
        and canvas.workspace.decisions.pair.standing is standing
    )


def n_steps(canvas):
    return len(canvas.workspace.run.engine.snapshot.steps)


def test_the_header_follows_undo_redo_and_cuts(canvas, qtbot):
    decisions = canvas.workspace.decisions
    press(canvas, KEY.Key_N)
    action = decisions.pair.action
    assert says(canvas, Standing.OPEN)
    press(canvas, KEY.Key_A)
    qtbot.waitUntil(lambda: n_steps(canvas) == 1)
    press(canvas, KEY.Key_U)
    qtbot.waitUntil(lambda: n_steps(canvas) == 0 and decisions.pair.action == action)
    qtbot.waitUntil(lambda: says(canvas, Standing.OPEN))
    press(canvas, KEY.Key_Y)
    qtbot.waitUntil(lambda: says(canvas, Standing.MERGED))

    press(canvas, KEY.Key_C)
    qtbot.waitUntil(lambda: decisions.cut.plan is not None)
    press(canvas, KEY.Key_Return)
    press(canvas, KEY.Key_W)
    qtbot.waitUntil(lambda: says(canvas, Standing.APART))
    qtbot.waitUntil(lambda: "keeps them apart" in canvas.mouse_mode.help_text)
    # The merge, the cut and what keeps apart: all of it is taken back while the question stays.
    canvas.workspace.run.engine.go_back(1)
    qtbot.waitUntil(lambda: says(canvas, Standing.MERGED))


def test_the_header_says_what_keeps_two_segments_as_they_are(canvas, qtbot):
    workspace, engine = canvas.workspace, canvas.workspace.run.engine
    press(canvas, KEY.Key_N)
    u_id, v_id = workspace.decisions.pair.ids()
    press(canvas, KEY.Key_K)
    qtbot.waitUntil(lambda: says(canvas, Standing.APART))
    engine.allow(u_id, v_id)
    qtbot.waitUntil(lambda: says(canvas, Standing.OPEN))
    engine.mark(u_id, is_done=True)
    qtbot.waitUntil(lambda: says(canvas, Standing.DONE))


def test_the_place_is_that_of_the_list(canvas, qtbot):
    decisions, engine, pane = canvas.workspace.decisions, canvas.workspace.run.engine, None
    press(canvas, KEY.Key_N)
    press(canvas, KEY.Key_N)
    pane, action = canvas.contact_view.pane, decisions.pair.action
    first = decisions.order.open_actions()
    assert pane.place.text() == f"2 of {len(first)}"
    # Elsewhere the first question of the list is answered.
    with qtbot.waitSignal(decisions.order.changed):
        engine.keep_apart(*engine.tables.ids_of(int(first[0])))
    qtbot.waitUntil(lambda: first[0] not in decisions.order.open_actions())
    qtbot.waitUntil(lambda: decisions.order.open_actions().tolist().index(action) == 0)
    qtbot.waitUntil(lambda: pane.place.text() == f"1 of {len(decisions.order.open_actions())}")
    press(canvas, KEY.Key_K)
    qtbot.waitUntil(lambda: pane.place.text() == "")

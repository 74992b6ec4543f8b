"""The preview of earlier states, without a viewer."""

from __future__ import annotations

import numpy as np
import pytest

from gui.conftest import small_agglomerator
from gui.patience import be_patient
from napari_celis.gui.session.engine.engine import Engine
from napari_celis.gui.session.preview import Preview
from napari_celis.gui.session.run import Run


@pytest.fixture
def run(qtbot):
    be_patient(qtbot)
    run = Run()
    run.use(Engine(small_agglomerator(), np.inf))
    yield run
    run.close()


def test_an_earlier_state_is_shown_until_it_is_left_or_undone(qtbot, run):
    preview, shown = Preview(run), []
    preview.recoloured.connect(shown.append)
    run.engine.step(5)
    qtbot.waitUntil(lambda: len(run.snapshot.steps) == 5)
    preview.show(2)
    qtbot.waitUntil(lambda: len(np.unique(shown[-1][1:])) == 46)
    preview.leave()
    assert preview.step is None
    np.testing.assert_array_equal(shown[-1], run.snapshot.segment_ids)

    preview.show(4)
    run.engine.undo(2)
    qtbot.waitUntil(lambda: len(run.snapshot.steps) == 3)
    assert preview.step is None, "the state that was looked at is no more"


def test_without_an_engine_there_is_nothing_to_show(qtbot):
    preview, shown = Preview(Run()), []
    preview.recoloured.connect(shown.append)
    preview.show(3)
    assert (preview.step, shown) == (3, [])


def test_signals_of_the_run_outlast_its_engine(qtbot, run):
    first, told = run.engine, []
    run.advanced.connect(told.append)
    run.use(Engine(small_agglomerator(), np.inf))
    assert first is not run.engine
    run.engine.step()
    qtbot.waitUntil(lambda: bool(told))
    assert told[-1] is run.snapshot

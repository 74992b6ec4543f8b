"""Curves of a training: one stage at a time, each network a line of its own."""

from __future__ import annotations

import numpy as np
import pyqtgraph as pg
import pytest
from napari.components import ViewerModel

from napari_celis.gui.session.background.records import Record
from napari_celis.gui.tabs.train.train_curves import TrainCurves


@pytest.fixture
def curves(qtbot):
    made = TrainCurves(ViewerModel())
    qtbot.addWidget(made)
    return made


def test_stage_chooser_and_curves(curves):
    assert not curves.empty.isHidden()
    for i in range(3):
        curves.add(Record("first", i / 10, 60.0 * i, {"loss": 1.0 - i / 10}))
    curves.add(Record("second", 0.5, 200.0, {"loss": 0.5, "validation_loss": 0.7, "auc": 0.8}))
    assert curves.shown_stage() == "second"
    assert "auc&nbsp;0.8" in curves.legend.text()
    assert len(curves.losses.getPlotItem().listDataItems()) == 2
    assert not curves.figures.isHidden()
    curves.add(Record("third", 0.6, 210.0, {}))
    assert curves.shown_stage() == "second"
    assert curves.losses.sizeHint().height() == curves.losses.minimumHeight()
    before = curves.legend.text()
    curves.losses._viewer.theme = "light"
    assert curves.legend.text() != before, "colours of the values are those of the curves"
    curves.stage.setCurrentText("first")
    [item] = curves.losses.getPlotItem().listDataItems()
    np.testing.assert_allclose(item.getData(), [[0, 1, 2], [1.0, 0.9, 0.8]])
    (left, right), (low, high) = curves.losses.viewRange()
    assert left <= 0 < 2 <= right < 3
    assert 0.7 < low <= 0.8 < 1.0 <= high < 1.1
    assert curves.figures.isHidden()


def test_networks_of_one_stage_have_lines_of_their_own(curves):
    values = [0.7, 0.4, 0.2], [0.8, 0.5], [0.6]
    told = [(f"{number} of 3", loss) for number, losses in enumerate(values, start=1) for loss in losses]
    for i, (network, loss) in enumerate(told):
        auc = {} if network == "3 of 3" else {"auc": 0.9}
        record = Record("energy of small", i / 10, 60.0 * i, {"loss": loss, **auc}, network)
        curves.add(record)
    lines = curves.losses.getPlotItem().listDataItems()
    assert [item.getData()[1].tolist() for item in lines] == [list(losses) for losses in values]
    assert [item.getData()[0].tolist() for item in lines] == [[0, 1, 2], [3, 4], [5]]
    assert len(curves.figures.getPlotItem().listDataItems()) == 2
    marks = [item for item in curves.losses.getPlotItem().items if isinstance(item, pg.InfiniteLine)]
    labels = {mark.value(): mark.label.format for mark in marks}
    assert labels == {0: "1 of 3", 3: "2 of 3", 5: "3 of 3"}


def test_stage_that_begins_again_has_a_line_of_its_own(curves):
    for done, loss in ((0.5, 0.7), (0.6, 0.5), (0.5, 0.8), (0.6, 0.6)):
        curves.add(Record("affinity network 1 of 3", done, 60.0, {"loss": loss}))
        curves.history.take_up()
    lines = curves.losses.getPlotItem().listDataItems()
    assert [item.getData()[1].tolist() for item in lines] == [[0.7, 0.5], [0.8, 0.6]]

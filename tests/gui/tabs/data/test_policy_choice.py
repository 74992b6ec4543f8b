"""A model with two policies: the choice, its threshold and its command, and what scores then mean."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from napari.components import ViewerModel
from napari.layers import Layer

from gui.conftest import asked, small_volumes
from gui.patience import be_patient
from models.small import small_forest, small_model
from napari_celis.core.contact_features import DECISIVE, N_CONTACT_FEATURES
from napari_celis.gui.layers.volume_layers import KINDS, volume_to_layer
from napari_celis.gui.qt.numbers import signed
from napari_celis.gui.session.command_line import agglomerate_command
from napari_celis.gui.session.workspace import Workspace
from napari_celis.gui.tabs.data.data_tab import DataTab
from napari_celis.gui.tabs.decisions.decision_inspector import DecisionInspector
from napari_celis.gui.tabs.decisions.decision_table import ENERGY_CHANGE, DecisionTable
from napari_celis.gui.tabs.decisions.decisions_tab import parts_of_all
from napari_celis.models.policy import PolicyClassifier


@pytest.fixture
def model():
    rng = np.random.default_rng(0)
    n = len(DECISIVE) + len(small_model().specs)
    classifier = PolicyClassifier(
        np.zeros(n), np.ones(n), rng.normal(size=n), np.zeros(1), small_forest(N_CONTACT_FEATURES)
    )
    thresholds = {"energy": -0.5, "learned": 2.25}
    return dataclasses.replace(small_model(), classifier=classifier, policy="learned", thresholds=thresholds)


@pytest.fixture
def workspace(qtbot):
    workspace = Workspace.of(ViewerModel())
    yield workspace
    workspace.dispose()


def choose(combo, name):
    combo.setCurrentIndex(combo.findData(name))
    combo.activated.emit(combo.currentIndex())


def test_policy_decides_scores_threshold_and_command(qtbot, workspace, model):
    be_patient(qtbot)
    tab, inspector = DataTab(workspace), DecisionInspector(workspace)
    for widget in (tab, inspector):
        qtbot.addWidget(widget)
        widget.show()
    for role, volume in small_volumes().items():
        workspace.viewer.add_layer(Layer.create(*volume_to_layer(volume, KINDS[role])))
    workspace.data.use_model(small_model())
    assert tab.policy.isHidden()
    assert "--policy" not in tab.command.text.text()

    workspace.data.use_model(model)
    assert not tab.policy.isHidden()
    assert tab.policy.currentData() == "learned"
    assert tab.model_figures.value("Threshold") == "+2.250"
    engine = prepared(qtbot, workspace)
    assert engine.threshold == 2.25
    assert "--policy learned --threshold 2.25" in agglomerate_command(workspace)
    assert not np.allclose(
        engine.snapshot.scores,
        asked(qtbot, engine, lambda a: a.scoring.energy_changes()),
    )

    # The inspector shows what the policy says, and what it makes of contact and energies.
    decisions = inspector.decisions
    decisions.inspect(5)
    qtbot.waitUntil(lambda: bool(decisions.pair.parts))
    assert inspector.score.text() == signed(engine.snapshot.scores[5])
    assert "speaks against this merge" in inspector.meaning.text()
    assert list(decisions.pair.parts) == [
        "membrane",
        "contact size",
        "shared surface",
        "shape small",
        "whole contact",
        "base rate",
    ]
    assert sum(decisions.pair.parts.values()) == pytest.approx(engine.snapshot.scores[5])
    assert not inspector.meaning.isHidden()
    parts = asked(qtbot, engine, lambda agglomerator: parts_of_all(agglomerator, with_sum=True))
    assert list(parts) == [ENERGY_CHANGE, "small"]
    np.testing.assert_allclose(parts[ENERGY_CHANGE], parts["small"])

    choose(tab.policy, "energy")
    assert workspace.is_stale
    assert tab.model_figures.value("Threshold") == "−0.500"
    assert agglomerate_command(workspace).endswith("--policy energy -o segmentation.zarr")
    engine = prepared(qtbot, workspace)
    assert not workspace.is_stale
    assert "--policy energy --threshold -0.5" in agglomerate_command(workspace)
    np.testing.assert_allclose(
        engine.snapshot.scores,
        asked(qtbot, engine, lambda a: a.scoring.energy_changes()),
    )
    decisions.inspect(5)
    assert not inspector.score.isHidden()
    assert inspector.meaning.isHidden()


def prepared(qtbot, workspace):
    qtbot.waitUntil(lambda: not workspace.preparation.is_busy)
    with qtbot.waitSignal(workspace.run.changed):
        workspace.preparation.prepare()
    return workspace.run.engine


def test_the_sum_has_an_explanation_of_its_own(qtbot):
    table = DecisionTable()
    table._part_names = (ENERGY_CHANGE, "near")
    tips = dict(table._new_headers())
    assert tips[ENERGY_CHANGE].startswith("Energy change of the merge")
    assert tips["near"].endswith("descriptor spec near")

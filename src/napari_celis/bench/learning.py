"""How long it takes to learn from one more answer: refit, and new scores of every contact."""

from __future__ import annotations

import time

import numpy as np

from napari_celis.bench.agglomeration import BenchData, Figures, random_network_energy
from napari_celis.core.actions import ActionTable
from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.contacts import measure_contacts
from napari_celis.core.policy import LearnedPolicy
from napari_celis.core.supervoxels import Supervoxels

N_ANSWERS, N_TIMED = 500, 40
"""Answers that stand at the end, and the last of them, which are timed."""


def measure_refit(data: BenchData) -> Figures:
    """Give answers about random contacts, with the policy of the bundled phantom model."""
    from napari_celis.io.samples import bundled_models
    from napari_celis.models.examples import MOST_EXAMPLES, PolicyRows
    from napari_celis.models.model_file import load_model
    from napari_celis.models.refit import Refit

    model = load_model(bundled_models()["phantom"])
    assert model.classifier is not None
    rng = np.random.default_rng(0)
    rows = model.examples
    if rows is None or len(rows) < MOST_EXAMPLES:
        # What they say does not matter for the time, only how many there are.
        shape = MOST_EXAMPLES, model.classifier.n_features
        rows = PolicyRows.of(
            rng.normal(size=shape), rng.normal(size=shape[0]), rng.random(shape[0]) < 0.5, np.ones(shape[0])
        )
    supervoxels = Supervoxels.from_labels(data.supervoxels)
    actions = ActionTable.from_supervoxels(supervoxels)
    affinities = rng.random((3, *supervoxels.dense.shape), dtype=np.float32)
    policy = LearnedPolicy(model.classifier, measure_contacts(supervoxels, actions, affinities))
    energy = random_network_energy(supervoxels.dense.shape, model.specs)
    with Agglomerator(supervoxels, model.specs, energy, policy=policy, actions=actions) as agglomerator:
        agglomerator.learn(Refit(model.classifier, rows))
        asked = rng.permutation(len(actions))[:N_ANSWERS]
        seconds = []
        for number, action in enumerate(asked):
            pair = int(supervoxels.ids[actions.u[action]]), int(supervoxels.ids[actions.v[action]])
            (agglomerator.not_here if number % 3 else agglomerator.keep_apart)(*pair)
            if number >= len(asked) - N_TIMED:
                begin = time.perf_counter()
                agglomerator.scores()
                seconds.append(time.perf_counter() - begin)
    return {
        "refit_p95_ms": float(1000 * np.percentile(seconds, 95)),
        "refit_answers": len(asked),
        "refit_contacts": len(actions),
    }

"""CELIS as one line of the comparison: the hierarchy is the agglomerator's own run."""

import numpy as np

from core.problems import random_labels
from models.small import small_model
from napari_celis.baselines.celis import Celis
from napari_celis.baselines.problem import Problem
from napari_celis.core.agglomerator import Agglomerator
from napari_celis.models.apply import energy_of


def test_the_threshold_is_the_models_and_the_segments_are_those_of_a_run():
    rng = np.random.default_rng(1)
    labels = random_labels(rng, (12, 12, 12), 15, 0.0)
    affinities = rng.random((3, 12, 12, 12), dtype=np.float32)
    problem, model = Problem.from_labels(labels, affinities, truth=labels), small_model()
    method = Celis(model, "energy")
    assert method.fit(problem) == -0.5
    hierarchy = method.sweep(problem)
    with Agglomerator(problem.supervoxels, model.specs, energy_of(model, affinities)) as agglomerator:
        assert len(list(agglomerator.steps(-0.5))) == hierarchy.n_merges(-0.5) > 0
        expected = agglomerator.segment_ids()
    segments = problem.supervoxels.ids[hierarchy.segments(-0.5)]
    pairs = {(int(a), int(b)) for a, b in zip(segments, expected, strict=True)}
    assert len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})

"""A second round of training, along the model's own runs, ends with a model that can be used."""

import numpy as np
import pytest

from models.small import cut_into_pieces
from napari_celis.core.segment_graph import SegmentGraph
from napari_celis.core.supervoxels import Supervoxels
from napari_celis.evaluation.contingency import contingency_table
from napari_celis.evaluation.expert import expert_steps
from napari_celis.evaluation.metrics import score
from napari_celis.models.apply import affinities_of
from napari_celis.models.model_file import load_model, save_model
from napari_celis.pipeline.agglomeration import agglomerator_of
from napari_celis.synthetic.phantom import PhantomSettings, make_phantom
from napari_celis.training import energy_stage, policy_stage
from napari_celis.training.pipeline import AnnotatedVolume, TrainSettings, train_model

pytestmark = pytest.mark.usefixtures("one_thread")

SETTINGS = TrainSettings(minutes=1e-4, second_round=True)
"""So little time is one step or epoch of everything, on every machine."""


@pytest.fixture(scope="module")
def volumes():
    phantom = make_phantom(PhantomSettings(shape_zyx=(40, 36, 36), seed=3))
    return phantom.image, phantom.truth, cut_into_pieces(phantom.truth, size=10)


@pytest.fixture(scope="module")
def trained(volumes, tmp_path_factory):
    """The model, read back from its file, the records, and what the stages were given."""
    seen = {"views": [], "expert": [], "own_mistakes": []}

    def sampled(*arguments, **options):
        _, supervoxels, actions, overlaps, states = arguments
        seen["views"].append([int(taken.sum()) for taken in states])
        graph = SegmentGraph(actions, supervoxels.sizes)
        order = {step.action_index for step in expert_steps(graph, overlaps)}
        seen["expert"].append(set(np.flatnonzero(states[-1]).tolist()) <= order)
        return sample(*arguments, **options)

    def visited(*arguments, **options):
        seen["own_mistakes"].append(options["own_mistakes"])
        return visit(*arguments, **options)

    sample, visit = energy_stage.sample_examples, policy_stage.visit
    records = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(energy_stage, "sample_examples", sampled)
        patch.setattr(policy_stage, "visit", visited)
        training = train_model([AnnotatedVolume(*volumes)], (10.0, 10.0, 10.0), SETTINGS)
        try:
            while True:
                records.append(next(training))
        except StopIteration as end:
            model = end.value.model
    path = save_model(model, tmp_path_factory.mktemp("model") / "model.safetensors")
    return load_model(path), records, seen


def test_energies_learn_twice_and_the_policy_along_runs(trained):
    model, records, seen = trained
    stages = list(dict.fromkeys(record.stage for record in records))
    rounds = [f"{name} {spec.name}" for name in ("energy of", "second energy of") for spec in model.specs]
    assert [stage for stage in stages if "energy of " in stage] == rounds
    done = [record.done for record in records]
    assert done == sorted(done)
    # Both slabs with both kinds of supervoxels, per spec: what the expert does, then states of own runs.
    n_specs = len(model.specs)
    assert [len(states) for states in seen["views"]] == [2] * 4 * n_specs + [2, 2, 3, 3] * 2 * n_specs
    assert seen["own_mistakes"] == [False] * 4 + [True] * 4


def test_states_lie_along_the_own_runs(trained):
    _, _, seen = trained
    own = [states for states in seen["views"] if len(states) == 3]
    assert seen["expert"] == [len(states) == 2 for states in seen["views"]]
    assert any(last > 0 for _, _, last in own)
    for middle, late, last in own:
        assert (middle, late) == (round(0.5 * last), round(0.8 * last))


def test_the_model_agglomerates(trained, volumes):
    model, _, _ = trained
    image, truth, pieces = volumes
    affinities = affinities_of(model, image)
    with agglomerator_of(model, Supervoxels.from_labels(pieces), affinities) as agglomerator:
        n_before = agglomerator.n_segments
        steps = list(agglomerator.steps(model.threshold))
        after = agglomerator.labels()
    assert sum(step.joins_segments for step in steps) == n_before - len(np.unique(after)) > 0
    before, found = (score(contingency_table(labels, truth)) for labels in (pieces, after))
    assert found.vi < before.vi

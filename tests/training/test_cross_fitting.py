"""Nothing is predicted, judged or chosen by what was learned in the same place."""

from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest
import torch

from core.problems import random_labels
from napari_celis.core.contact_features import DECISIVE
from napari_celis.core.descriptors import sample_spec
from napari_celis.training import affinity_stage, energy_stage, policy_stage, shape_stage
from napari_celis.training.affinity_settings import AffinityTraining
from napari_celis.training.affinity_stage import AffinityPlan, cross_fitted_affinities
from napari_celis.training.annotated import AnnotatedVolume, Piece
from napari_celis.training.checkpoint import Checkpoint
from napari_celis.training.energy_stage import Energies, EnergyPlan, View, fit_energies
from napari_celis.training.folds import Slab
from napari_celis.training.pipeline import TrainSettings
from napari_celis.training.policy import PolicyExamples
from napari_celis.training.policy_stage import fit_policy
from napari_celis.training.records import TrainRecord
from napari_celis.training.threshold import Curve

HALO = 2


def result_of(records, told=None):
    """Run a stage to its end; `told` takes what it told."""
    told = [] if told is None else told
    while True:
        try:
            told.append(next(records))
        except StopIteration as end:
            return end.value


def sections(first, last):
    """A volume whose voxels hold the number of their section."""
    numbers = np.arange(first, last + 1, dtype=np.uint8)
    return np.broadcast_to(numbers[:, None, None], (len(numbers), 4, 5))


def numbers_of(volumes):
    return frozenset(int(z) for image, truth in volumes for z in np.unique([image, truth]))


class FakeTrainer:
    """Remembers the sections it was given."""

    is_satisfied = False

    def __init__(self, volumes, settings, *, seed, validation, device):
        assert (seed, device) == (5, "cpu")
        self.seen, judged_by = numbers_of(volumes), numbers_of(validation)
        assert judged_by
        assert not self.seen & judged_by

    def run(self, steps):
        self.step = self.best_step = steps
        yield SimpleNamespace(step=steps, loss=0.5, figures=None)

    def result(self):
        intensity = SimpleNamespace(intensity=(15.0, 9.0))
        return SimpleNamespace(seen=self.seen, halo_zyx=(HALO, 0, 0), settings=intensity)


def test_every_fold_is_predicted_by_the_network_of_the_other_one(monkeypatch):
    asked = []

    def predict(net, image, symmetries):
        """Answer with the section itself, and whether the network was trained on it."""
        own = image[:, 0, 0].tolist()
        asked.append((net.seen, own))
        found = np.array([[z, z in net.seen, min(net.seen)] for z in own], dtype=np.float32)
        return np.broadcast_to(found.T[:, :, None, None], (3, *image.shape))

    monkeypatch.setattr(affinity_stage, "AffinityTrainer", FakeTrainer)
    monkeypatch.setattr(affinity_stage, "to_tensors", lambda _: ({}, {}))
    monkeypatch.setattr(affinity_stage, "predict_averaged", predict)
    monkeypatch.setattr(affinity_stage, "in_known_range", lambda image, *_: image)
    volumes = [AnnotatedVolume(own, own) for own in (sections(1, 9), sections(20, 23))]
    folds = (Piece(0, 0, 4),), (Piece(0, 4, 9), Piece(1, 0, 4))
    plan = AffinityPlan(AffinityTraining(), 40, 5, "cpu")
    checkpoint = Checkpoint(None, "", resume=False)
    affinities, endings = result_of(cross_fitted_affinities(volumes, folds, plan, checkpoint))
    assert endings == 2 * [{"steps": 40, "best_step": 40, "ended": "time"}]
    for one, (section, was_seen, first_seen) in zip(volumes, affinities, strict=True):
        np.testing.assert_array_equal(section, one.image)
        assert not was_seen.any()
        np.testing.assert_array_equal(first_seen, np.where(one.image <= 4, 5, 1))
    # Around a piece the network sees a halo, as it would inside a larger volume.
    others = frozenset([*range(5, 10), *range(20, 24)])
    assert asked == [
        (others, list(range(1, 5 + HALO))),
        (frozenset(range(1, 5)), list(range(5 - HALO, 10))),
        (frozenset(range(1, 5)), list(range(20, 24))),
    ]


@pytest.fixture(scope="module")
def slabs():
    """Two slabs that can be told apart by their affinities."""
    rng = np.random.default_rng(2)
    parts = []
    for value in (0.25, 0.75):
        labels = random_labels(rng, (6, 7, 8), 12, 0.0)
        truth = random_labels(rng, labels.shape, 3, 0.0)
        parts.append(Slab(labels, truth, np.full((3, *labels.shape), value, np.float32)))
    return tuple(parts)


def test_energies_are_judged_on_the_other_slab(slabs, monkeypatch):
    runs = []

    def train(name, network, fit, features, held_out, held_out_features, settings, device, *, keep_best=True):
        values = [
            set(np.unique(own.layout[examples.centres]).tolist())
            for examples, own in ((fit, features), (held_out, held_out_features))
        ]
        runs.append((*values, keep_best))
        with torch.no_grad():
            network.output.bias.fill_(len(runs))
        yield SimpleNamespace(epoch=0, loss=0.0, validation_loss=1.0, validation_auc=len(runs))

    monkeypatch.setattr(energy_stage, "train_energy", train)
    monkeypatch.setattr(energy_stage, "_cost_of_example", lambda *_: 1.0)
    rng = np.random.default_rng(0)
    specs = [sample_spec(name, "pairwise", (3, 3, 3), rng=rng, k=20) for name in ("a", "b")]
    views = tuple([View(slab.upright, slab.upright.expert_states((0.0, 0.5)))] for slab in slabs)
    plan = EnergyPlan("fast", examples=200, power=0.5, seconds=1.0, seed=0)
    checkpoint = Checkpoint(None, "", resume=False)
    told = []
    energies = result_of(fit_energies(specs, views, plan, checkpoint, torch.device("cpu")), told)
    named = [(record.stage, record.network) for record in told if record.figures]
    assert named == [(f"energy of {name}", f"{n} of 3") for name in ("a", "b") for n in (1, 2, 3)]
    first, second = {0.25}, {0.75}
    of_spec = [(first, second, True), (second, first, True)]
    assert [runs[i] for i in (0, 1, 3, 4)] == 2 * of_spec
    for fitted, _, keep_best in (runs[2], runs[5]):
        # Nothing is left to judge by, so nothing is chosen.
        assert (fitted, keep_best) == (first | second, False)
    marks = [[int(n.output.bias) for n in own] for own in (*energies.of_slab, energies.of_both)]
    assert marks == [[1, 4], [2, 5], [3, 6]]
    assert energies.auc == {"a": [1, 2], "b": [4, 5]}


class FakeJudged:
    """A place, what judges it, and examples that tell where they are from."""

    def __init__(self, name, scorers=None):
        self.name, self.scorers = name, [] if scorers is None else scorers

    def first_examples(self):
        named = np.full((3, 1), self.name, np.float32)
        return PolicyExamples(named, named, np.array([-1.0, 1.0, 1.0]))

    def visited(self, scorer, *, own_mistakes, most):
        self.scorers.append((scorer, own_mistakes))
        return self.first_examples()


class Origins(NamedTuple):
    """Stands for a policy: where its examples are from, and how many there are."""

    places: frozenset
    n: int

    def to_tensors(self):
        return {}

    def contact_odds(self, contacts):
        """Say who was asked, and from where the question came."""
        assert len(self.places) == 1
        return 10.0 * next(iter(self.places)) + contacts[:, 0]

    def forest_odds(self, features, odds):
        return odds


@pytest.mark.parametrize("along_runs", [False, True])
def test_each_slab_is_visited_by_the_policy_of_the_other_one(monkeypatch, along_runs):
    def origins(examples, power, seed, *, second):
        assert (power, seed, second) == (0.5, 7, False)
        return Origins(frozenset(np.unique(examples.features).astype(int).tolist()), len(examples.change))

    monkeypatch.setattr(policy_stage, "fit_classifier", origins)
    judged = FakeJudged(1), FakeJudged(2)
    checkpoint = Checkpoint(None, "", resume=False)
    folds = [judged[0]], [judged[1]]
    fitted = result_of(fit_policy(folds, 0.5, 100, checkpoint, along_runs=along_runs, seed=7))
    classifier, own = fitted.both, fitted.own
    n = 9 if along_runs else 3
    assert classifier == (frozenset({1, 2}), 2 * n)
    assert own == [(frozenset({1}), n), (frozenset({2}), n)]
    for one, other in (judged, judged[::-1]):
        wanted = [((frozenset({other.name}), 3), False), ((frozenset({other.name}), 6), True)]
        assert one.scorers == (wanted if along_runs else [])
    # What the model keeps about each slab was said by the forest of the other.
    assert set(fitted.examples.odds.tolist()) == {12.0, 21.0}
    assert len(fitted.examples) == 2 * n


@pytest.mark.parametrize("is_old", [False, True], ids=["with examples", "from before"])
def test_policies_are_taken_up_with_their_examples(tmp_path, is_old):
    rng = np.random.default_rng(0)

    class Judged:
        def first_examples(self):
            features = rng.normal(size=(40, len(DECISIVE) + 1)).astype(np.float32)
            return PolicyExamples(features, features, rng.choice([-1.0, 1.0], 40))

    folds = [Judged()], [Judged()]
    checkpoint = Checkpoint(tmp_path / "kept", "x", resume=False)
    first = result_of(fit_policy(folds, 0.5, 100, checkpoint, along_runs=False, seed=7))
    if is_old:
        tensors, facts = checkpoint.load("policy")
        old = {name: one for name, one in tensors.items() if "shares" not in name and "examples." not in name}
        checkpoint.keep("policy", old, facts)
    again = result_of(fit_policy(folds, 0.5, 100, checkpoint, along_runs=False, seed=7))
    np.testing.assert_array_equal(again.both.weights, first.both.weights)
    assert len(again.examples) == len(first.examples) == 80
    is_equal = np.array_equal(again.examples.features, first.examples.features)
    assert is_equal != is_old


@pytest.mark.parametrize("size", [12, 24], ids=["whole slabs", "quarters"])
def test_thresholds_are_chosen_by_what_never_saw_the_place(monkeypatch, size):
    """Energies and policies are names here; only who meets whom is looked at."""
    made, run, fitted = [], [], []

    class Recorder(policy_stage.Judged):
        def __init__(self, *arguments, **more):
            super().__init__(*arguments, **more)
            made.append((self.place, self.networks))

        @property
        def place(self):
            return int(self.slab.truth.max())

        def first_sums(self):
            return np.zeros((len(self.specs), 1, 2)), np.ones(1)

    def curves(pairs, stage, checkpoint):
        run.append([(one.place, one.networks, one.slab.truth.shape, scorer) for one, scorer in pairs])
        yield TrainRecord(stage, 0.0)
        return [Curve(np.array([-np.inf, -1.0]), np.array([0.0, -float(one.place)])) for one, _ in pairs]

    def fit(judged, *_, **__):
        fitted.append([[(one.place, one.networks) for one in fold] for fold in judged])
        yield TrainRecord("policy", 0.0)
        return policy_stage.FittedPolicies("policy of both", ["policy of 1", "policy of 2"], "examples")

    for name, fake in (("Judged", Recorder), ("run_curves", curves), ("fit_policy", fit)):
        monkeypatch.setattr(shape_stage, name, fake)
    labels = np.ones((9, size, size), np.uint64)
    # The second fold has two slabs.
    slabs = [Slab(labels, place * labels, np.zeros((3, *labels.shape), np.float32)) for place in (1, 2, 3)]
    rng = np.random.default_rng(0)
    specs = (sample_spec("a", "pairwise", (9, 9, 9), rng=rng, k=8),)
    checkpoint = Checkpoint(None, "", resume=False)
    stage = shape_stage.ShapeStage(
        TrainSettings(minutes=0.1), specs, (10.0,) * 3, checkpoint, torch.device("cpu")
    )
    energies = Energies(("energies of 1", "energies of 2"), "energies of both", {})
    found = result_of(stage.policies((slabs[:1], slabs[1:]), energies))
    strangers = {1: "energies of 2", 2: "energies of 1", 3: "energies of 1"}
    assert {place for place, _ in made} == {1, 2, 3}
    assert all(networks == strangers[place] for place, networks in made)
    assert fitted == [[[(1, strangers[1])], [(2, strangers[2]), (3, strangers[3])]]]
    shape, n = (9, 12, 12), 4 if size == 24 else 1
    by_energy, by_policy = run
    assert by_energy == [(place, strangers[place], shape, None) for place in (1, 2, 3) for _ in range(n)]
    other = {1: "policy of 2", 2: "policy of 1", 3: "policy of 1"}
    assert by_policy == [(p, strangers[p], shape, other[p]) for p in (1, 2, 3) for _ in range(n)]
    assert (found.classifier, found.examples) == ("policy of both", "examples")
    assert found.changes == {policy: [[-1.0], [-2.0, -3.0]] for policy in ("energy", "learned")}

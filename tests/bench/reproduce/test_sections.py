"""Every section on tiny data: its numbers equal direct computation, and its words can be written."""

import numpy as np
import pytest
import torch

from bench.reproduce.tiny import EXTENT, bundled_model
from napari_celis.baselines.simple import MeanAffinity
from napari_celis.bench.paper_cost import PaperCosts, StandInEnergy
from napari_celis.bench.proofreading import SimulatedPerson
from napari_celis.bench.reproduce import (
    accuracy,
    learning_curve,
    networks,
    proofreading_curve,
    pruning,
    subvolumes,
    time_shares,
)
from napari_celis.bench.reproduce.section import Picture, Table, percent
from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.descriptors import paper_specs
from napari_celis.core.policy import EnergyPolicy
from napari_celis.core.presets import preset_specs
from napari_celis.core.supervoxels import Supervoxels
from napari_celis.evaluation.overlaps import overlap
from napari_celis.models.affinity import affinity_settings, build_affinity_net
from napari_celis.models.apply import energy_of
from napari_celis.pipeline.agglomeration import agglomerator_of
from napari_celis.pipeline.stages import silent
from napari_celis.training.energy_stage import EnergyPlan
from napari_celis.training.policy import PolicyExamples
from napari_celis.training.policy_stage import Judged
from reference.metrics import conditional_entropy, pair_counts


def vi(labels, truth):
    """Variation of information in bits, by its definition."""
    counts = pair_counts(labels, truth)
    return sum(sum(conditional_entropy(counts, given).values()) for given in (0, 1))


def written(section, numbers):
    """The blocks of a section; tables are as wide as their headings."""
    blocks = section.describe(numbers)
    for table in (block for block in blocks if isinstance(block, Table)):
        assert {len(row) for row in table.rows} == {len(table.heading)}
        assert not table.groups or sum(n for _, n in table.groups) == len(table.heading)
        assert all(row < len(table.rows) and column < len(table.heading) for row, column in table.best)
    assert all(b"<svg" in block.svg for block in blocks if isinstance(block, Picture))
    for finding in section.summarise(numbers):
        assert finding.what
        assert finding.paper
        assert finding.here
    return blocks


def greedy(problem, policy, threshold):
    """Labels after a greedy run of the bundled model."""
    with agglomerator_of(
        bundled_model(), problem.supervoxels, problem.affinities, actions=problem.actions, policy=policy
    ) as agglomerator:
        for _ in agglomerator.steps(threshold):
            pass
        return agglomerator.labels()


def test_accuracy(experiment):
    numbers = accuracy.measure(experiment, silent)
    test, methods = experiment.test, numbers["methods"]
    assert {"forest", "mean_affinity", "watershed", "celis_energy", "celis_learned", "oracle"} <= set(methods)
    assert methods["none"]["vi"] == pytest.approx(vi(test.supervoxels.dense, test.truth))
    mean = MeanAffinity()
    labels = mean.sweep(test).labels(mean.fit(experiment.train))
    assert methods["mean_affinity"]["vi"] == pytest.approx(vi(labels, test.truth))
    for policy in ("energy", "learned"):
        labels = greedy(test, policy, bundled_model().thresholds[policy])
        assert methods[f"celis_{policy}"]["vi"] == pytest.approx(vi(labels, test.truth))
    assert numbers["objects"] == len(np.unique(test.truth))
    assert len(written(accuracy.SECTION, numbers)) >= 4


def test_the_best_of_the_table_is_bold(experiment):
    table = next(
        block for block in accuracy.describe(accuracy.measure(experiment, silent)) if isinstance(block, Table)
    )
    row = {column: row for row, column in table.best}[1]
    values = [float(cells[1]) for cells in table.rows[:-1]]
    assert table.rows[-1][0] == "oracle"
    assert values[row] == min(values)


def test_subvolumes_cover_the_volume_once():
    seen = np.zeros((31, 48, 97), dtype=int)
    boxes = subvolumes.cut(seen.shape, 20, 3)
    for box in boxes:
        seen[box] += 1
    assert (seen == 1).all()
    assert len(boxes) == 1 * 2 * 3
    assert min(min(seen[box].shape) for box in boxes) >= 20


def test_subvolumes(experiment):
    numbers = subvolumes.measure(experiment, silent)
    found = numbers["subvolumes"]
    assert len(found) + numbers["left_out"] == 1 * 2 * 2
    whole = experiment.test
    for one in found[:2]:
        box = tuple(slice(a, a + n) for a, n in zip(one["corner_zyx"], one["shape_zyx"], strict=True))
        part = subvolumes.part_of(whole, box)
        truth = whole.truth[box]
        labels = greedy(part, "learned", bundled_model().thresholds["learned"])
        assert one["methods"]["celis_learned"]["vi"] == pytest.approx(vi(labels, truth))
        mean = MeanAffinity()
        labels = mean.sweep(part).labels(mean.fit(experiment.train))
        assert one["methods"]["mean_affinity"]["vi"] == pytest.approx(vi(labels, truth))
    shares = [1 - one["methods"]["celis_energy"]["vi"] / one["methods"]["forest"]["vi"] for one in found]
    assert numbers["improvement"]["celis_energy"]["forest"]["vi"] == pytest.approx(np.median(shares))
    written(subvolumes.SECTION, numbers)


def test_medians_by_hand():
    found = [
        {"a": {"vi": 0.5, "rand_f1": 0.9}, "b": {"vi": 1.0, "rand_f1": 0.8}},
        {"a": {"vi": 1.0, "rand_f1": 0.8}, "b": {"vi": 1.0, "rand_f1": 0.8}},
        {"a": {"vi": 1.2, "rand_f1": 0.7}, "b": {"vi": 1.0, "rand_f1": 0.8}},
        {"a": {"vi": 0.0, "rand_f1": 1.0}, "b": {"vi": 0.0, "rand_f1": 1.0}},
    ]
    assert subvolumes.medians(found[:3], "a", "b") == {"vi": 0.0, "rand_f1": 0.0, "better": 1, "equal": 1}
    assert subvolumes.medians(found[:1], "a", "b") == pytest.approx(
        {"vi": 0.5, "rand_f1": 0.5, "better": 1, "equal": 0}
    )
    assert subvolumes.medians(found[3:], "a", "b") == {"vi": 0.0, "rand_f1": 0.0, "better": 0, "equal": 1}


def test_pruning(experiment):
    numbers = pruning.measure(experiment, silent)
    labels = experiment.test.supervoxels.dense[1:31, 9:39, 9:39]
    assert numbers["shape_zyx"] == [30, 30, 30]
    strides = (EXTENT.counted_stride,) * 3
    specs = [
        spec
        for spec in paper_specs(seed=0, voxel_size_nm=(10.0, 10.0, 10.0), strides=strides)
        if spec.name in numbers["specs"]
    ]
    assert specs
    with (
        Agglomerator(Supervoxels.from_labels(labels), specs, StandInEnergy(tuple(specs))) as agglomerator,
        PaperCosts(agglomerator) as costs,
    ):
        assert sum(1 for _ in costs.run(EXTENT.counted_steps)) == numbers["steps"]
        assert costs.cumulative() == numbers["cumulative"]
    written(pruning.SECTION, numbers)


def test_time_shares(experiment):
    numbers = time_shares.measure(experiment, silent)
    model, test = bundled_model(), experiment.test
    with Agglomerator(
        test.supervoxels, model.specs, energy_of(model, test.affinities), policy=EnergyPolicy()
    ) as agglomerator:
        steps = sum(1 for _ in agglomerator.steps(model.thresholds["energy"]))
        evaluations = sum(s.initial.evaluations + s.incremental.evaluations for s in agglomerator.specs)
    first = numbers["shares"][0]
    assert (first["steps"], first["evaluations"]) == (steps, evaluations)
    for one in numbers["shares"]:
        assert one["descriptors"] > 0
        assert one["energy"] > 0
        assert one["descriptors"] + one["energy"] < one["seconds"]
    assert len(numbers["shares"]) == 2
    written(time_shares.SECTION, numbers)


def test_networks(experiment):
    numbers = networks.measure(experiment, silent)
    assert [(tuple(one["output"]), one["parameters"]) for one in numbers["paper_net"]] == [
        (output, parameters) for _, output, parameters in networks.PAPER
    ]
    whole = build_affinity_net(affinity_settings("paper"))
    assert sum(one["parameters"] for one in numbers["paper_net"]) == sum(
        p.numel() for p in whole.parameters()
    )
    assert numbers["paper_energy_parameters"] == 1024 * 2048 + 2048 + 2048 * 2048 + 2048 + 2048 + 1
    assert numbers["affinity"]["parameters"] == sum(numbers["affinity"]["parts"].values())
    assert [one["spec"] for one in numbers["energies"]] == [spec.name for spec in bundled_model().specs]
    blocks = written(networks.SECTION, numbers)
    table = next(block for block in blocks if isinstance(block, Table))
    assert [row[-1] for row in table.rows[:-1]] == ["yes"] * 7


@pytest.fixture(scope="module")
def slabs():
    return [
        learning_curve.make_slab(seed, EXTENT.phantom_shape_zyx, bundled_model()) for seed in (1, 2, 3, 4)
    ]


def test_one_point_of_the_learning_curve(slabs, monkeypatch):
    kept = []
    judge = learning_curve._judge

    def watched(classifier, judged, first, power):
        kept.append((classifier, judged, judge(classifier, judged, first, power)))
        return kept[-1][-1]

    monkeypatch.setattr(learning_curve, "_judge", watched)
    specs = preset_specs("fast", seed=0, voxel_size_nm=(10.0, 10.0, 10.0))
    plan = EnergyPlan("fast", 600, 0.5, 0.0, 0)
    phantoms = learning_curve.Phantoms(slabs[:1], slabs[1], slabs[2:3], slabs[3:])
    point = learning_curve.learn_and_judge(phantoms, specs, plan, 2)
    assert point.phantoms == 1
    # Steps decide, not the clock: the same energies every time.
    assert learning_curve.learn_and_judge(phantoms, specs, plan, 2) == point
    assert set(point.centre_auc) == {spec.name for spec in specs}
    for told, (classifier, judged, found) in zip(
        (point.contact_alone, point.with_energies), kept[:2], strict=True
    ):
        assert (told.auc, told.log_loss, told.vi) == pytest.approx(found)
        with judged.agglomerator(classifier) as agglomerator:
            for _ in agglomerator.steps(0.0):
                pass
            assert told.vi == pytest.approx(vi(agglomerator.labels(), slabs[3].truth), abs=1e-9)


def test_a_blind_policy_does_not_look_at_energies(slabs):
    specs = preset_specs("fast", seed=0, voxel_size_nm=(10.0, 10.0, 10.0))
    model = bundled_model()
    examples = Judged(slabs[0], specs, model.energies, torch.device("cpu")).first_examples()
    plan = EnergyPlan("fast", 600, 0.5, 0.0, 0)
    blind = learning_curve.blind_classifier(examples, len(specs), plan)
    other = PolicyExamples(examples.features.copy(), examples.contacts, examples.change)
    other.features[:, -len(specs) :] += 7
    odds = blind.contact_odds(examples.contacts)
    np.testing.assert_array_equal(blind.scores(examples.features, odds), blind.scores(other.features, odds))


def test_the_learning_curve(experiment, slabs, monkeypatch):
    chosen = []

    def point(phantoms, specs, plan, epochs):
        chosen.append((len(phantoms.learned), len(phantoms.judged), plan.examples, epochs))
        told = learning_curve.Told(0.9, 0.2, 1.0 - 0.1 * len(chosen))
        return learning_curve.Point(len(phantoms.learned), told, told, {"pairwise3": 0.8, "pairwise9": 0.7})

    monkeypatch.setattr(learning_curve, "make_slab", lambda seed, *_: slabs[seed % 4])
    monkeypatch.setattr(learning_curve, "learn_and_judge", point)
    numbers = learning_curve.measure(experiment, silent)
    assert chosen == [
        (n, len(learning_curve.JUDGED), EXTENT.examples, EXTENT.epochs) for n in EXTENT.phantoms
    ]
    assert [one["phantoms"] for one in numbers["points"]] == list(EXTENT.phantoms)
    written(learning_curve.SECTION, numbers)


def test_proofreading(experiment):
    numbers = proofreading_curve.measure(experiment, silent)
    test, model = experiment.test, bundled_model()
    labels = greedy(test, "learned", model.threshold)
    by_order = {line["order"]: line for line in numbers["lines"]}
    assert set(by_order) == {"gain", "gain, learning", "uncertainty", "random", "best"}
    for line in by_order.values():
        assert line["vi"][0] == pytest.approx(vi(labels, test.truth))
        assert len(line["vi"]) <= EXTENT.answers + 1
    assert by_order["best"]["vi"][-1] <= by_order["best"]["vi"][0]
    with agglomerator_of(model, test.supervoxels, test.affinities, actions=test.actions) as agglomerator:
        for _ in agglomerator.steps(model.threshold):
            pass
        person = SimulatedPerson(overlap(test.supervoxels, test.truth), seed=0)
        for _ in person.work(agglomerator, model.threshold, "gain", EXTENT.answers):
            pass
        assert by_order["gain"]["vi"][-1] == pytest.approx(vi(agglomerator.labels(), test.truth))
    assert proofreading_curve.vi_after({"vi": [3.0, 2.0]}, 5) == 2.0
    written(proofreading_curve.SECTION, numbers)


@pytest.mark.parametrize(
    ("share", "words"), [(0.194, "19 %"), (-0.03, "−3 %"), (-0.0004, "0 %"), (0.0, "0 %"), (1.0, "100 %")]
)
def test_shares_are_written_plainly(share, words):
    assert percent(share) == words

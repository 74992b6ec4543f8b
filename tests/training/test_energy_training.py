"""An energy network learns, keeps its best epoch, stops in time, and does the same again."""

import copy

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from napari_celis.models.energy import EnergyNetwork, EnergySettings
from napari_celis.models.features import CentreFeatures
from napari_celis.training import energy as module
from napari_celis.training.energy import EnergyTraining, train_energy, weighted_auc
from napari_celis.training.examples import Examples
from reference import auc as reference

pytestmark = pytest.mark.usefixtures("one_thread")

N_BITS, N_FEATURES = 12, 3
TINY = EnergyTraining(batch=50, learning_rate=0.01, max_epochs=4, patience=10)


def packed(bits):
    return (bits @ (1 << np.arange(N_BITS))).astype(np.uint64)[:, None]


def made_up(seed, n=300, n_centres=40):
    """Merges that are wrong when they set the first bit: so the energy has to rise with it."""
    rng = np.random.default_rng(seed)
    before = rng.random((n, N_BITS)) < 0.3
    before[:, :2] = False
    after = before | (rng.random((n, N_BITS)) < 0.2)
    is_wrong = np.arange(n) % 2 == 0
    after[:, 0], after[:, 1] = is_wrong, ~is_wrong
    y = np.where(is_wrong, 1.0, -1.0) * rng.uniform(0.5, 1.5, n)
    centres = rng.integers(0, n_centres, n).astype(np.int32)
    features = CentreFeatures(
        rng.random((n_centres, N_FEATURES)).astype(np.float16),
        rng.integers(0, 256, (n_centres, N_BITS), dtype=np.uint8),
    )
    return Examples(centres, packed(before), packed(after), y.astype(np.float32)), features


def new_network():
    torch.manual_seed(7)
    return EnergyNetwork(EnergySettings(N_BITS, N_FEATURES, hidden=8))


def weights_of(network):
    return copy.deepcopy(network.state_dict())


def are_equal(one, other):
    return all(torch.equal(tensor, other[name]) for name, tensor in one.items())


def train(network, how, **options):
    """All records, and the weights at each of them."""
    fit, held_out = made_up(0), made_up(1)
    run = train_energy("spec", network, *fit, *held_out, how, **options)
    return zip(*((record, weights_of(network)) for record in run), strict=True)


def test_training_learns_which_bit_is_wrong():
    network = new_network()
    records, _ = train(network, EnergyTraining(batch=50, learning_rate=0.01, max_epochs=10))
    assert [record.epoch for record in records] == list(range(10))
    assert {record.spec_name for record in records} == {"spec"}
    assert records[-1].validation_loss < records[0].validation_loss
    assert records[-1].loss < records[0].loss
    assert records[-1].validation_auc > 0.99
    assert not network.training


def test_the_seed_decides_the_weights():
    found = {}
    for name, seed in (("one", 3), ("again", 3), ("other", 4)):
        network = new_network()
        begin = weights_of(network)
        # What others draw from the global stream must not matter.
        torch.rand(len(found))
        train(network, EnergyTraining(batch=50, max_epochs=2, seed=seed))
        found[name] = weights_of(network)
        assert not are_equal(found[name], begin)
    assert are_equal(found["one"], found["again"])
    assert not are_equal(found["one"], found["other"])


def script(monkeypatch, *losses):
    """Let the held-out examples have these losses, epoch after epoch."""
    values = iter(losses)
    monkeypatch.setattr(module, "_validate", lambda *_: (next(values), 0.5))


def test_the_best_epoch_is_kept_only_if_it_is_wanted(monkeypatch):
    for keep_best, kept in ((True, 1), (False, 3)):
        script(monkeypatch, 3.0, 1.0, 2.0, 1.0)
        network = new_network()
        records, weights = train(network, TINY, keep_best=keep_best)
        assert [record.validation_loss for record in records] == [3.0, 1.0, 2.0, 1.0]
        assert [are_equal(own, weights_of(network)) for own in weights] == [i == kept for i in range(4)]


def test_held_out_examples_of_another_kind_leave_the_first_epoch():
    network, (fit, features) = new_network(), made_up(0)
    against = Examples(fit.centres, fit.before, fit.after, -fit.y)
    impatient = EnergyTraining(batch=50, learning_rate=0.01, max_epochs=20, patience=2)
    run = train_energy("spec", network, fit, features, against, features, impatient)
    records, weights = zip(*((record, weights_of(network)) for record in run), strict=True)
    assert [record.epoch for record in records] == [0, 1, 2]
    assert records[-1].validation_auc < 0.1
    assert are_equal(weights[0], weights_of(network))


@pytest.mark.parametrize(("patience", "n_epochs"), [(1, 3), (2, 6), (3, 10)])
def test_patience_counts_the_epochs_since_the_best_one(monkeypatch, patience, n_epochs):
    script(monkeypatch, 9, 8, 8.5, 7, 7, 7.5, 6.5, 6.5, 6.5, 6.5, 0)
    records, _ = train(new_network(), EnergyTraining(batch=50, max_epochs=50, patience=patience))
    assert len(records) == n_epochs


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(
            st.integers(-3, 3).map(float) | st.floats(-1, 1),
            st.sampled_from([-1.0, 1.0]),
            st.floats(0.125, 4),
        ),
        min_size=1,
        max_size=25,
    )
)
def test_the_area_under_the_curve_equals_the_definition(rows):
    score, sign, weight = (np.array(column) for column in zip(*rows, strict=True))
    expected = reference.weighted_auc(score, sign * weight)
    np.testing.assert_allclose(weighted_auc(score, sign * weight), expected, rtol=1e-9, atol=1e-12)


def test_the_area_under_the_curve_of_one_kind_is_unknown():
    assert np.isnan(weighted_auc(np.array([1.0, 2.0]), np.array([1.0, 1.0])))

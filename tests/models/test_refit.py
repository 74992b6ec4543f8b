"""Learning from answers: few matter, many decide, signs stay, and the same answers give the same bits."""

import time

import numpy as np
import pytest
from scipy.optimize import minimize

from napari_celis.core.contact_features import DECISIVE
from napari_celis.core.errors import ModelError
from napari_celis.core.lessons import Lesson
from napari_celis.models.examples import PolicyRows
from napari_celis.models.logistic import Prior, fit_logistic
from napari_celis.models.policy import PolicyClassifier
from napari_celis.models.refit import CONSTANT_RIDGE, PRIOR_ANSWERS, RIDGE, SLIPS, Refit, start_classifier
from napari_celis.models.trees import FlatForest

N_FEATURES = len(DECISIVE) + 2


def forest():
    """One tree that knows something about the first column of a contact."""
    nodes = np.array([[0, 1, 2], [-2, -1, -1], [-2, -1, -1]], dtype=np.int32)
    return FlatForest(np.zeros(1, np.int64), nodes, np.array([0.0, 0.25, 0.75], dtype=np.float32))


def classifier():
    weights = np.zeros(N_FEATURES)
    weights[0], weights[6], weights[8] = -1.0, 0.3, 0.5
    return PolicyClassifier(
        np.zeros(N_FEATURES), np.ones(N_FEATURES), weights, np.array([0.2]), forest(), np.array([0.5, 0.5])
    )


def lessons(n, coefficients, seed=0, forest_counts=0.0):
    """Answers that follow odds which are a weighted sum."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n, N_FEATURES)).astype(np.float32)
    contacts = rng.normal(size=(n, 5)).astype(np.float32)
    odds = features @ np.asarray(coefficients) + forest_counts * np.sign(contacts[:, 0])
    is_wrong = rng.random(n) < 1 / (1 + np.exp(-odds))
    return tuple(Lesson(*row) for row in zip(features, contacts, is_wrong.tolist(), strict=True))


def examples(n=2000, seed=1):
    """What the classifier above was fitted to."""
    own = lessons(n, [-1.0, 0, 0, 0, 0, 0, 0.3, 0, 0.5, 0], seed, forest_counts=0.5)
    odds = classifier().contact_odds(np.stack([one.contact for one in own]))
    features = np.stack([one.features for one in own])
    return PolicyRows.of(features, odds, np.array([one.is_wrong for one in own]), np.ones(n))


def sum_weights(found):
    return found.shares[0] * found.weights


def same(a, b):
    return all(
        getattr(a, name).tobytes() == getattr(b, name).tobytes() for name in ("weights", "constant", "shares")
    )


def test_without_answers_nothing_changes():
    own = classifier()
    assert Refit(own, examples()).classifier(()) is own


@pytest.mark.parametrize("rows", [None, examples()], ids=["alone", "with examples"])
def test_the_same_answers_give_the_same_bits(rows):
    taught = lessons(40, [-2.0, 0, 0, 0, 0, 0, 1.0, 0, 0, 1.0])
    assert same(Refit(classifier(), rows).classifier(taught), Refit(classifier(), rows).classifier(taught))


def test_it_is_the_minimum_of_what_is_said():
    """Held against another way to find it, from the definition."""
    own, rows = classifier(), examples(200)
    taught = lessons(30, [-2.0, 0, 0, 0, 0, 0, 1.0, 0, 0, 1.0])
    found = Refit(own, rows).classifier(taught)
    weights = rows.weights.astype(float) / rows.weights.astype(float).sum() * PRIOR_ANSWERS
    begin = np.concatenate([0.5 * own.weights, [0.5], 0.5 * own.constant])
    seen = [
        (f.astype(float), float(o), y, w)
        for f, o, y, w in zip(rows.features, rows.odds, rows.is_wrong, weights, strict=True)
    ]
    for one in taught:
        odds = float(own.contact_odds(one.contact[None])[0])
        score = float(own.scores(one.features[None], np.array([odds]))[0])
        chance = 1 / (1 + np.exp(-score if one.is_wrong else score))
        trust = (1 - SLIPS) * chance / ((1 - SLIPS) * chance + SLIPS * (1 - chance))
        seen.append((one.features.astype(float), odds, one.is_wrong, trust))

    def loss(parameters):
        total = RIDGE * np.sum((parameters[:-1] - begin[:-1]) ** 2)
        total += CONSTANT_RIDGE * (parameters[-1] - begin[-1]) ** 2
        for features, odds, is_wrong, weight in seen:
            score = features @ parameters[:-2] + parameters[-2] * odds + parameters[-1]
            total += weight * np.log1p(np.exp(-score if is_wrong else score))
        return total

    signs = [*(feature.sign for feature in DECISIVE), 1, 1, 1, 0]
    bounds = [(0 if sign > 0 else None, 0 if sign < 0 else None) for sign in signs]
    wanted = minimize(loss, begin, method="SLSQP", bounds=bounds, options={"ftol": 1e-12, "maxiter": 500}).x
    given = np.concatenate([sum_weights(found), [found.shares[1]], found.shares[0] * found.constant])
    assert loss(given) <= loss(wanted) + 1e-4
    np.testing.assert_allclose(given, wanted, atol=0.02)


def test_few_answers_matter_and_many_decide():
    """Area says the opposite of what the model has learned."""
    coefficients = [-1.0, 0, 0, 0, 0, 0, -1.5, 0, 0.5, 0]
    found = [
        sum_weights(Refit(classifier(), examples()).classifier(lessons(n, coefficients)))[6]
        for n in (10, 50, 500)
    ]
    assert 0.3 > found[0] > found[1] > found[2]
    assert found[2] < -0.8


def test_a_forest_that_is_wrong_is_heard_less():
    refit = Refit(classifier(), examples())
    against = refit.classifier(lessons(200, [-1.0, 0, 0, 0, 0, 0, 0, 0, 0, 0], forest_counts=-2.0))
    for_it = refit.classifier(lessons(200, [-1.0, 0, 0, 0, 0, 0, 0, 0, 0, 0], forest_counts=2.0))
    assert against.shares[1] < 0.2 < 0.6 < for_it.shares[1]


def test_signs_stay_and_bounds_hold():
    taught = lessons(300, [2.0, 1, 1, 1, 1, 1, 0, 2.0, -2.0, -1.0], forest_counts=-3.0)
    found = Refit(classifier(), None).classifier(taught)
    weights = sum_weights(found)
    assert (weights[:6] <= 0).all()
    assert weights[7] <= 0
    assert (weights[8:] >= 0).all()
    assert found.shares[1] >= 0
    rng = np.random.default_rng(0)
    low = rng.normal(size=(50, N_FEATURES)).astype(np.float32)
    high = low + rng.random(low.shape).astype(np.float32)
    odds = rng.normal(size=50)
    lowest = found.lowest_scores(low, high, odds)
    for share in (0.0, 0.3, 1.0):
        between = low + np.float32(share) * (high - low)
        assert (found.scores(between, odds) >= lowest - 1e-9).all()
    np.testing.assert_array_equal(found.lowest_scores(low, low, odds), found.scores(low, odds))


def test_one_kind_of_answers_alone_does_not_run_away():
    taught = tuple(Lesson(one.features, one.contact, True) for one in lessons(500, [0.0] * N_FEATURES))
    found = Refit(start_classifier(2), None).classifier(taught)
    assert np.isfinite(found.weights).all()
    assert abs(float(found.constant[0])) < 20


def test_of_two_answers_about_the_same_contact_the_newest_counts():
    first = lessons(20, [-1.0] + [0.0] * (N_FEATURES - 1))
    again = tuple(Lesson(one.features, one.contact, not one.is_wrong) for one in first)
    assert same(
        Refit(classifier(), examples()).classifier(first + again),
        Refit(classifier(), examples()).classifier(again),
    )


def test_an_incredible_answer_counts_less():
    """A slip of the hand about a contact that the model is certain of."""
    features = np.zeros(N_FEATURES, np.float32)
    features[0] = 14.0
    sure = Lesson(features, np.full(5, -1.0, np.float32), True)
    features = features.copy()
    features[0] = 1.0
    doubtful = Lesson(features, np.full(5, -1.0, np.float32), True)
    before = classifier()
    moved = [
        np.abs(sum_weights(Refit(before).classifier((one,))) - 0.5 * before.weights).max()
        for one in (sure, doubtful)
    ]
    assert moved[0] < 0.2 * 14.0 * moved[1]


def test_what_was_learned_goes_on_in_a_new_model():
    refit, taught = Refit(classifier(), examples(300)), lessons(40, [-1.0] + [0.0] * (N_FEATURES - 1))
    rows = refit.examples_with(taught)
    assert len(rows) == 340
    # The answers weigh against the examples what they weighed when they were given.
    weights = rows.weights.astype(float)
    assert 30 / PRIOR_ANSWERS < weights[300:].sum() / weights[:300].sum() < 40 / PRIOR_ANSWERS
    assert refit.examples_with(()) is refit.examples
    assert len(Refit(classifier(), None).examples_with(taught)) == 40


def test_it_takes_far_less_than_a_second():
    refit, taught = Refit(classifier(), examples(4000)), lessons(500, [-1.0] + [0.0] * (N_FEATURES - 1))
    begin = time.perf_counter()
    refit.classifier(taught)
    assert time.perf_counter() - begin < 5.0  # a benchmark tells how long; this only finds disasters


def test_a_prior_is_left_only_for_reasons():
    rows = np.array([[1.0], [-1.0]])
    weak = np.array([1e-9, 1e-9])
    (found,), constant = fit_logistic(
        rows, np.array([True, False]), weak, [0], 1e6, Prior(np.array([0.7]), 0.3, 1e6)
    )
    assert found == pytest.approx(0.7, abs=1e-3)
    assert constant == pytest.approx(0.3, abs=1e-3)


def test_thinned_examples_keep_the_weight_of_both_kinds():
    rng = np.random.default_rng(0)
    is_wrong = rng.random(20_000) < 0.9
    rows = PolicyRows.of(rng.normal(size=(20_000, 3)), rng.normal(size=20_000), is_wrong, rng.random(20_000))
    fewer = rows.thinned(1000)
    assert len(fewer) == 1000
    share = [
        float(one.weights[one.is_wrong].astype(float).sum() / one.weights.astype(float).sum())
        for one in (rows, fewer)
    ]
    assert share[0] == pytest.approx(share[1], rel=0.02)
    assert fewer.features.nbytes < 10_000
    assert fewer.thinned(1000) is fewer
    few_right = PolicyRows.of(np.zeros((50, 1)), np.zeros(50), np.arange(50) > 4, np.ones(50)).thinned(20)
    assert (len(few_right), int((~few_right.is_wrong).sum())) == (20, 5)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"odds": np.zeros(3, np.float16)}, "do not fit together"),
        ({"features": np.zeros(4, np.float16)}, "do not fit together"),
        ({"odds": np.array([np.nan, 0, 0, 0], np.float16)}, "not finite"),
        ({"weights": np.array([-1, 0, 0, 1], np.float16)}, "below 0"),
        ({"weights": np.zeros(4, np.float16)}, "none above"),
    ],
)
def test_examples_that_cannot_be_are_refused(change, message):
    good = {
        "features": np.zeros((4, 2), np.float16),
        "odds": np.zeros(4, np.float16),
        "is_wrong": np.zeros(4, bool),
        "weights": np.ones(4, np.float16),
    }
    PolicyRows(**good)
    with pytest.raises(ModelError, match=message):
        PolicyRows(**good | change)

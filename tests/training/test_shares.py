import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from napari_celis.training.shares import fit_shares


def made_up(rng, n=4000):
    """One sure spec, one loud and nearly blind one, one that is always wrong; all see four centres."""
    error = rng.normal(size=n)
    right_way = np.sign(error)
    changes = np.stack(
        [right_way + rng.normal(size=n), 50 * (0.1 * right_way + rng.normal(size=n)), -right_way]
    )
    return np.stack([changes, np.full_like(changes, 4.0)], axis=2), error


def test_a_loud_spec_does_not_drown_a_sure_one():
    changes, error = made_up(np.random.default_rng(0))
    shares = fit_shares([changes[:2]], [error])
    assert_allclose(shares.sum(), 2)
    assert shares[0] > 20 * shares[1] > 0
    is_told = np.sign(shares @ changes[:2, :, 0]) == np.sign(error)
    assert is_told.mean() > (np.sign(changes[:2, :, 0].sum(axis=0)) == np.sign(error)).mean() + 0.2


def test_changes_count_by_the_root_of_their_centres():
    rng = np.random.default_rng(3)
    sums, error = made_up(rng)
    centres = rng.integers(1, 1000, size=len(error)).astype(float)
    grown = sums * np.stack([np.sqrt(centres), centres], axis=1)
    assert_allclose(fit_shares([grown[:2]], [error]), fit_shares([sums[:2]], [error]), rtol=1e-6)


def test_a_spec_that_is_always_wrong_counts_next_to_nothing_but_can_be_seen():
    changes, error = made_up(np.random.default_rng(1))
    assert 0 < fit_shares([changes[[0, 2]]], [error])[1] < 1e-5


def test_volumes_add_up_and_unknown_actions_do_not_count():
    rng = np.random.default_rng(2)
    changes, error = made_up(rng)
    whole = fit_shares([changes[:2]], [error])
    halves = fit_shares([changes[:2, :1000], changes[:2, 1000:]], [error[:1000], error[1000:]])
    assert_allclose(halves, whole)
    unknown = fit_shares([changes[:2], rng.normal(size=(2, 500, 2))], [error, np.zeros(500)])
    assert_allclose(unknown, whole)


def test_specs_that_tell_nothing_count_alike():
    assert_array_equal(fit_shares([np.zeros((3, 5, 2))], [np.array([1.0, -1, 1, -1, 1])]), np.ones(3))

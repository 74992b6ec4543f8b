import numpy as np

from napari_celis.training.threshold import TOLERANCE, Curve, best_threshold


def curve(*vi):
    """A run whose steps have the scores -3, -2, ...; the error after each is given."""
    scores = -3.0 + np.arange(len(vi))
    return Curve(np.concatenate([[-np.inf], scores]), np.concatenate([[0.0], vi]))


def test_a_clear_minimum_is_found():
    threshold, candidates, vi = best_threshold([curve(-1.0, -2.0, -1.0)])
    assert threshold == -1.0
    assert vi[candidates == threshold] == -2.0
    assert (candidates[0], candidates[-1]) == (-3.0, np.nextafter(0.0, 1.0))


def test_of_equally_good_thresholds_the_one_nearest_to_zero_is_taken():
    assert best_threshold([curve(-1.0 - TOLERANCE / 2, -1.0, -0.5)])[0] == -1.0
    assert best_threshold([curve(-1.0 - 2 * TOLERANCE, -1.0, -0.5)])[0] == -2.0
    assert best_threshold([curve(-1.0, -1.0, -1.0)])[0] == 0.0


def test_all_runs_count():
    assert best_threshold([curve(-1.0, 0.0), curve(0.0, -3.0)])[0] == 0.0


def test_a_run_stops_before_the_first_score_that_is_not_below_its_threshold():
    changes = curve(-1.0, -2.0, -1.5).change_at(np.array([-4.0, -3.0, -2.5, -2.0, -1.0, 9.0]))
    np.testing.assert_array_equal(changes, [0.0, 0.0, -1.0, -1.0, -2.0, -1.5])

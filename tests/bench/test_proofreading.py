"""A simulated person: what is expected to be left is what is left, and mistakes are found by asking again."""

import numpy as np
import pytest

from core.states import chain
from napari_celis.bench.proofreading import SimulatedPerson, oracle_vi
from napari_celis.evaluation.overlaps import overlap
from napari_celis.evaluation.running_errors import RunningErrors

N = 60


class Known:
    """Says with which probability each contact of a chain is a wrong merge."""

    def __init__(self, wrong):
        self.wrong = wrong

    def wrong_merge(self, scores, stakes):
        """Merges that were made are taken for right."""
        return self.wrong if len(scores) == len(self.wrong) else np.full(len(scores), 1e-9)


def drawn_truth(agglomerator, wrong, rng):
    """Objects along the chain that end where a draw says so."""
    ends = rng.random(N - 1) < wrong
    objects = np.concatenate([[1], 1 + np.cumsum(ends)])
    labels = np.append(0, objects)[agglomerator.supervoxels.dense].astype(np.uint64)
    return overlap(agglomerator.supervoxels, labels)


def test_what_is_expected_to_be_left_is_left():
    """Where probabilities are right, the estimate is right on average, first and after some answers."""
    rng = np.random.default_rng(0)
    expected, true = [], []
    for _ in range(12):
        wrong = rng.uniform(0.5, 1.0, N - 1)
        with chain(N) as agglomerator:
            overlaps = drawn_truth(agglomerator, wrong, rng)
            oracle = oracle_vi(agglomerator, overlaps)
            errors = RunningErrors(overlaps, agglomerator.segment_ids())
            before = errors.split + errors.merge
            person = SimulatedPerson(overlaps)
            answered = list(person.work(agglomerator, 0.0, "gain", 21, Known(wrong)))
            vi = [before, *(one.vi for one in answered)]
            expected.append([answered[n].expected_left for n in (0, 10, 20)])
            true.append([vi[n] - oracle for n in (0, 10, 20)])
            # Nothing is ever lost by a true answer.
            assert all(later <= vi[0] + 1e-12 for later in vi)
    said, found = np.mean(expected, axis=0), np.mean(true, axis=0)
    assert (np.diff(said) < 0).all()
    assert said == pytest.approx(found, rel=0.35)


def test_a_wrong_correction_is_asked_about_again():
    """Somebody merges what is apart: it comes back as `still right?`, and the next answer puts it right."""
    wrong = np.full(N - 1, 0.999)
    wrong[30] = 0.4
    with chain(N) as agglomerator:
        overlaps = drawn_truth(agglomerator, np.ones(N - 1), np.random.default_rng(0))
        agglomerator.merge(31, 32)

        class Doubts(Known):
            def wrong_merge(self, scores, stakes):
                return self.wrong if len(scores) == len(self.wrong) else np.full(len(scores), 0.9)

        [one] = SimulatedPerson(overlaps).work(agglomerator, 0.0, "gain", 1, Doubts(wrong))
        assert (one.kind, one.is_correction) == (1, True)
        assert agglomerator.history[-1].kind == "cut"
        assert one.vi == pytest.approx(0.0)

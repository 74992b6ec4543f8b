"""Split and merge error that follow a segmentation forwards and back."""

from __future__ import annotations

import numpy as np
import pytest

from napari_celis.evaluation.contingency import contingency_table
from napari_celis.evaluation.metrics import score
from napari_celis.evaluation.overlaps import overlaps_of
from napari_celis.evaluation.running_errors import RunningErrors


def test_errors_follow_any_change_of_segments():
    rng = np.random.default_rng(0)
    dense = rng.integers(0, 9, (6, 7, 8))
    truth = rng.integers(0, 4, dense.shape)
    start = np.arange(9, dtype=np.uint64)
    errors = RunningErrors(overlaps_of(contingency_table(dense, truth), 8), start)
    states = [start, *(rng.integers(0, 5, 9).astype(np.uint64) for _ in range(5)), start]
    for segments in states:
        errors.update(segments)
        expected = score(contingency_table(segments[dense], truth))
        assert errors.split == pytest.approx(expected.vi_split)
        assert errors.merge == pytest.approx(expected.vi_merge)

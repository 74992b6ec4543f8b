"""Numbers in sentences."""

from __future__ import annotations

from typing import get_args

import pytest

from napari_celis.core.journal import StepKind
from napari_celis.core.words import DECISION_NAMES, counted, counted_decisions


@pytest.mark.parametrize(
    ("n", "text"), [(0, "0 merges"), (1, "1 merge"), (2, "2 merges"), (12345, "12,345 merges")]
)
def test_one_or_several(n, text):
    assert counted(n, "merge") == text


def test_every_kind_of_decision_is_named_in_plain_english():
    assert set(DECISION_NAMES) == set(get_args(StepKind))
    assert counted_decisions({}) == ""
    assert counted_decisions({"manual": 1, "greedy": 2, "keep-apart": 1, "cut": 2}) == (
        "2 merges by the run, 1 merge by hand, 1 kept apart, 2 cuts"
    )
    for kind in DECISION_NAMES:
        assert "-" not in counted_decisions({kind: 2})

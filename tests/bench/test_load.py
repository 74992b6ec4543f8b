"""The load benchmark, on a small volume: what is measured is also compared."""

import math

from napari_celis.bench import load
from napari_celis.bench.load import measure_load


def test_a_small_session_is_all_there_again(monkeypatch):
    monkeypatch.setattr(load, "N_TIMED", 10)
    figures = measure_load(None, (41, 41, 41), 80, 24)
    # The last one timed takes steps after the decisions that were asked for, and takes them back.
    assert figures["load_decisions"] >= 80
    for key in ("load_resume_seconds", "load_resume_kept_seconds", "load_save_as_seconds"):
        assert figures[key] > 0
    assert not any(math.isnan(value) for value in figures.values())

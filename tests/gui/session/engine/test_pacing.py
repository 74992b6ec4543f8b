"""When a step and a snapshot are due."""

from __future__ import annotations

import pytest

from napari_celis.gui.session.engine import pacing
from napari_celis.gui.session.engine.pacing import SNAPSHOT_SECONDS, SnapshotPacer, SpeedLimit


@pytest.fixture
def clock(monkeypatch):
    """A clock that only moves when it is told to."""
    now = [100.0]
    monkeypatch.setattr(pacing.time, "monotonic", lambda: now[0])

    def wait(seconds):
        now[0] += seconds
        return now[0]

    return wait


def test_steps_are_spaced_by_the_speed(clock):
    limit = SpeedLimit()
    limit.after_step()
    assert limit.next_at == 100.0
    limit.set_speed(4)
    assert limit.next_at == 0.0
    limit.after_step()
    assert limit.next_at == 100.25
    limit.allow_now()
    assert limit.next_at == 0.0


def test_a_snapshot_waits_for_news_for_the_window_and_for_time(clock):
    pacer = SnapshotPacer()
    clock(1.0)
    assert not pacer.may_report()
    assert pacer.next_at() is None
    pacer.request()
    assert pacer.may_report()
    pacer.begin_report()
    pacer.steps_per_second(0, is_running=True)
    pacer.request()
    assert not pacer.may_report()
    pacer.on_drawn()
    assert not pacer.may_report()
    assert pacer.next_at() == pytest.approx(101.0 + SNAPSHOT_SECONDS)
    clock(2 * SNAPSHOT_SECONDS)
    assert pacer.may_report()


def test_urgent_news_waits_for_the_window_alone(clock):
    pacer = SnapshotPacer()
    pacer.request(is_urgent=True)
    assert pacer.may_report()
    pacer.begin_report()
    pacer.request(is_urgent=True)
    pacer.request()
    assert not pacer.may_report()
    pacer.on_drawn()
    assert pacer.may_report()


def test_the_speed_is_smoothed_and_ends_with_the_run(clock):
    pacer = SnapshotPacer()
    clock(1.0)
    assert pacer.steps_per_second(10, is_running=True) == pytest.approx(10.0)
    clock(1.0)
    assert pacer.steps_per_second(30, is_running=True) == pytest.approx(13.0)
    assert pacer.steps_per_second(30, is_running=False) == 0.0

"""Calls that wait until the window has answered."""

from __future__ import annotations

import pytest

from napari_celis.gui.session.deferred_calls import DeferredCalls


def test_calls_come_later_in_order(qtbot):
    deferred, done = DeferredCalls(), []
    deferred.add(lambda: done.append(1))
    deferred.add(lambda: deferred.add(lambda: done.append(3)))
    deferred.add(lambda: done.append(2))
    assert done == []
    qtbot.waitUntil(lambda: done == [1, 2, 3])


def test_a_call_that_fails_does_not_hold_up_the_others(qtbot):
    deferred, done = DeferredCalls(), []
    with qtbot.capture_exceptions() as raised:
        deferred.add(lambda: 1 / 0)
        deferred.add(lambda: done.append(1))
        qtbot.waitUntil(lambda: done == [1])
    assert [kind for kind, *_ in raised] == [ZeroDivisionError]


@pytest.mark.parametrize("n_calls", [1, 2])
def test_nothing_is_called_after_the_end(qtbot, n_calls):
    deferred, done = DeferredCalls(), []
    for _ in range(n_calls):
        deferred.add(lambda: done.append(1))
    deferred.close()
    qtbot.wait(30)
    assert done == []

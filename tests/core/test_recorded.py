"""Going on from recorded decisions is the same as never having stopped, to the bit."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.problems import problems
from core.states import chain, operate, snapshot
from core.test_lazy_energies import POLICIES, policy_named
from napari_celis.core.actions import ActionTable
from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.errors import ActionError
from napari_celis.core.journal import Event, Step
from napari_celis.core.recorded import recorded_history
from napari_celis.core.supervoxels import Supervoxels

OPERATIONS = (
    "step", "step", "merge", "keep apart", "allow", "cut", "confirm", "not here", "done", "in work", "undo",
    "undo", "redo",
)  # fmt: skip
Drawn = st.lists(st.tuples(st.sampled_from(OPERATIONS), st.integers(0, 10**6)), max_size=14)


def same(one, two):
    """Compare everything that can be asked; what ended may be remembered differently."""
    a, b = snapshot(one), snapshot(two)
    hidden = {"sums", "components", "_pending", "_wanted"}
    wanted = [key for key in a if key not in hidden and not (isinstance(key, tuple) and key[0] in hidden)]
    for key in wanted:
        assert a[key] == b[key], key
    assert one.energy_change == two.energy_change
    assert one.merges.joins() == two.merges.joins()
    np.testing.assert_array_equal(one.scores(), two.scores())
    np.testing.assert_array_equal(one.scoring.energy_changes(), two.scoring.energy_changes())
    assert one.best_action() == two.best_action()
    for n_steps in range(len(one.history) + 1):
        np.testing.assert_array_equal(one.segment_ids(n_steps), two.segment_ids(n_steps))


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(problems(), st.sampled_from(POLICIES), Drawn, Drawn, st.booleans(), st.booleans())
def test_going_on_equals_never_having_stopped(problem, policy, before, after, is_lazy, keep_scores):
    labels, specs, energy = problem
    supervoxels = Supervoxels.from_labels(labels)
    actions = ActionTable.from_supervoxels(supervoxels)
    if not len(actions):
        return
    chosen = policy_named(policy, supervoxels, actions, labels.shape)
    options = {"policy": chosen, "actions": actions, "threads": 1}
    events = []
    with Agglomerator(supervoxels, specs, energy, **options) as first:
        units = first.energy_units()
        first.journal.listener = events.append
        kept = None
        for place, (operation, choice) in enumerate(before):
            if keep_scores and place == len(before) // 2:
                kept = first.kept_scores()
            operate(first, operation, choice)
        past = recorded_history(supervoxels, actions, events, units)
        with Agglomerator(
            supervoxels, specs, energy, past=past, kept=kept, is_lazy=is_lazy, **options
        ) as second:
            # Lazy runs know the energy from the moment somebody asks.
            assert second.energy == first.energy
            if not is_lazy:
                same(first, second)
            for operation, choice in after:
                operate(first, operation, choice)
                operate(second, operation, choice)
                assert first.history == second.history
                np.testing.assert_array_equal(first.scores(), second.scores())
            if not is_lazy:
                same(first, second)
            while first.history:
                first.undo()
                second.undo()
                assert first.energy == second.energy
                np.testing.assert_array_equal(first.scores(), second.scores())
                np.testing.assert_array_equal(first.segment_ids(), second.segment_ids())
            while first.journal.undone:
                assert first.redo() == second.redo()


def test_events_of_another_volume_are_refused_by_their_number():
    with chain(4) as agglomerator:
        merge = Step(0, "manual", 1, 2, 0, -1.0, 0.0, True, 3)
        fine = [Event("decide", merge, 0.0)]
        for bad, reason in [
            (Event("decide", replace(merge, u_id=77), 0.0), "no supervoxel 77"),
            (Event("decide", merge, 0.0), "merged already"),
            (Event("redo", merge, 0.0), "nothing to redo"),
            (Event("decide", replace(merge, kind="cut", u_id=3, v_id=4), 0.0), "never merged"),
            (Event("decide", replace(merge, kind="keep-apart"), 0.0), "in one segment"),
            (Event("decide", replace(merge, kind="allow"), 0.0), "not kept apart by a decision"),
            (Event("decide", replace(merge, kind="confirm", u_id=3, v_id=4), 0.0), "not merged directly"),
            (Event("decide", replace(merge, kind="not-here", u_id=1, v_id=4), 0.0), "do not touch"),
        ]:
            with pytest.raises(ActionError, match=f"Event 2 .*{reason}"):
                recorded_history(agglomerator.supervoxels, agglomerator.actions, [*fine, bad])


def test_scores_of_other_shapes_are_not_used():
    with chain(4) as small, chain(5) as large:
        kept = small.kept_scores()
        with chain(5, kept=kept) as again:
            np.testing.assert_array_equal(again.scores(), large.scores())

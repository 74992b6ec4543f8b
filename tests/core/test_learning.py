"""Answers teach: after any decisions, undos and redos all is as if the learned classifier had always been."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.problems import ToyEnergy, problems, random_labels
from core.states import agglomerate, operate, pair_of, snapshot
from core.test_agglomerator import OPERATIONS
from core.test_lazy_energies import ToySum
from napari_celis.core.actions import ActionTable
from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.contacts import measure_contacts
from napari_celis.core.descriptors import sample_spec
from napari_celis.core.errors import ActionError, EnergyError
from napari_celis.core.policy import LearnedPolicy
from napari_celis.core.recorded import recorded_history
from napari_celis.core.supervoxels import Supervoxels

ANSWERED = (*OPERATIONS, "confirm", "not here")
WITH_SWITCH = (*ANSWERED, "on", "off")


class ToyLearner:
    """Turns the weights by what was seen at every answer, right ones the other way."""

    n_asked = 0

    def classifier(self, lessons):
        self.n_asked += 1
        turned = 0.0
        for lesson in lessons:
            said = float(np.tanh(lesson.features).sum() + np.tanh(lesson.contact).sum())
            turned += said if lesson.is_wrong else -said
        return ToySum(0.3 + 0.01 * turned)


def make(problem, classifier=None, **options):
    labels, specs, energy = problem
    supervoxels = Supervoxels.from_labels(labels)
    actions = ActionTable.from_supervoxels(supervoxels)
    affinities = np.random.default_rng(0).random((3, *labels.shape)).astype(np.float32)
    policy = LearnedPolicy(classifier or ToySum(0.3), measure_contacts(supervoxels, actions, affinities))
    return Agglomerator(supervoxels, specs, energy, policy=policy, threads=1, **options)


def small():
    labels = random_labels(np.random.default_rng(1), (8, 9, 10), 12, 0.05)
    spec = sample_spec("one", "pairwise", (3, 3, 3), rng=np.random.default_rng(2), k=20, region_zyx=(5, 5, 5))
    return labels, (spec,), ToyEnergy(labels.shape, (spec,))


def seen(agglomerator):
    """What the standing answers teach, as bytes."""
    lessons = agglomerator.learning.lessons
    return [(one.features.tobytes(), one.contact.tobytes(), one.is_wrong) for one in lessons]


@pytest.mark.kernels
@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    problems(),
    st.booleans(),
    st.lists(st.tuples(st.sampled_from(WITH_SWITCH), st.integers(0, 10**6)), max_size=14),
)
def test_scores_equal_those_of_a_run_that_had_the_learned_classifier_from_the_start(
    problem, is_lazy, operations
):
    learner, events, is_on = ToyLearner(), [], True
    with make(problem, is_lazy=is_lazy) as agglomerator:
        if not len(agglomerator.actions):
            return
        agglomerator.journal.listener = events.append
        agglomerator.learn(learner)
        for operation, choice in operations:
            if operation in ("on", "off"):
                is_on = operation == "on"
                agglomerator.learn(learner if is_on else None)
            else:
                operate(agglomerator, operation, choice)
        lessons = agglomerator.learning.lessons
        wanted = learner.classifier(lessons) if is_on else ToySum(0.3)
        past = recorded_history(agglomerator.supervoxels, agglomerator.actions, events)
        with make(problem, wanted, past=past) as twin, make(problem, past=past) as resumed:
            np.testing.assert_array_equal(agglomerator.scores(), twin.scores())
            np.testing.assert_array_equal(agglomerator.available(), twin.available())
            assert agglomerator.best_action() == twin.best_action()
            for action in range(len(agglomerator.actions)):
                assert agglomerator.scoring.parts(action) == twin.scoring.parts(action)
            # A session that is opened again has learned the same.
            resumed.learn(learner if is_on else None)
            assert seen(resumed) == seen(agglomerator)
            np.testing.assert_array_equal(resumed.scores(), agglomerator.scores())


@pytest.mark.kernels
@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(problems(), st.lists(st.tuples(st.sampled_from(ANSWERED), st.integers(0, 10**6)), max_size=12))
def test_undo_takes_the_lesson_back_and_redo_gives_it_again(problem, operations):
    with make(problem) as agglomerator:
        if not len(agglomerator.actions):
            return
        agglomerator.learn(ToyLearner())
        states = [(snapshot(agglomerator, journal=False), seen(agglomerator))]
        for operation, choice in operations:
            before = len(agglomerator.history)
            if operation not in ("undo", "redo"):
                operate(agglomerator, operation, choice)
            if len(agglomerator.history) > before:
                agglomerator.scores()
                states.append((snapshot(agglomerator, journal=False), seen(agglomerator)))
        for wanted in reversed(states[:-1]):
            agglomerator.undo()
            agglomerator.scores()
            assert (snapshot(agglomerator, journal=False), seen(agglomerator)) == wanted
        for wanted in states[1:]:
            agglomerator.redo()
            agglomerator.scores()
            assert (snapshot(agglomerator, journal=False), seen(agglomerator)) == wanted


def test_every_kind_of_answer_teaches_and_greedy_does_not():
    with make(small()) as agglomerator:
        free = [int(action) for action in np.flatnonzero(agglomerator.available())]
        first = pair_of(agglomerator, free[0])
        features = agglomerator.scoring.features(np.array([free[0]]))[0]
        contact = agglomerator.scoring.contact_features(np.array([free[0]]))[0]
        agglomerator.merge(*first)
        agglomerator.confirm(*first)
        agglomerator.cut(*first)
        agglomerator.not_here(*first)
        agglomerator.keep_apart(*first)
        agglomerator.step(np.inf)
        lessons = agglomerator.learning.lessons
        assert [lesson.is_wrong for lesson in lessons] == [False, False, True, True, True]
        # The same contact of the same two supervoxels each time.
        for lesson in lessons:
            np.testing.assert_array_equal(lesson.features, features)
            np.testing.assert_array_equal(lesson.contact, contact)


def test_a_confirmed_merge_is_seen_as_its_two_sides_are_now():
    with make(small()) as agglomerator:
        for _ in range(6):
            agglomerator.step(np.inf)
        for step in agglomerator.history:
            before = snapshot(agglomerator)
            agglomerator.confirm(step.u_id, step.v_id)
            found = agglomerator.learning.lessons[-1]
            agglomerator.undo()
            assert snapshot(agglomerator, journal=False) == {
                key: value for key, value in before.items() if key not in ("done", "undone")
            }
            agglomerator.cut(step.u_id, step.v_id)
            wanted = agglomerator.scoring.features(np.array([step.action_index]))[0]
            np.testing.assert_array_equal(found.features, wanted)
            agglomerator.undo()


def test_many_undos_learn_once():
    learner = ToyLearner()
    with make(small()) as agglomerator:
        agglomerator.learn(learner)
        for action in np.flatnonzero(agglomerator.available())[:6]:
            agglomerator.not_here(*pair_of(agglomerator, int(action)))
        agglomerator.scores()
        n_asked = learner.n_asked
        for _ in range(6):
            agglomerator.undo()
        agglomerator.scores()
        assert learner.n_asked <= n_asked + 1


def test_switched_off_it_goes_by_what_there_was():
    with make(small()) as agglomerator:
        before = agglomerator.scores()
        agglomerator.not_here(*pair_of(agglomerator, int(np.flatnonzero(agglomerator.available())[0])))
        np.testing.assert_array_equal(agglomerator.scores(), before)
        agglomerator.learn(ToyLearner())
        assert (agglomerator.scores() != before).any()
        agglomerator.learn(None)
        np.testing.assert_array_equal(agglomerator.scores(), before)


def test_no_energy_is_evaluated_to_learn():
    problem = small()
    with make(problem) as agglomerator:
        agglomerator.not_here(*pair_of(agglomerator, int(np.flatnonzero(agglomerator.available())[0])))
        n_rows = problem[2].n_rows
        agglomerator.learn(ToyLearner())
        agglomerator.scores()
        assert problem[2].n_rows == n_rows


def test_ordered_by_energy_alone_nothing_can_be_learned():
    with agglomerate() as agglomerator:
        with pytest.raises(ActionError, match="Use the policy `learned`"):
            agglomerator.learn(ToyLearner())
        agglomerator.learn(None)
        agglomerator.merge(*pair_of(agglomerator, 0))
        assert agglomerator.learning.lessons == ()


def test_a_failing_network_leaves_a_cut_undone():
    labels, specs, energy = small()
    with make((labels, specs, energy), is_lazy=True, cache_entries=0) as agglomerator:
        for _ in range(5):
            agglomerator.step(np.inf)
        step = agglomerator.history[0]
        before = snapshot(agglomerator)
        energies, calls = energy.energies, []

        def fail(*arguments):
            calls.append(1)
            if len(calls) > 1:
                raise EnergyError("the network is gone")
            return energies(*arguments)

        for allowed in (0, 1):
            calls[:] = [1] * (1 - allowed)
            energy.energies = fail
            try:
                agglomerator.cut(step.u_id, step.v_id)
            except EnergyError:
                energy.energies = energies
                assert snapshot(agglomerator) == before
            else:
                energy.energies = energies
                agglomerator.undo()

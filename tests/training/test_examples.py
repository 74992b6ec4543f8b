"""Examples are what the definition says, and right and wrong merges weigh the same."""

import numpy as np
import pytest

from core.problems import random_labels
from napari_celis.core import buffers
from napari_celis.core.descriptors import sample_spec, unpack_bits
from napari_celis.core.errors import TrainingError
from napari_celis.core.parallel import Pool
from napari_celis.training.examples import sample_examples, stream
from napari_celis.training.folds import Scene
from reference.examples import merge_examples

SHAPE = (9, 10, 11)
NOTHING = 1e-12
STATES = ("nothing", "expert", "random")


def spec_of(kind):
    """Boxes, regions and strides that differ along every axis; more bits than one word holds."""
    rng = np.random.default_rng(5)
    return sample_spec(kind, kind, (3, 4, 3), rng=rng, k=66, region_zyx=(5, 6, 7), stride_zyx=(2, 2, 3))


@pytest.fixture(scope="module")
def volumes():
    """Supervoxels with background, and a truth that crosses them and is unknown in places."""
    rng = np.random.default_rng(8)
    labels = random_labels(rng, SHAPE, 14, 0.1)
    truth = random_labels(rng, SHAPE, 4, 0.0)
    truth[labels == labels.max()] = 0
    return labels, truth


@pytest.fixture(scope="module")
def scene(volumes):
    return Scene.make(*volumes, np.empty(0, dtype=np.float32))


@pytest.fixture(scope="module", params=["pairwise", "center"])
def table(request, scene):
    pool = Pool()
    yield scene.table(spec_of(request.param), pool)
    pool.close()


def state_of(scene, name):
    """Actions taken after nothing, after half of the expert's way, or anyhow."""
    if name == "random":
        return np.random.default_rng(1).random(len(scene.actions)) < 0.25
    return scene.expert_states({"nothing": (0.0,), "expert": (0.5,)}[name])[0]


def pairs_of(scene, taken):
    ids = scene.supervoxels.ids
    rows = np.flatnonzero(taken)
    return {frozenset((int(ids[scene.actions.u[i]]), int(ids[scene.actions.v[i]]))) for i in rows}


def keys_of(table, centres, rows):
    """The places of centres and their bits, as the reference names them."""
    bits = unpack_bits(rows, table.tiling.spec.n_bits).astype(bool).tolist()
    positions = table.tiling.centres[centres].tolist()
    return [(tuple(place), tuple(row)) for place, row in zip(positions, bits, strict=True)]


def bits_of(table, rows):
    return [tuple(row) for row in unpack_bits(rows, table.tiling.spec.n_bits).astype(bool).tolist()]


def parts_of(scene):
    return scene.supervoxels, scene.actions, scene.overlaps


@pytest.fixture(scope="module")
def expected(volumes, scene, table):
    """The reference in every state."""
    spec = table.tiling.spec
    return {name: merge_examples(*volumes, spec, pairs_of(scene, state_of(scene, name))) for name in STATES}


def wanted_of(everything):
    """Leave out the merges that change nothing globally."""
    return {key: value for key, value in everything.items() if abs(value[1]) > NOTHING}


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("is_cut", [False, True], ids=["one batch", "many batches"])
def test_examples_equal_the_definition(expected, scene, table, state, is_cut, monkeypatch):
    if is_cut:
        monkeypatch.setattr(buffers, "ROWS", 0)
    batches = list(stream(table, *parts_of(scene), state_of(scene, state)))
    assert (len(batches) > 1) == is_cut
    centres, before, after, change = (np.concatenate(column) for column in zip(*batches, strict=True))
    wanted = wanted_of(expected[state])
    # Merges inside a whole segment, or where the truth is unknown, are there to be left out.
    assert len(wanted) < len(expected[state])
    keys = keys_of(table, centres, after)
    assert len(keys) == len(set(keys))
    assert set(keys) == set(wanted)
    assert bits_of(table, before) == [wanted[key][0] for key in keys]
    np.testing.assert_allclose(change, [wanted[key][1] for key in keys], rtol=1e-9, atol=NOTHING)
    assert (change < 0).any()
    assert (change > 0).any()


@pytest.mark.parametrize("power", [1.0, 0.5])
def test_a_sample_of_everything_weighs_by_the_change_with_both_kinds_alike(expected, scene, table, power):
    names = ("expert", "random")
    rng = np.random.default_rng(0)
    states = [state_of(scene, name) for name in names]
    examples = sample_examples(table, *parts_of(scene), states, budget=10**6, power=power, rng=rng)
    keys = keys_of(table, examples.centres, examples.after)
    found = zip(keys, bits_of(table, examples.before), examples.y.tolist(), strict=True)
    rows = [(*key, *value) for name in names for key, value in wanted_of(expected[name]).items()]
    change = np.array([row[-1] for row in rows])
    weight = np.abs(change) ** power
    for is_kind in (change < 0, change > 0):
        weight[is_kind] /= weight[is_kind].sum()
    y = np.sign(change) * weight / weight.mean()
    wanted = [((place, after), before, own) for (place, after, before, _), own in zip(rows, y, strict=True)]
    for one, other in zip(sorted(found), sorted(wanted), strict=True):
        assert one[:2] == other[:2]
        assert one[2] == pytest.approx(other[2], rel=1e-5)


def test_a_small_sample_is_half_right_and_half_wrong_with_the_same_weight(expected, scene, table):
    wanted = wanted_of(expected["nothing"])
    drawn = []
    for seed in (2, 2, 3):
        rng = np.random.default_rng(seed)
        taken = state_of(scene, "nothing")
        examples = sample_examples(table, *parts_of(scene), [taken], budget=41, power=0.5, rng=rng)
        assert ((examples.y < 0).sum(), (examples.y > 0).sum()) == (20, 20)
        np.testing.assert_allclose(examples.y.sum(dtype=float), 0.0, atol=1e-4)
        np.testing.assert_allclose(np.abs(examples.y).mean(dtype=float), 1.0, rtol=1e-5)
        keys = keys_of(table, examples.centres, examples.after)
        assert bits_of(table, examples.before) == [wanted[key][0] for key in keys]
        assert (np.sign(examples.y) == np.sign([wanted[key][1] for key in keys])).all()
        drawn.append(set(keys))
    assert drawn[0] == drawn[1] != drawn[2]


def test_supervoxels_without_right_or_without_wrong_merges(volumes):
    labels, _ = volumes
    pool = Pool()
    for truth, message in (
        (labels, "no true merge for spec `pairwise`.*finer supervoxels"),
        (np.ones_like(labels), "no false merge for spec `pairwise`.*larger volume"),
    ):
        scene = Scene.make(labels, truth, np.empty(0, dtype=np.float32))
        with pytest.raises(TrainingError, match=message) as refused:
            sample_examples(
                scene.table(spec_of("pairwise"), pool), *parts_of(scene), scene.expert_states((0.0, 0.9)),
                budget=100, power=0.5, rng=np.random.default_rng(0),
            )  # fmt: skip
        assert "\n" not in str(refused.value)
    pool.close()

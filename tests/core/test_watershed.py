"""The watershed against its definition, and what follows from that: symmetries, thresholds, bad input."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_array_equal

from napari_celis.core.errors import VolumeError
from napari_celis.core.watershed import AffinitiesError, WatershedError, WatershedSettings, watershed
from reference import watershed as reference

FEW = settings(max_examples=150, deadline=None)
shapes = st.tuples(st.just(3), *[st.integers(1, 4)] * 3)
# Few levels make many plateaus.
levels = st.integers(2, 5).flatmap(
    lambda n: shapes.flatmap(lambda s: hnp.arrays(np.uint8, s, elements=st.integers(0, n - 1)))
)


@st.composite
def thresholds(draw):
    grid = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])
    low, high = sorted((draw(grid), draw(grid)))
    return WatershedSettings(low, high, draw(grid), draw(st.sampled_from([0, 1, 2, 3, 5, 100])))


def expected(affinities, s):
    return reference.watershed(affinities, s.low, s.high, s.merge, s.size)


def distinct(rng, shape):
    """Affinities without two equal ones."""
    n = int(np.prod(shape))
    return (rng.permutation(n).reshape(shape) / n).astype(np.float32)


def same_partition(a, b):
    pairs = np.unique(np.stack([a.ravel(), b.ravel()]), axis=1)
    return all(len(np.unique(ids)) == pairs.shape[1] for ids in pairs) and ((a == 0) == (b == 0)).all()


@pytest.mark.kernels
@FEW
@given(levels, thresholds())
def test_floats_follow_the_definition(affinities, thresholds):
    affinities = (affinities / np.float32(4)).astype(np.float32)
    assert_array_equal(watershed(affinities, thresholds), expected(affinities, thresholds))


@pytest.mark.kernels
@FEW
@given(levels, thresholds())
def test_bytes_follow_the_definition(affinities, thresholds):
    affinities = np.array([0, 64, 128, 192, 255], dtype=np.uint8)[affinities]
    assert_array_equal(watershed(affinities, thresholds), expected(affinities / 255, thresholds))


@pytest.mark.kernels
def test_distinct_affinities_follow_the_definition():
    rng = np.random.default_rng(1)
    for size in (0, 5, 20):
        affinities = distinct(rng, (3, 6, 5, 7))
        thresholds = WatershedSettings(0.1, 0.9, 0.4, size)
        assert_array_equal(watershed(affinities, thresholds), expected(affinities, thresholds))


@pytest.mark.kernels
def test_plateau_is_divided_in_the_middle():
    """Two peaks at the ends of a row of equal edges: each takes its half, the odd voxel goes down."""
    row = np.full((3, 1, 1, 10), 0.5, dtype=np.float32)
    row[2, 0, 0, [1, 9]] = 0.8
    assert watershed(row, WatershedSettings(0.1, 0.9, size=0)).ravel().tolist() == [1] * 5 + [2] * 5
    odd = np.delete(row, 4, axis=3)
    assert watershed(odd, WatershedSettings(0.1, 0.9, size=0)).ravel().tolist() == [1] * 5 + [2] * 4


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_flips_do_not_matter_without_ties(axis):
    affinities = distinct(np.random.default_rng(2), (3, 9, 10, 11))
    flipped = np.flip(affinities, axis + 1).copy()
    # The edge below a voxel is the edge above its mirror image.
    flipped[axis] = np.roll(flipped[axis], 1, axis)
    for thresholds in (WatershedSettings(0.2, 0.95, size=0), WatershedSettings(0.2, 0.95, 0.3, 30)):
        assert same_partition(
            watershed(flipped, thresholds), np.flip(watershed(affinities, thresholds), axis)
        )


@pytest.mark.parametrize("order", [(0, 2, 1), (2, 1, 0), (1, 2, 0)])
def test_transposes_do_not_matter_without_ties(order):
    affinities = distinct(np.random.default_rng(3), (3, 9, 10, 11))
    turned = affinities[list(order)].transpose(0, *(axis + 1 for axis in order))
    thresholds = WatershedSettings(0.2, 0.95, 0.3, 30)
    assert same_partition(watershed(turned, thresholds), watershed(affinities, thresholds).transpose(order))


def test_equal_thresholds_are_connected_components():
    """With T_l = T_h, as in the paper, there is nothing to ascend: what conducts is joined."""
    cc3d = pytest.importorskip("cc3d")
    rng = np.random.default_rng(4)
    inside = rng.random((12, 20, 20)) < 0.6
    affinities = np.zeros((3, *inside.shape), dtype=np.float32)
    for axis in range(3):
        affinities[axis] = 0.99 * (inside & np.roll(inside, 1, axis))
    labels = watershed(affinities, WatershedSettings(size=0))
    components = cc3d.connected_components(inside.astype(np.uint8), connectivity=6)
    sizes = np.bincount(components.ravel())
    components[sizes[components] == 1] = 0
    assert same_partition(labels, components)


def test_low_0_leaves_no_background():
    affinities = distinct(np.random.default_rng(5), (3, 5, 6, 7))
    affinities[0] *= -0.0
    assert watershed(affinities, WatershedSettings(0.0, 0.95)).min() == 1


def test_merging_leaves_large_segments_apart():
    affinities = np.full((3, 1, 1, 12), 0.99, dtype=np.float32)
    affinities[2, 0, 0, 4] = 0.7
    affinities[2, 0, 0, 10] = 0.6
    sizes = {size: watershed(affinities, WatershedSettings(size=size)).max() for size in (0, 3, 5, 7, 1000)}
    assert sizes == {0: 3, 3: 2, 5: 1, 7: 1, 1000: 1}
    assert watershed(affinities, WatershedSettings(merge=0.65, size=1000)).max() == 2


def test_types_and_layouts_agree():
    rng = np.random.default_rng(6)
    levels = rng.integers(0, 256, (3, 6, 7, 8), dtype=np.uint8)
    thresholds = WatershedSettings(0.2, 0.8, 0.5, 20)
    labels = watershed(levels, thresholds)
    assert labels.dtype == np.int32
    for affinities in (levels / 255, (levels / 255).astype(np.float32), np.asfortranarray(levels)):
        assert_array_equal(watershed(affinities, thresholds), labels)


def test_values_without_a_neighbour_are_not_looked_at():
    affinities = distinct(np.random.default_rng(7), (3, 4, 5, 6))
    labels = watershed(affinities, WatershedSettings(0.1, 0.9))
    affinities[0, 0], affinities[1, :, 0], affinities[2, :, :, 0] = np.nan, 7.0, -1.0
    assert_array_equal(watershed(affinities, WatershedSettings(0.1, 0.9)), labels)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda a: a[0], "3 × Z × Y × X"),
        (lambda a: np.concatenate([a, a]), "nearest neighbours only"),
        (lambda a: a.astype(np.int16), "int16"),
        (lambda a: a * np.float32(255), "between 0 and 1"),
        (lambda a: a - np.float32(0.5), "between 0 and 1"),
        (lambda a: np.where(a > 0.5, np.nan, a), "NaN"),
    ],
)
def test_bad_affinities_are_explained(change, message):
    affinities = distinct(np.random.default_rng(8), (3, 4, 5, 6))
    with pytest.raises(AffinitiesError, match=message):
        watershed(change(affinities))


def test_empty_volume_is_explained():
    with pytest.raises(VolumeError, match="is empty"):
        watershed(np.zeros((3, 4, 0, 4), dtype=np.uint8))


def test_too_many_voxels_are_explained():
    huge = np.broadcast_to(np.uint8(0), (3, 2000, 2000, 2000))
    with pytest.raises(AffinitiesError, match="blocks"):
        watershed(huge)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"low": 0.96}, "`low` \\(0.96\\) is above `high` \\(0.95\\)"),
        ({"high": 1.5}, "`high` must be"),
        ({"low": -0.1}, "`low` must be"),
        ({"merge": float("nan")}, "`merge` must be"),
        ({"size": -1}, "`size` must be"),
        ({"size": 2.5}, "`size` must be"),
    ],
)
def test_bad_settings_are_explained(values, message):
    with pytest.raises(WatershedError, match=message):
        WatershedSettings(**values)

"""The watershed from seeds against its definition; blocks, voxel sizes, poor affinities, bad input."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_array_equal
from scipy import ndimage

from napari_celis.core.errors import VolumeError
from napari_celis.core.kernels import seeded as kernels
from napari_celis.core.seeded_watershed import (
    MEANS,
    SeededSettings,
    by_sections,
    count_means,
    cut_from_seeds,
    foreground_limits,
    halo_nm,
    seeded_watershed,
)
from napari_celis.core.watershed import AffinitiesError, WatershedError
from reference import seeded_watershed as reference

FEW = settings(max_examples=60, deadline=None)
ISOTROPIC = (10.0, 10.0, 10.0)
shapes = st.tuples(st.just(3), st.integers(1, 4), st.integers(1, 5), st.integers(1, 5))
levels = shapes.flatmap(
    lambda s: hnp.arrays(np.uint8, s, elements=st.sampled_from([0, 60, 150, 180, 200, 250, 255]))
)
# Whole numbers of nm: squares are exact, so no distance hangs on rounding.
sizes = st.sampled_from([ISOTROPIC, (20.0, 10.0, 10.0), (40.0, 4.0, 4.0), (8.0, 10.0, 9.0)])


@st.composite
def some_settings(draw):
    return SeededSettings(
        foreground=draw(st.sampled_from([0.0, 0.5, 0.7, 0.9])),
        reach_nm=draw(st.sampled_from([15.0, 200.0])),
        smoothing_nm=draw(st.sampled_from([0.0, 5.0, 10.0])),
        separation_nm=draw(st.sampled_from([0.0, 10.0, 20.0])),
        smallest_nm=draw(st.sampled_from([0.0, 12.0, 16.0, 100.0])),
    )


def cells(rng, shape, n=40):
    """Affinities of random cells: high inside, low between them, uncertain all over."""
    points = rng.uniform(0, 1, (n, 3)) * shape
    grid = np.stack(np.indices(shape), axis=-1)[..., None, :]
    truth = ((grid - points) ** 2).sum(-1).argmin(-1)
    affinities = np.ones((3, *shape), np.float32)
    for axis in range(3):
        affinities[axis] = np.where(truth == np.roll(truth, 1, axis), 0.97, 0.1)
    return np.clip(affinities + rng.normal(0, 0.05, affinities.shape), 0, 1).astype(np.float32), truth


def expected(affinities, size_nm, chosen):
    try:
        return seeded_watershed(affinities, size_nm, chosen)
    except WatershedError:
        return np.zeros(affinities.shape[1:], np.int32)


@pytest.mark.kernels
@FEW
@given(levels, sizes, some_settings())
def test_it_follows_the_definition(levels, size_nm, chosen):
    assert_array_equal(expected(levels, size_nm, chosen), reference.seeded_watershed(levels, size_nm, chosen))


@pytest.mark.kernels
@FEW
@given(
    hnp.arrays(bool, st.tuples(*[st.integers(1, 9)] * 3)),
    st.tuples(*[st.floats(1, 50)] * 3),
)
def test_distances_are_those_of_scipy(inside, size_nm):
    squares = np.where(inside, np.inf, 0.0)
    if inside.all():
        return
    for axis, size in enumerate(size_nm):
        n, along = inside.shape[axis], np.moveaxis(squares, axis, 1)
        kernels.lower_envelope(along, size, np.empty(n, np.int64), np.empty(n + 1), np.empty(n))
    wanted = ndimage.distance_transform_edt(inside, sampling=size_nm)
    np.testing.assert_allclose(np.sqrt(squares), wanted, rtol=1e-9)


def test_floats_are_rounded_to_bytes():
    bytes_ = np.random.default_rng(0).integers(0, 256, (3, 6, 12, 12), dtype=np.uint8)
    labels = seeded_watershed(bytes_, ISOTROPIC)
    for floats in (bytes_ / 255, (bytes_ / 255).astype(np.float32), np.asfortranarray(bytes_)):
        assert_array_equal(seeded_watershed(floats, ISOTROPIC), labels)
    assert labels.dtype == np.int32


def test_every_cell_gets_supervoxels_of_its_own():
    affinities, truth = cells(np.random.default_rng(1), (40, 50, 50))
    labels = seeded_watershed(affinities, ISOTROPIC)
    assert labels.min() == 1
    assert 40 <= labels.max() <= 80
    main = np.array([np.bincount(truth[labels == label]).max() for label in range(1, labels.max() + 1)])
    assert main.sum() > 0.95 * labels.size


def test_lengths_carry_over_to_other_voxels():
    """The same tissue at half the voxel size is cut into about as many pieces."""
    affinities, _ = cells(np.random.default_rng(2), (24, 32, 32), n=12)
    fine = np.ones((3, 48, 64, 64), np.float32)
    for axis in range(3):
        doubled = affinities[axis].repeat(2, 0).repeat(2, 1).repeat(2, 2)
        inner = np.moveaxis(doubled, axis, 0)
        inner[1::2] = 0.97
        fine[axis] = doubled
    coarse = seeded_watershed(affinities, (20.0, 20.0, 20.0)).max()
    assert abs(int(seeded_watershed(fine, ISOTROPIC).max()) - int(coarse)) <= 0.5 * coarse


def test_thick_sections_are_cut_one_by_one():
    affinities, _ = cells(np.random.default_rng(3), (6, 60, 60), n=15)
    labels = seeded_watershed(affinities, (40.0, 4.0, 4.0))
    own = [set(np.unique(section)) for section in labels]
    assert all(not a & b for a, b in pairwise(own))
    changed = affinities.copy()
    changed[0] = 0.5
    assert_array_equal(seeded_watershed(changed, (40.0, 4.0, 4.0)), labels)
    assert len(np.unique(seeded_watershed(affinities, (20.0, 10.0, 10.0))[:2])) < len(own[0] | own[1])


def test_blocks_agree_with_the_whole():
    """Seeds agree at the distance that `halo_nm` says, what floods from them at twice that distance."""
    affinities, _ = cells(np.random.default_rng(4), (30, 40, 110), n=60)
    chosen = replace(SeededSettings(), reach_nm=100.0, smallest_nm=0.0)
    whole = seeded_watershed(affinities, ISOTROPIC, chosen)
    halo = round(halo_nm(chosen) / 10)
    block = seeded_watershed(affinities[..., :80].copy(), ISOTROPIC, chosen)
    inner = slice(0, 80 - 2 * halo)
    pairs = np.unique(np.stack([whole[..., inner].ravel(), block[..., inner].ravel()]), axis=1)
    assert inner.stop > 30
    assert all(len(np.unique(ids)) == pairs.shape[1] for ids in pairs)


def test_pure_noise_makes_no_dust():
    noise = np.random.default_rng(5).random((3, 40, 64, 64)).astype(np.float32)
    sizes = np.bincount(seeded_watershed(noise, ISOTROPIC).ravel())[1:]
    assert len(sizes) < 40 * 64 * 64 / 125
    assert sizes.min() >= 125


def test_a_network_that_is_sure_of_nothing():
    """Affinities between 0.45 and 0.55 are cut at their median instead of being refused."""
    affinities, _ = cells(np.random.default_rng(6), (30, 40, 40))
    labels = seeded_watershed(0.45 + 0.1 * affinities, ISOTROPIC)
    assert 20 <= labels.max() <= 200
    assert labels.min() == 1


def test_a_section_without_anything_is_background():
    affinities, _ = cells(np.random.default_rng(7), (3, 40, 40))
    affinities[:, 1] = 0.0
    labels = seeded_watershed(affinities, (40.0, 4.0, 4.0))
    assert not labels[1].any()
    assert labels[[0, 2]].all()


def test_values_without_a_neighbour_are_not_looked_at():
    affinities, _ = cells(np.random.default_rng(8), (6, 20, 20))
    labels = seeded_watershed(affinities, ISOTROPIC)
    affinities[0, 0], affinities[1, :, 0], affinities[2, :, :, 0] = np.nan, 7.0, -1.0
    assert_array_equal(seeded_watershed(affinities, ISOTROPIC), labels)


@pytest.mark.parametrize(
    ("affinities", "size_nm", "kind", "message"),
    [
        (np.zeros((3, 4, 5, 6), np.float32), ISOTROPIC, WatershedError, "All affinities are alike"),
        (np.zeros((4, 4, 5, 6), np.float32), ISOTROPIC, AffinitiesError, "3 × Z × Y × X"),
        (np.full((3, 4, 5, 6), 2.0, np.float32), ISOTROPIC, AffinitiesError, "between 0 and 1"),
        (np.full((3, 4, 5, 6), np.nan), ISOTROPIC, AffinitiesError, "NaN"),
        (np.zeros((3, 4, 5, 6), np.int16), ISOTROPIC, AffinitiesError, "int16"),
        (np.zeros((3, 4, 0, 6), np.uint8), ISOTROPIC, VolumeError, "is empty"),
        (np.zeros((3, 4, 5, 6), np.uint8), (10.0, 10.0), WatershedError, "three lengths"),
        (np.zeros((3, 4, 5, 6), np.uint8), (0.0, 4.0, 4.0), WatershedError, "above 0"),
        (np.zeros((3, 4, 5, 6), np.uint8), (float("inf"), 4.0, 4.0), WatershedError, "above 0"),
    ],
)
def test_bad_input_is_explained(affinities, size_nm, kind, message):
    with pytest.raises(kind, match=message):
        seeded_watershed(affinities, size_nm)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"foreground": 1.0}, "`foreground` must be"),
        ({"foreground": float("nan")}, "`foreground` must be"),
        ({"reach_nm": 0.0}, "`reach_nm` must be a length in nm, above 0"),
        ({"smoothing_nm": -1.0}, "`smoothing_nm` must be"),
        ({"separation_nm": float("inf")}, "`separation_nm` must be"),
        ({"smallest_nm": float("nan")}, "`smallest_nm` must be"),
    ],
)
def test_bad_settings_are_explained(values, message):
    with pytest.raises(WatershedError, match=message):
        SeededSettings(**values)


@pytest.mark.kernels
@FEW
@given(levels, sizes, st.data())
def test_counts_of_parts_add_up_to_the_definition(levels, size_nm, data):
    shape = levels.shape[1:]
    cuts = [data.draw(st.integers(0, n)) for n in shape]
    rows = shape[0] if by_sections(size_nm) else 1
    total = np.zeros((rows, MEANS), dtype=np.int64)
    for ends in np.ndindex(2, 2, 2):
        box = [
            slice(0, cut) if end == 0 else slice(cut, n)
            for end, cut, n in zip(ends, cuts, shape, strict=True)
        ]
        if any(part.start == part.stop for part in box):
            continue
        # One layer more on every side, as far as the volume goes: the faces of the voxels that count.
        around = [slice(max(0, p.start - 1), min(p.stop + 1, n)) for p, n in zip(box, shape, strict=True)]
        begin = [p.start - a.start for p, a in zip(box, around, strict=True)]
        end = [p.stop - a.start for p, a in zip(box, around, strict=True)]
        found = count_means(levels[(slice(None), *around)], size_nm, begin, end)
        total[box[0] if rows > 1 else slice(0, 1)] += found
    assert_array_equal(total, count_means(levels, size_nm))
    sections = [levels[:, z : z + 1] for z in range(shape[0])] if rows > 1 else [levels]
    wanted = [np.bincount(reference.mean_levels(part), minlength=MEANS) for part in sections]
    assert_array_equal(total, wanted)


@pytest.mark.kernels
@FEW
@given(levels, sizes, some_settings())
def test_seeds_lie_in_their_supervoxels_and_come_in_order(levels, size_nm, chosen):
    cut = cut_from_seeds(levels, size_nm, chosen)
    assert_array_equal(cut.labels, expected(levels, size_nm, chosen))
    n = int(cut.labels.max())
    assert cut.seeds.shape == (n + 1,)
    assert_array_equal(cut.labels.reshape(-1)[cut.seeds[1:]], np.arange(1, n + 1))


def test_a_part_with_the_limits_of_the_whole_names_the_seeds_of_the_whole():
    affinities, _ = cells(np.random.default_rng(3), (20, 40, 40))
    size_nm, chosen = ISOTROPIC, SeededSettings(reach_nm=40, smoothing_nm=5, smallest_nm=0)
    limits = foreground_limits(count_means(affinities, size_nm), chosen)
    whole = cut_from_seeds(affinities, size_nm, chosen)
    assert_array_equal(whole.labels, cut_from_seeds(affinities, size_nm, chosen, limits).labels)
    part = cut_from_seeds(affinities[:, :, :, 8:], size_nm, chosen, limits)
    at = np.stack(np.unravel_index(part.seeds[1:], part.labels.shape), axis=1) + np.array([0, 0, 8])
    halo = int(np.ceil(halo_nm(chosen) / 10)) + 1
    far = at[at[:, 2] >= 8 + halo]
    own = np.stack(np.unravel_index(whole.seeds[1:], whole.labels.shape), axis=1)
    assert len(far) > 10
    assert {tuple(one) for one in far} == {tuple(one) for one in own[own[:, 2] >= 8 + halo]}

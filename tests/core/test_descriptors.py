"""Descriptor specs and the bits they define, against plain enumeration."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from napari_celis.core.descriptors import (
    DescriptorSpec,
    hamming_distance,
    paper_specs,
    sample_spec,
    shape_descriptors,
    unpack_bits,
)
from napari_celis.core.errors import SpecError
from reference.descriptors import all_pairs, offsets_of, rand_disagreements
from reference.energy import descriptor

KINDS = ("pairwise", "center")
BOXES = ((3, 3, 3), (2, 2, 2), (4, 3, 5), (1, 4, 3), (1, 1, 3), (1, 1, 2), (2, 1, 5))


def rng(seed=0):
    return np.random.default_rng(seed)


def as_set(spec):
    return {frozenset(tuple(int(v) for v in end) for end in pair) for pair in spec.pairs}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("box", BOXES)
def test_asking_for_too_many_pairs_gives_all_of_them(box, kind):
    spec = sample_spec("all", kind, box, rng=rng(), k=10**5)
    assert as_set(spec) == all_pairs(box, kind)
    assert spec.n_bits == len(all_pairs(box, kind))
    assert spec.n_words == (spec.n_bits + 63) // 64


@settings(max_examples=40, deadline=None)
@given(
    st.tuples(*[st.integers(1, 6)] * 3).filter(lambda box: np.prod(box) > 1),
    st.sampled_from(KINDS),
    st.integers(1, 600),
    st.integers(0, 2**32),
)
def test_drawn_pairs_differ_and_stay_in_the_box(box, kind, k, seed):
    spec = sample_spec("drawn", kind, box, rng=rng(seed), k=k)
    assert spec.n_bits == len(as_set(spec)) == min(k, len(all_pairs(box, kind)))
    assert as_set(spec) <= all_pairs(box, kind)
    assert spec.region_zyx == tuple(2 * size - 1 for size in box)
    assert (-np.array(spec.low_zyx) + spec.high_zyx).tolist() == [
        sum(axis) for axis in zip(min(offsets_of(box)), max(offsets_of(box)), strict=True)
    ]
    again = sample_spec("drawn", kind, box, rng=rng(seed), k=k)
    np.testing.assert_array_equal(spec.pairs, again.pairs)


def test_another_seed_draws_other_pairs():
    first, second = (sample_spec("s", "pairwise", (9, 9, 9), rng=rng(seed)) for seed in (0, 1))
    assert len(as_set(first) & as_set(second)) < 10


@pytest.mark.parametrize(
    ("kind", "box", "k"),
    [("pairwise", (3, 3, 3), 40), ("pairwise", (1, 3, 3), 10), ("center", (3, 3, 3), 7)],
    ids=["few of many pairs", "many of few pairs", "center"],
)
def test_every_pair_is_equally_likely(kind, box, k):
    n_specs, generator = 400, rng(5)
    counts = Counter()
    for _ in range(n_specs):
        counts.update(as_set(sample_spec("s", kind, box, rng=generator, k=k)))
    pairs = all_pairs(box, kind)
    p = k / len(pairs)
    expected = n_specs * p
    chi2 = sum((counts[pair] - expected) ** 2 for pair in pairs) / (expected * (1 - p))
    # About chi-square with one degree of freedom per pair: five standard deviations around the mean.
    assert abs(chi2 - len(pairs)) < 5 * np.sqrt(2 * len(pairs))


def test_offsets_are_stored_and_belong_to_the_spec_alone():
    mine = np.array([[[0, 0, 0], [0, 0, 1]], [[0, 0, -1], [0, 1, 0]]], dtype=np.int32)
    spec = DescriptorSpec("s", "pairwise", (3, 3, 3), mine, (3, 3, 3))
    before = mine.copy()
    mine[0, 1, 2] = -1
    np.testing.assert_array_equal(spec.pairs, before)
    with pytest.raises(ValueError, match="read-only"):
        spec.pairs[0, 0, 0] = 1
    strided = replace(spec, stride_zyx=(1, 2, 3))
    assert strided.stride_zyx == (1, 2, 3)
    assert strided.weight == 6.0
    np.testing.assert_array_equal(strided.pairs, before)


def test_the_specs_of_the_paper():
    specs = paper_specs(seed=3)
    assert [spec.name for spec in specs] == ["pairwise9", "pairwise17", "pairwise33", "center17", "center33"]
    assert [spec.kind for spec in specs] == ["pairwise"] * 3 + ["center"] * 2
    assert [spec.box_zyx for spec in specs] == [(n, n, n) for n in (9, 17, 33, 17, 33)]
    assert all(spec.n_bits == 512 and spec.n_words == 8 and spec.stride_zyx == (1, 1, 1) for spec in specs)
    assert all(len(as_set(spec)) == 512 for spec in specs)
    for spec, again in zip(specs, paper_specs(seed=3), strict=True):
        np.testing.assert_array_equal(spec.pairs, again.pairs)


def test_the_specs_of_the_paper_for_sections_of_40_nm():
    specs = paper_specs(voxel_size_nm=(40, 4, 4), k=64, strides=(4, 4, 8))
    assert [spec.box_zyx for spec in specs] == [(3, 9, 9), (3, 17, 17), (3, 33, 33), (3, 17, 17), (3, 33, 33)]
    assert [spec.stride_zyx for spec in specs] == [(1, 4, 4), (1, 4, 4), (1, 8, 8), (1, 4, 4), (1, 8, 8)]
    wide = paper_specs(voxel_size_nm=(30, 6, 6), k=8)[2].box_zyx
    assert wide == (7, 33, 33)


@st.composite
def blocks(draw):
    """A labelled block, a spec whose box fits into it, and the seed of the draw."""
    shape = [draw(st.integers(1, 6)) for _ in range(3)]
    box = [draw(st.integers(1, size)) for size in shape]
    generator = rng(draw(st.integers(0, 2**32)))
    if np.prod(box) == 1:
        shape[2], box[2] = max(2, shape[2]), 2
    spec = sample_spec("s", draw(st.sampled_from(KINDS)), box, rng=generator, k=draw(st.integers(1, 130)))
    return generator.integers(0, draw(st.integers(2, 5)), shape), spec


def centres_of_block(block, spec):
    low, high = spec.low_zyx, spec.high_zyx
    ranges = [range(a, size - b) for a, b, size in zip(low, high, block.shape, strict=True)]
    return np.stack([axis.ravel() for axis in np.meshgrid(*ranges, indexing="ij")], axis=1)


@pytest.mark.kernels
@settings(max_examples=30, deadline=None)
@given(blocks())
def test_bits_equal_the_definition(problem):
    block, spec = problem
    centres = centres_of_block(block, spec)
    bits = shape_descriptors(block, centres, spec)
    plain = np.array([descriptor(block, centre, spec) for centre in centres])
    assert bits.dtype == np.uint64
    assert bits.shape == (len(centres), spec.n_words)
    np.testing.assert_array_equal(unpack_bits(bits, spec.n_bits), plain)
    # Bits behind the last pair stay 0, or equal descriptors would get different hashes.
    np.testing.assert_array_equal(np.bitwise_count(bits).sum(axis=1), plain.sum(axis=1))
    other = bits[::-1]
    np.testing.assert_array_equal(hamming_distance(bits, other), (plain != plain[::-1]).sum(axis=1))


@pytest.mark.kernels
@settings(max_examples=25, deadline=None)
@given(st.sampled_from(BOXES), st.integers(0, 2**32), st.integers(2, 6))
def test_with_all_pairs_the_hamming_distance_is_the_rand_index(box, seed, n_labels):
    spec = sample_spec("all", "pairwise", box, rng=rng(), k=10**5)
    a, b = rng(seed).integers(0, n_labels, (2, *box))
    centre = np.array([spec.low_zyx])
    distance = hamming_distance(shape_descriptors(a, centre, spec), shape_descriptors(b, centre, spec))
    assert distance.tolist() == [rand_disagreements(a, b)]


def test_labels_beyond_32_bits_stay_apart():
    spec = sample_spec("all", "pairwise", (1, 1, 3), rng=rng())
    block = np.array([[[1, 2**32 + 1, 2**32]]], dtype=np.uint64)
    assert not shape_descriptors(block, np.array([[0, 0, 1]]), spec).any()
    assert shape_descriptors(np.full_like(block, 2**32), np.array([[0, 0, 1]]), spec).tolist() == [[7]]


@pytest.mark.parametrize("centre", [(0, 1, 1), (1, 1, 3), (-1, 1, 1), (1, 4, 1)])
def test_a_box_that_leaves_the_block_is_refused(centre):
    spec = sample_spec("s", "pairwise", (3, 3, 3), rng=rng())
    with pytest.raises(SpecError, match="leaves the array"):
        shape_descriptors(np.ones((3, 4, 4), int), np.array([centre]), spec)


def make(pairs, *, name="odd", kind="pairwise", box=(3, 3, 3), region=(5, 5, 5), stride=(1, 1, 1)):
    return DescriptorSpec(name, kind, box, np.array(pairs), region, stride)


ONE = [[[0, 0, 0], [0, 0, 1]]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"pairs": ONE, "region": (5, 2, 5)}, "region .* smaller than the box"),
        ({"pairs": [[[0, 0, 0], [0, 0, 2]]]}, r"offset \(0, 0, 2\) lies outside the box"),
        ({"pairs": [[[0, 0, 0], [0, 0, -1]]], "box": (2, 2, 2)}, r"offset \(0, 0, -1\) lies outside"),
        ({"pairs": [[[4, 0, 0], [0, 2, 0]]], "box": (9, 3, 3), "region": (9, 9, 9)}, r"offset \(0, 2, 0\)"),
        ({"pairs": ONE + ONE}, "occurs twice"),
        ({"pairs": [*ONE, [[0, 0, 1], [0, 0, 0]]]}, "occurs twice"),
        ({"pairs": [*ONE, [[1, 0, 0], [1, 0, 0]]]}, "with itself"),
        ({"pairs": [[[0, 0, 1], [0, 0, 0]]], "kind": "center"}, "first end"),
        ({"pairs": ONE, "kind": "centre"}, "kind"),
        ({"pairs": np.empty((0, 2, 3))}, "shape"),
        ({"pairs": [[0, 0, 0], [0, 0, 1]]}, "shape"),
        ({"pairs": [[[0, 0, 0], [0, 0, 0.5]]]}, "whole"),
        ({"pairs": ONE, "box": (3, 3)}, "box_zyx.*three positive whole numbers"),
        ({"pairs": ONE, "box": (3, 3, 2.5)}, "box_zyx.*three positive whole numbers"),
        ({"pairs": ONE, "stride": (1, 0, 1)}, "stride_zyx.*three positive whole numbers"),
        ({"pairs": ONE, "region": (5, -5, 5)}, "region_zyx.*three positive whole numbers"),
    ],
)
def test_specs_that_cannot_be_used_are_refused_by_name(arguments, message):
    with pytest.raises(SpecError, match=message) as caught:
        make(**arguments)
    assert "`odd`" in str(caught.value)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("k", [0, -3])
def test_a_spec_needs_pairs(kind, k):
    with pytest.raises(SpecError):
        sample_spec("none", kind, (3, 3, 3), rng=rng(), k=k)


@pytest.mark.parametrize("kind", KINDS)
def test_a_box_of_one_voxel_has_no_pairs(kind):
    with pytest.raises(SpecError):
        sample_spec("none", kind, (1, 1, 1), rng=rng())

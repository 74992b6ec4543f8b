from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal
from skimage.metrics import adapted_rand_error, variation_of_information

from napari_celis.core.errors import CelisError, LabelsError, ShapeMismatchError
from napari_celis.evaluation import contingency
from napari_celis.evaluation.contingency import ContingencyTable, contingency_table
from napari_celis.evaluation.metrics import ignore_boundary, score, worst_merges, worst_splits
from reference import metrics as reference

LARGEST = 2**64 - 1
FEW = settings(max_examples=60, deadline=None)


@st.composite
def label_pairs(draw, max_id=6):
    """A segmentation and a truth of the same small shape, with at least one labelled voxel."""
    shape = draw(hnp.array_shapes(min_dims=1, max_dims=3, max_side=5))
    ids = st.integers(0, max_id)
    segmentation = draw(hnp.arrays(np.int64, shape, elements=ids))
    truth = draw(hnp.arrays(np.int64, shape, elements=ids))
    truth.flat[0] = max(1, truth.flat[0])
    return segmentation, truth


def entries(table: ContingencyTable) -> dict[tuple[int, int], int]:
    segments = table.segment_ids[table.segment_indices].tolist()
    truths = table.truth_ids[table.truth_indices].tolist()
    return dict(zip(zip(segments, truths, strict=True), table.counts.tolist(), strict=True))


@pytest.fixture
def split_and_merged():
    """Object 1 is cut into segments 7 and 8 (6 + 2 voxels); segment 9 holds objects 2 and 3."""
    segmentation = np.array([7] * 6 + [8] * 2 + [9] * 5 + [4])
    truth = np.array([1] * 8 + [2] * 3 + [3] * 2 + [0])
    return contingency_table(segmentation, truth)


@FEW
@given(label_pairs())
def test_table_equals_counting_one_by_one(pair):
    table = contingency_table(*pair)
    assert entries(table) == reference.pair_counts(*pair)
    assert table.n_voxels == np.count_nonzero(pair[1])


@FEW
@given(label_pairs())
def test_scores_equal_their_definitions(pair):
    counts = reference.pair_counts(*pair)
    scores = score(contingency_table(*pair))
    assert_allclose(scores.vi_split, sum(reference.conditional_entropy(counts, 1).values()), atol=1e-12)
    assert_allclose(scores.vi_merge, sum(reference.conditional_entropy(counts, 0).values()), atol=1e-12)
    assert_allclose(scores.rand_f1, reference.rand_f1(*pair), atol=1e-12)
    assert_allclose(scores.vi_nats, (scores.vi_split + scores.vi_merge) * np.log(2))
    assert_allclose(scores.vi_split_nats + scores.vi_merge_nats, scores.vi_nats)


@FEW
@given(label_pairs())
def test_scores_equal_scikit_image(pair):
    segmentation, truth = pair
    scores = score(contingency_table(segmentation, truth))
    split, merge = variation_of_information(truth, segmentation, ignore_labels=(0,))
    assert_allclose([scores.vi_split, scores.vi_merge], [split, merge], atol=1e-12)
    with np.errstate(invalid="ignore", divide="ignore"):
        error = adapted_rand_error(truth, segmentation)[0]
    # scikit-image divides 0 by 0 when no two voxels are together anywhere.
    assert_allclose(scores.adapted_rand, 0.0 if np.isnan(error) else error, atol=1e-12)


@FEW
@given(label_pairs(), st.randoms(use_true_random=False))
def test_names_of_ids_do_not_matter(pair, random):
    segmentation, truth = pair
    new_segments = np.array(random.sample(range(100), 7))
    new_truths = np.array([0, *random.sample(range(1, 100), 6)])
    renamed = score(contingency_table(new_segments[segmentation], new_truths[truth]))
    before = score(contingency_table(segmentation, truth))
    assert_allclose([renamed.vi, renamed.rand_f1], [before.vi, before.rand_f1], atol=1e-12)


@FEW
@given(label_pairs())
def test_a_segmentation_agrees_with_itself(pair):
    _, truth = pair
    table = contingency_table(truth, truth)
    scores = score(table)
    assert (scores.vi_split, scores.vi_merge, scores.vi) == (0.0, 0.0, 0.0)
    assert (scores.rand_f1, scores.adapted_rand) == (1.0, 0.0)
    assert worst_splits(table) == worst_merges(table) == []


@FEW
@given(label_pairs(), st.lists(st.integers(0, 3), min_size=7, max_size=7))
def test_merging_rows_equals_merging_voxels(pair, new_ids):
    segmentation, truth = pair
    lut = np.array(new_ids)
    table = contingency_table(segmentation, truth)
    merged = table.merged(lut[table.segment_ids.astype(np.int64)])
    assert entries(merged) == entries(contingency_table(lut[segmentation], truth))


@FEW
@given(label_pairs())
def test_rows_and_sizes_agree(pair):
    table = contingency_table(*pair)
    for index in range(len(table.segment_ids)):
        truth_indices, counts = table.row(index)
        assert len(counts) > 0
        assert_array_equal(truth_indices, np.unique(truth_indices))
        assert counts.sum() == table.segment_sizes[index]
    assert_array_equal(table.transposed().segment_sizes, table.truth_sizes)
    assert entries(table.transposed().transposed()) == entries(table)


@FEW
@given(label_pairs())
def test_faults_add_up_to_the_error(pair):
    counts = reference.pair_counts(*pair)
    table = contingency_table(*pair)
    for faults, given_side in ((worst_splits(table), 1), (worst_merges(table), 0)):
        shares = reference.conditional_entropy(counts, given_side)
        expected = {key: bits for key, bits in shares.items() if bits > 0}
        assert {fault.object_id for fault in faults} == expected.keys()
        assert_allclose([fault.bits for fault in faults], sorted(expected.values(), reverse=True))


def test_faults_name_ids_sizes_and_pieces(split_and_merged):
    (split,) = worst_splits(split_and_merged)
    assert (split.object_id, split.n_voxels, split.n_pieces) == (1, 8, 2)
    assert (split.piece_ids, split.piece_voxels) == ((7, 8), (6, 2))
    (merge,) = worst_merges(split_and_merged)
    assert (merge.object_id, merge.n_voxels, merge.n_pieces) == (9, 5, 2)
    assert (merge.piece_ids, merge.piece_voxels) == ((2, 3), (3, 2))
    scores = score(split_and_merged)
    assert_allclose([split.bits, merge.bits], [scores.vi_split, scores.vi_merge])


def test_fault_lists_are_cut_but_still_count_everything(split_and_merged):
    (split,) = worst_splits(split_and_merged, n_pieces=1)
    assert (split.n_pieces, split.piece_ids) == (2, (7,))
    assert worst_merges(split_and_merged, limit=0) == []


def test_background_of_the_segmentation_is_one_segment():
    table = contingency_table(np.array([0, 0, 5, 5]), np.array([1, 2, 2, 0]))
    assert entries(table) == {(0, 1): 1, (0, 2): 1, (5, 2): 1}
    assert worst_merges(table)[0].object_id == 0


def test_single_voxels_have_no_pairs_to_get_wrong():
    scores = score(contingency_table(np.array([1, 2]), np.array([3, 4])))
    assert (scores.rand_precision, scores.rand_recall, scores.rand_f1) == (1.0, 1.0, 1.0)
    scores = score(contingency_table(np.array([1, 2]), np.array([3, 3])))
    assert (scores.rand_precision, scores.rand_recall, scores.rand_f1) == (1.0, 0.0, 0.0)


def test_ids_may_use_all_64_bits():
    # These differ only where a float64, a signed integer or a 32-bit half would lose the difference.
    ids = np.array([0, 1, 2**32, 2**53, 2**53 + 1, 2**63, 2**63 + 1, LARGEST - 1, LARGEST], dtype=np.uint64)
    segmentation, truth = np.meshgrid(ids, ids)
    table = contingency_table(segmentation, truth)
    assert_array_equal(table.segment_ids, ids)
    assert_array_equal(table.truth_ids, ids[1:])
    assert entries(table) == reference.pair_counts(segmentation, truth)
    assert worst_splits(contingency_table(segmentation[-1:], truth[-1:]))[0].object_id == LARGEST


def test_table_grows_with_the_pairs(monkeypatch):
    monkeypatch.setattr(contingency, "FIRST_BUCKETS", 2)
    monkeypatch.setattr(contingency, "CHUNK_VOXELS", 64)
    rng = np.random.default_rng(0)
    segmentation = rng.integers(0, 40, 900)
    truth = rng.integers(0, 30, 900)
    assert entries(contingency_table(segmentation, truth)) == reference.pair_counts(segmentation, truth)


def test_ids_with_a_block_number_in_the_high_half():
    block, local = np.meshgrid(np.arange(40, dtype=np.uint64), np.arange(40, dtype=np.uint64))
    segmentation = (block << np.uint64(32)) | local
    table = contingency_table(segmentation, np.ones_like(segmentation))
    assert_array_equal(table.segment_ids, np.sort(segmentation, axis=None))


@pytest.mark.parametrize("dtype", ["?", "u1", "i2", ">u4", "i8", "u8", ">u8"])
def test_any_integer_type_and_layout(dtype):
    rng = np.random.default_rng(1)
    segmentation = rng.integers(0, 9, (6, 8, 10)).astype(dtype)
    truth = rng.integers(0, 9, (6, 8, 10)).astype(dtype)
    expected = reference.pair_counts(segmentation, truth)
    assert entries(contingency_table(np.asfortranarray(segmentation), truth)) == expected
    assert entries(contingency_table(segmentation.astype("u8"), np.asfortranarray(truth))) == expected
    strided = (slice(None, None, -2), slice(1, None, 3), slice(None, None, 2))
    views = segmentation[strided].transpose(2, 0, 1), truth[strided].transpose(2, 0, 1)
    assert entries(contingency_table(*views)) == reference.pair_counts(*views)


def test_inputs_stay_as_they_were():
    truth = np.array([1, 2, 2], dtype=np.uint8)
    truth.flags.writeable = False
    contingency_table(truth, truth, ignored=np.array([True, False, False]))
    assert truth.tolist() == [1, 2, 2]


def test_a_table_is_frozen(split_and_merged):
    with pytest.raises(FrozenInstanceError):
        split_and_merged.counts = None


@FEW
@given(hnp.arrays(np.uint64, hnp.array_shapes(max_dims=3, max_side=4)), st.integers(0, 4))
def test_boundary_equals_measuring_every_distance(truth, n):
    ignored = ignore_boundary(truth, n)
    assert {tuple(voxel) for voxel in np.argwhere(ignored).tolist()} == reference.near_boundary(truth, n)


def test_boundary_is_two_voxels_wide_on_each_side():
    truth = np.repeat(np.array([[1, 1, 1, 1, 2, 2, 2, 2]], dtype=np.uint8), 3, axis=0)
    assert_array_equal(ignore_boundary(truth), [[0, 0, 1, 1, 1, 1, 0, 0]] * 3)


def test_ignored_voxels_are_not_counted():
    segmentation, truth = np.array([1, 1, 1, 1, 1, 2]), np.array([5, 5, 5, 6, 6, 6])
    table = contingency_table(segmentation, truth, ignore_boundary(truth, 2))
    assert entries(table) == {(1, 5): 1, (2, 6): 1}


@pytest.mark.parametrize(
    ("segmentation", "truth", "ignored", "error", "words"),
    [
        (np.ones(3, int), np.zeros(3, int), None, LabelsError, "0 everywhere"),
        (np.ones(0, int), np.ones(0, int), None, LabelsError, "nothing to compare"),
        (np.ones(3, int), np.ones(3, int), np.ones(3, bool), LabelsError, "thinner boundary"),
        (np.ones(3, int), np.ones(4, int), None, ShapeMismatchError, "`truth` has shape 4"),
        (np.ones(3, int), np.ones(3, int), np.ones(2, bool), ShapeMismatchError, "`ignored`"),
        (np.ones(3), np.ones(3, int), None, LabelsError, "`segmentation` holds float64"),
        (np.ones(3, int), np.ones(3), None, LabelsError, "`truth` holds float64"),
        (np.full(3, -4), np.ones(3, int), None, LabelsError, "the lowest is -4"),
    ],
)
def test_bad_input_is_explained(segmentation, truth, ignored, error, words):
    with pytest.raises(error, match=words):
        contingency_table(segmentation, truth, ignored)


def test_bad_settings_are_explained(split_and_merged):
    with pytest.raises(CelisError, match="0 or more"):
        ignore_boundary(np.ones((2, 2), int), -1)
    with pytest.raises(ShapeMismatchError, match="3 segments"):
        split_and_merged.merged(np.zeros(5, dtype=np.uint64))

"""Annotated volumes are divided into two folds, and refused where they do not belong together."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from napari_celis.core.errors import TrainingError
from napari_celis.training.annotated import (
    LARGEST_SHARE,
    AnnotatedVolume,
    Piece,
    divide,
    labelled_box,
    require_own_truths,
    require_voxel_sizes,
)


def truth_of(*labelled, width=3):
    """A truth with this many labelled voxels in each section."""
    truth = np.zeros((len(labelled), width, width), np.uint8)
    for section, n in zip(truth, labelled, strict=True):
        section.reshape(-1)[:n] = 1
    return truth


def test_one_volume_is_cut_where_half_of_its_labels_are():
    assert divide([truth_of(*[9] * 9)]) == ((Piece(0, 0, 4),), (Piece(0, 4, 9),))
    assert divide([truth_of(0, 0, 0, 0, 9, 9)]) == ((Piece(0, 0, 5),), (Piece(0, 5, 6),))


def test_several_volumes_stay_whole():
    equal = [truth_of(*[9] * 4) for _ in range(3)]
    assert divide(equal) == ((Piece(0, 0, 4), Piece(2, 0, 4)), (Piece(1, 0, 4),))
    assert divide(equal[:2]) == ((Piece(0, 0, 4),), (Piece(1, 0, 4),))


def test_a_volume_that_outweighs_all_others_is_cut():
    small, large = truth_of(9, 9), truth_of(*[9] * 20)
    first, second = divide([small, large])
    assert first == (Piece(0, 0, 2), Piece(1, 0, 10))
    assert second == (Piece(1, 10, 20),)


@given(st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=6), min_size=1, max_size=5))
def test_folds_hold_every_section_once(counts):
    truths = [truth_of(*own) for own in counts]
    folds = divide(truths)
    sections = [(piece.volume, z) for fold in folds for piece in fold for z in range(piece.start, piece.stop)]
    assert sorted(sections) == [(n, z) for n, own in enumerate(counts) for z in range(len(own))]
    total = sum(map(sum, counts))
    known = {piece: sum(counts[piece.volume][piece.sections]) for fold in folds for piece in fold}
    for piece, n in known.items():
        assert n <= LARGEST_SHARE * total or piece.stop - piece.start == 1


@given(st.data())
def test_the_box_holds_all_labels_and_is_not_too_small(data):
    shape = data.draw(st.tuples(*[st.integers(1, 7)] * 3))
    smallest = data.draw(st.tuples(*[st.integers(1, 9)] * 3))
    truth = np.zeros(shape, int)
    places = data.draw(st.lists(st.tuples(*(st.integers(0, n - 1) for n in shape)), min_size=1))
    truth[tuple(np.transpose(places))] = 5
    box = labelled_box(truth, smallest)
    assert (truth[box] > 0).sum() == (truth > 0).sum()
    for part, size, least, along in zip(box, shape, smallest, np.nonzero(truth), strict=True):
        assert 0 <= part.start < part.stop <= size
        assert part.stop - part.start == max(min(least, size), along.max() - along.min() + 1)


def test_one_voxel_size():
    require_voxel_sizes([("a", (40.0, 4.0, 4.0)), ("b", (40.0, 4.2, 4.0))])
    with pytest.raises(TrainingError, match="b measure 10 × 10 × 10 nm, those of a 40 × 4 × 4 nm"):
        require_voxel_sizes([("a", (40.0, 4.0, 4.0)), ("b", (10.0, 10.0, 10.0))])


def annotated(seed):
    """Cells with dark walls, at random places."""
    rng = np.random.default_rng(seed)
    cuts = [np.searchsorted(np.sort(rng.choice(48, 6, replace=False)), np.arange(48)) for _ in range(2)]
    truth = np.broadcast_to(cuts[0][:, None] * 10 + cuts[1] + 1, (16, 48, 48)).copy()
    wall = (np.diff(truth, axis=1, append=0) != 0) | (np.diff(truth, axis=2, append=0) != 0)
    return np.where(wall, 60, 160) + rng.normal(0, 20, truth.shape), truth


def test_truths_in_another_order_than_images():
    (first, truth_1), (second, truth_2) = annotated(0), annotated(1)
    require_own_truths([AnnotatedVolume(first, truth_1), AnnotatedVolume(second, truth_2)])
    exchanged = [AnnotatedVolume(first, truth_2, name="one"), AnnotatedVolume(second, truth_1, name="two")]
    with pytest.raises(TrainingError, match="given with one follows the boundaries of two"):
        require_own_truths(exchanged)
    # One volume twice is odd, but nothing is exchanged.
    require_own_truths([AnnotatedVolume(first, truth_1)] * 2)

"""Boxes of a block-wise result: opened as ordinary runs, and answered in a way that the next pass honours."""

import shutil
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from napari_celis.core.errors import CelisError, CorruptFileError
from napari_celis.io.volumes import open_volume
from napari_celis.pipeline.recipe import prepare
from napari_celis.scale import boxes
from napari_celis.scale.answers import FOLDER, add_answers, read_answers
from napari_celis.scale.box_answers import BoxAnswers
from napari_celis.scale.boxes import box_around, box_of, open_box
from napari_celis.scale.honour import Answer
from napari_celis.scale.run import BlockRun
from napari_celis.scale.settings import BlockwiseError
from napari_celis.scale.storage import RunStore
from scale.box_world import OFFSET_NM, SHAPE, bricks, make_request, run_all, segments_of, workers

BOX = (0, 12, 5, 30, 5, 45)
CORNER = (0, 8, 0, 15, 0, 15)
"""Inside the first block, far from the last ones."""


@pytest.fixture(scope="module")
def client():
    with workers() as client:
        yield client


@pytest.fixture(scope="module")
def finished(tmp_path_factory, client):
    """A request whose result is complete."""
    request = make_request(tmp_path_factory.mktemp("finished"))
    run_all(request, client)
    return request


@pytest.fixture
def request_(finished, tmp_path):
    """The same with a copy of the result, to be changed."""
    copy = tmp_path / "result.zarr"
    shutil.copytree(finished.output, copy)
    return replace(finished, output=str(copy))


@pytest.fixture
def run(request_):
    return BlockRun(RunStore(request_.output))


def prepared(run, numbers):
    """Open a box and prepare it; the agglomerator and what is written of it."""
    opened = open_box(run, box_of(numbers, SHAPE))
    return prepare(opened.choice).agglomerator, BoxAnswers(opened)


def pairs_of(agglomerator):
    """List the ids of all pairs that touch, and whether each is in one segment."""
    actions, ids, segment = agglomerator.actions, agglomerator.supervoxels.ids, agglomerator.segment_ids()
    u, v = ids[actions.u].tolist(), ids[actions.v].tolist()
    is_one = segment[actions.u] == segment[actions.v]
    return dict(zip(zip(u, v, strict=True), is_one.tolist(), strict=True))


def first_pair(agglomerator, is_one):
    return next(pair for pair, found in pairs_of(agglomerator).items() if found == is_one)


def decide(agglomerator, answers, *decisions):
    """Make decisions and write them back."""
    for name, *pair in decisions:
        getattr(agglomerator, name)(*pair)
    written = answers.write(answers.standing(agglomerator), "somebody")
    agglomerator.close()
    return written


# What a box begins with.


def test_a_box_begins_with_the_segments_of_the_result(run):
    agglomerator, answers = prepared(run, BOX)
    found, segments = pairs_of(agglomerator), segments_of(run)
    assert found == {pair: segments[pair[0]] == segments[pair[1]] for pair in found}
    assert set(found.values()) == {True, False}
    assert agglomerator.history == ()
    assert answers.changes(answers.standing(agglomerator)) == []


def test_its_volumes_lie_where_it_does_and_hold_what_the_whole_holds(run):
    box = box_of(BOX, SHAPE)
    choice = open_box(run, box).choice
    assert {extent.offset_nm for extent in choice.extents.values()} == {(100.0, 250.0, 350.0)}
    assert run.settings.offset_nm == OFFSET_NM
    assert_array_equal(choice.supervoxels.read(), bricks()[box])
    assert_array_equal(choice.affinities.read().data, run.read_affinities(box))
    assert_array_equal(choice.image.read(), open_volume(run.settings.image).read()[box])


def test_the_image_is_not_read_before_somebody_looks_at_it(run):
    run.image = replace(run.image, data=Unreadable())
    choice = open_box(run, box_of(BOX, SHAPE)).choice
    prepare(choice).agglomerator.close()
    with pytest.raises(CelisError, match="somebody looked"):
        choice.image.read()


class Unreadable:
    """An image that nobody may look into."""

    shape, dtype = SHAPE, np.dtype(np.uint8)

    def __getitem__(self, key):
        raise CelisError("somebody looked")


def test_a_result_without_an_image_opens_too(run):
    run.settings = replace(run.settings, image=None)
    choice = open_box(run, box_of(BOX, SHAPE)).choice
    assert choice.image is None
    prepare(choice).agglomerator.close()


# Answers.


def test_the_same_command_again_honours_them_and_leaves_other_blocks_alone(request_, run, client):
    before, elsewhere = segments_of(run), chunk_of(run, (0, 1, 2))
    agglomerator, answers = prepared(run, CORNER)
    one, other = best_cut(agglomerator)
    open_pair = first_pair(prepared(run, BOX)[0], is_one=False)
    written = decide(agglomerator, answers, ("cut", one, other))
    assert Answer("keep-apart", one, other) in written

    agglomerator, answers = prepared(run, BOX)
    decide(agglomerator, answers, ("merge", *open_pair))
    _, outcome = run_all(request_, client)
    after = segments_of(run)
    assert after[one] != after[other]
    assert after[open_pair[0]] == after[open_pair[1]]
    assert before[one] == before[other]
    assert before[open_pair[0]] != before[open_pair[1]]
    assert set(outcome.computed) == {"segments", "labels", "metadata"}
    assert outcome.computed["labels"] < 6
    assert chunk_of(run, (0, 1, 2)) == elsewhere


def best_cut(agglomerator):
    """Find a merge that holds two parts of a segment together."""
    index_of, actions = agglomerator.supervoxels.index_of, agglomerator.actions
    for pair, is_one in pairs_of(agglomerator).items():
        u, v = map(index_of, pair)
        if is_one and actions.find(u, v) in agglomerator.merges.forest_of(u).tree:
            return pair
    raise AssertionError("nothing can be cut")


def chunk_of(run, position):
    """Say when a chunk of the finest level was written."""
    path = Path(run.store.url, "0", "c", *map(str, position))
    return path.stat().st_mtime_ns, path.read_bytes()


def test_running_the_command_again_without_answers_computes_nothing(request_, client):
    assert run_all(request_, client)[1].computed == {}


def decide_at_random(agglomerator, rng, n=6):
    """Merge, keep apart and cut pairs of chance; what is refused is left out."""
    for _ in range(n):
        pairs = pairs_of(agglomerator)
        pair = list(pairs)[rng.integers(len(pairs))]
        name = "cut" if pairs[pair] else rng.choice(["merge", "keep_apart"])
        with suppress(CelisError):
            getattr(agglomerator, name)(*pair)


@pytest.mark.parametrize("seed", range(4))
def test_whatever_is_decided_in_boxes_holds_after_the_next_pass(request_, run, client, seed):
    rng, before = np.random.default_rng(seed), segments_of(run)
    for numbers in (BOX, CORNER, (0, 12, 10, 40, 20, 60)):
        agglomerator, answers = prepared(run, numbers)
        decide_at_random(agglomerator, rng)
        standing = answers.standing(agglomerator)
        decide(agglomerator, answers)
        run_all(request_, client)
        after = segments_of(run)
        for pair, kind in standing.items():
            assert (after[pair[0]] == after[pair[1]]) == (kind == "merge"), (pair, kind)
        # What nobody answered about stays as the blocks made it.
        changed = {before[end] for one in read_answers(run.store) for end in (one.u, one.v)}
        alone = {one: segment for one, segment in before.items() if segment not in changed}
        assert {one: after[one] for one in alone} == alone


@pytest.mark.parametrize("seed", range(4))
def test_a_box_of_everything_shows_what_the_next_pass_makes(request_, run, client, seed):
    rng = np.random.default_rng(seed)
    everything = (0, SHAPE[0], 0, SHAPE[1], 0, SHAPE[2])
    for _ in range(2):
        agglomerator, answers = prepared(run, everything)
        decide_at_random(agglomerator, rng)
        seen = pairs_of(agglomerator)
        decide(agglomerator, answers)
        assert pairs_of(prepared(run, everything)[0]) == seen
        run_all(request_, client)
        after = segments_of(run)
        assert {pair: after[pair[0]] == after[pair[1]] for pair in seen} == seen


def test_what_is_undone_before_it_was_written_leaves_no_trace(run):
    agglomerator, answers = prepared(run, BOX)
    agglomerator.keep_apart(*first_pair(agglomerator, is_one=False))
    agglomerator.cut(*best_cut(agglomerator))
    assert answers.changes(answers.standing(agglomerator))
    agglomerator.undo()
    agglomerator.undo()
    assert decide(agglomerator, answers) == []
    assert read_answers(run.store) == []
    assert run.store.names(FOLDER) == []


def test_what_is_allowed_again_is_withdrawn(run):
    agglomerator, answers = prepared(run, BOX)
    pair = first_pair(agglomerator, is_one=False)
    agglomerator.keep_apart(*pair)
    assert answers.write(answers.standing(agglomerator)) == [Answer("keep-apart", *pair)]
    agglomerator.allow(*pair)
    assert decide(agglomerator, answers) == [Answer("withdrawn", *pair)]


def test_what_is_undone_after_it_was_written_is_withdrawn(request_, run, client):
    before = open_volume(run.store.url).read()
    agglomerator, answers = prepared(run, BOX)
    agglomerator.cut(*best_cut(agglomerator))
    assert answers.write(answers.standing(agglomerator))
    run_all(request_, client)
    assert (open_volume(run.store.url).read() != before).any()
    agglomerator.undo()
    assert {one.kind for one in decide(agglomerator, answers)} == {"withdrawn"}
    assert read_answers(run.store) == []
    run_all(request_, client)
    assert_array_equal(open_volume(run.store.url).read(), before)


def test_answers_count_in_a_box_before_any_pass_and_can_be_undone_there(run):
    agglomerator, answers = prepared(run, BOX)
    apart, cut = first_pair(agglomerator, is_one=False), best_cut(agglomerator)
    decide(agglomerator, answers, ("keep_apart", *apart), ("cut", *cut))
    agglomerator, answers = prepared(run, BOX)
    assert not pairs_of(agglomerator)[cut]
    assert apart in agglomerator.constraints
    assert answers.changes(answers.standing(agglomerator)) == []
    while agglomerator.history:
        agglomerator.undo()
    withdrawn = answers.write(answers.standing(agglomerator))
    assert Answer("withdrawn", *apart) in withdrawn
    # The cut is part of how the box begins: only a merge by hand overrules it.
    assert {one.kind for one in withdrawn} == {"withdrawn"}
    agglomerator.close()


def test_the_newer_of_two_contrary_answers_counts(request_, run, client):
    agglomerator, answers = prepared(run, BOX)
    pair = first_pair(agglomerator, is_one=False)
    decide(agglomerator, answers, ("keep_apart", *pair))
    agglomerator, answers = prepared(run, BOX)
    agglomerator.undo()
    assert decide(agglomerator, answers, ("merge", *pair)) == [Answer("merge", *pair)]
    assert read_answers(run.store) == [Answer("merge", *pair)]
    run_all(request_, client)
    segments = segments_of(run)
    assert segments[pair[0]] == segments[pair[1]]


def test_a_merge_by_hand_keeps_the_rest_of_its_segments_together(request_, run, client):
    before = segments_of(run)
    agglomerator, answers = prepared(run, BOX)
    pair = first_pair(agglomerator, is_one=False)
    decide(agglomerator, answers, ("merge", *pair))
    run_all(request_, client)
    after = segments_of(run)
    ends = {before[pair[0]], before[pair[1]]}
    assert len({after[one] for one in before if before[one] in ends}) == 1
    assert {one: after[one] for one in before if before[one] not in ends} == {
        one: segment for one, segment in before.items() if segment not in ends
    }


def test_greedy_merges_in_a_box_are_no_answers(run):
    agglomerator, answers = prepared(run, BOX)
    assert agglomerator.step(np.inf) is not None
    assert decide(agglomerator, answers) == []


def test_two_windows_that_write_at_once_both_count(run, monkeypatch):
    monkeypatch.setattr(RunStore, "names", lambda store, folder: [])
    names = [add_answers(run.store, [Answer("merge", 1, n)]) for n in (2, 3)]
    monkeypatch.undo()
    assert len(set(names)) == 2
    assert set(read_answers(run.store)) == {Answer("merge", 1, 2), Answer("merge", 1, 3)}


def test_a_removed_file_of_answers_does_not_make_room_for_an_overwriting_one(run):
    names = [add_answers(run.store, [Answer("merge", 1, n)]) for n in (2, 3, 4)]
    run.store.remove(names[0])
    names.append(add_answers(run.store, [Answer("keep-apart", 1, 4)]))
    assert all(one < other for one, other in pairwise(names))
    assert set(read_answers(run.store)) == {Answer("merge", 1, 3), Answer("keep-apart", 1, 4)}


def test_answers_of_an_unknown_kind_are_refused(run):
    run.store.write_json(f"{FOLDER}/000000.json", {"answers": [{"kind": "perhaps", "u": 1, "v": 2}]})
    with pytest.raises(CorruptFileError, match="hold a row that is none"):
        open_box(run, box_of(BOX, SHAPE))


# What cannot be opened.


@pytest.mark.parametrize(
    "numbers", [(0, 13, 0, 10, 0, 10), (-1, 5, 0, 10, 0, 10), (5, 5, 0, 10, 0, 10), (0, 5, 0, 10, 9, 3)]
)
def test_a_box_outside_the_volume_is_refused(numbers):
    with pytest.raises(BlockwiseError, match="does not lie in the volume, which has 12 × 40 × 60 voxels"):
        box_of(numbers, SHAPE)


@pytest.mark.parametrize(
    ("centre", "expected"),
    [((6, 20, 30), (0, 12, 10, 30, 20, 40)), ((0, -50, 1e6), (0, 12, 0, 20, 40, 60))],
)
def test_a_box_around_a_position_stays_inside(centre, expected):
    assert box_around(centre, (16, 20, 20), SHAPE) == box_of(expected, SHAPE)


def test_a_box_of_a_run_that_is_not_joined_is_refused(run):
    shutil.rmtree(Path(run.store.url, "celis", "done", "segments"))
    with pytest.raises(BlockwiseError, match="has no segments yet"):
        open_box(run, box_of(BOX, SHAPE))


def test_a_box_that_does_not_fit_into_memory_is_refused_before_it_is_read(run, monkeypatch):
    monkeypatch.setattr(run, "window_volumes", lambda box: pytest.fail("the box was read"))
    monkeypatch.setattr("napari_celis.io.memory.available_bytes", lambda: 1000)
    with pytest.raises(CelisError, match="the box z 0–11, y 5–29, x 5–44"):
        open_box(run, box_of(BOX, SHAPE))
    assert boxes.format_box(box_of(BOX, SHAPE)) == "z 0–11, y 5–29, x 5–44"

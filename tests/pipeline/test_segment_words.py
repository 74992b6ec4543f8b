"""Names, notes, states and counts follow merges, cuts and undo; a plain list on paper says the same."""

import csv

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.states import agglomerate, chain, operate, segments_of
from napari_celis.core.segment_list import STATE_NAMES, DecidedEnds, SegmentState, list_segments
from napari_celis.io.property_table import read_properties
from napari_celis.io.session.records import SegmentNote, SessionError
from napari_celis.pipeline.segment_table import COLUMNS, table_of
from napari_celis.pipeline.segment_words import SegmentWords, Words, words_by_row
from reference import segment_words as reference

OPERATIONS = (
    "step",
    "merge",
    "merge",
    "cut",
    "keep apart",
    "done",
    "in work",
    "undo",
    "redo",
    "write",
    "write",
)
TEXTS = ("", "axon", "dendrite", "glia")
Drawn = st.lists(
    st.tuples(
        st.sampled_from(OPERATIONS),
        st.integers(0, 10**6),
        st.sampled_from(TEXTS),
        st.sampled_from(TEXTS),
    ),
    max_size=25,
)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 5), Drawn)
def test_words_states_and_counts_equal_those_on_paper(seed, drawn):
    with agglomerate(seed) as agglomerator:
        supervoxels = agglomerator.supervoxels
        sizes = dict(zip(supervoxels.ids.tolist(), supervoxels.sizes.tolist(), strict=True))
        paper, words = reference.Paper(sizes), SegmentWords()
        decided = DecidedEnds(supervoxels)
        kept = {}
        for operation, choice, name, note in drawn:
            if operation == "write":
                ids = agglomerator.segment_ids()
                label = int(ids[1 + choice % supervoxels.n])
                segment = next(one for one in segments_of(agglomerator) if label in one)
                paper.write(segment, label, name, note)
                for one in words.edited(supervoxels, ids, label, Words(name, note)):
                    kept[one.supervoxel_id] = one
            else:
                operate(agglomerator, operation, choice)
            decided.follow(agglomerator.history)
            compare(agglomerator, decided, words, paper)
            # What is told to be kept is all that there is.
            again = SegmentWords(one for one in kept.values() if one.name or one.note)
            assert again.by_segment(supervoxels, agglomerator.segment_ids()) == words.by_segment(
                supervoxels, agglomerator.segment_ids()
            )


def compare(agglomerator, decided, words, paper):
    supervoxels, ids = agglomerator.supervoxels, agglomerator.segment_ids()
    segments = list_segments(supervoxels, ids, agglomerator.is_done(), decided)
    said = words_by_row(words.by_segment(supervoxels, ids), segments.id)
    groups = {int(ids[supervoxels.index_of(min(group))]): group for group in segments_of(agglomerator)}
    steps, is_done = agglomerator.history, agglomerator.is_done()
    done = {group for group in groups.values() if is_done[supervoxels.index_of(min(group))]}
    assert sorted(groups) == segments.id.tolist()
    for row, label in enumerate(segments.id.tolist()):
        group, own = groups[label], said.get(row, Words())
        assert own == Words(paper.name(group, label), paper.note(group, label))
        assert segments.voxels[row] == sum(paper.sizes[one] for one in group)
        assert (segments.n_decisions[row], segments.n_by_hand[row]) == reference.counts(group, steps)
        wanted = reference.state(group, steps, done)
        assert STATE_NAMES[SegmentState(int(segments.state[row]))] == wanted
        assert {row} == set(segments.row_of[[supervoxels.index_of(one) for one in group]].tolist())


def test_a_merge_of_two_named_segments_and_its_undo():
    with chain(3) as agglomerator:
        ids, words = agglomerator.supervoxels, SegmentWords()
        for label, said in ((1, Words("axon", "thin")), (2, Words("spine", "no synapse"))):
            words.edited(ids, agglomerator.segment_ids(), label, said)
        agglomerator.merge(1, 2)
        assert words.by_segment(ids, agglomerator.segment_ids()) == {1: Words("axon", "thin; no synapse")}
        agglomerator.undo()
        assert words.by_segment(ids, agglomerator.segment_ids()) == {
            1: Words("axon", "thin"),
            2: Words("spine", "no synapse"),
        }
        agglomerator.redo()
        words.edited(ids, agglomerator.segment_ids(), 1, Words("", "thin; no synapse"))
        assert words.by_segment(ids, agglomerator.segment_ids()) == {1: Words("", "thin; no synapse")}
        assert SegmentWords([SegmentNote(99, "of another volume")]).by_segment(
            ids, agglomerator.segment_ids()
        ) == {}  # fmt: skip


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (Words("x" * 201), "The name of a segment has 201 letters"),
        (Words("a\tb"), r"control character \(U\+0009\)"),
        (Words("", "a\x00b"), r"The note of a segment has a control character \(U\+0000\)"),
    ],
)
def test_words_that_cannot_be_kept_change_nothing(words, sentence):
    with chain(2) as agglomerator:
        known = SegmentWords([SegmentNote(1, "axon")])
        with pytest.raises(SessionError, match=sentence):
            known.edited(agglomerator.supervoxels, agglomerator.segment_ids(), 1, words)
        assert known.notes == (SegmentNote(1, "axon"),)


def test_the_table_and_the_properties(tmp_path, monkeypatch):
    with chain(4) as agglomerator:
        agglomerator.merge(1, 2)
        agglomerator.mark_done(2)
        agglomerator.step(np.inf)
        words = SegmentWords([SegmentNote(2, 'Purkinje, "A"', "cut at\u2028the border")])
        table = table_of(agglomerator, words)
        path = table.write_csv(tmp_path / "segments.csv", (10.0, 10.0, 10.0))
        with path.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        assert tuple(rows[0]) == COLUMNS
        assert rows == [
            {"id": "1", "name": 'Purkinje, "A"', "state": "done", "voxels": "54", "volume_um3": "5.4e-05",
             "decisions": "2", "decisions_by_hand": "2", "note": "cut at\u2028the border"},
            {"id": "3", "name": "", "state": "untouched", "voxels": "54", "volume_um3": "5.4e-05",
             "decisions": "1", "decisions_by_hand": "0", "note": ""},
        ]  # fmt: skip
        again = read_properties(path)
        assert again[1]["state"] == "done"
        assert again[3]["decisions"] == 1
        of_one = {
            "name": 'Purkinje, "A"', "note": "cut at\u2028the border", "state": "done", "decisions": 2,
            "decisions_by_hand": 2,
        }  # fmt: skip
        of_three = {"state": "untouched", "decisions": 1, "decisions_by_hand": 0}
        assert table.properties() == {1: of_one, 3: of_three}
        assert table.properties(np.array([3], dtype=np.uint64)) == {3: of_three}
        monkeypatch.setattr("napari_celis.pipeline.segment_table.MAX_LISTED", 1)
        assert table.properties() == {1: of_one}
        with pytest.raises(SessionError, match="no table of segments"):
            table.write_csv(tmp_path / "segments.txt", (1.0, 1.0, 1.0))

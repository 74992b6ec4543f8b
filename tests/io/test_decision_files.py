"""Merge lists and decision logs: what they say is enough to make the same segmentation again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from core.problems import ToyEnergy, random_labels
from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.descriptors import sample_spec
from napari_celis.core.errors import CorruptFileError, VolumeError
from napari_celis.core.supervoxels import Supervoxels
from napari_celis.io.decisions import (
    MergeRecord,
    read_decision_log,
    read_merge_list,
    standing_merges,
    write_decision_log,
    write_merge_list,
)

SHAPE = (6, 8, 8)


def new_agglomerator(merges=()):
    rng = np.random.default_rng(0)
    labels = random_labels(rng, SHAPE, 12, 0.05) + np.uint64(2**60)
    labels[labels == 2**60] = 0
    specs = (sample_spec("toy", "pairwise", (3, 3, 3), rng=rng, k=20, stride_zyx=(1, 1, 1)),)
    return Agglomerator(
        Supervoxels.from_labels(labels), specs, ToyEnergy(SHAPE, specs), merges=merges, threads=1
    )


@pytest.fixture(scope="module")
def agglomerator():
    """Greedy and manual merges, one of them cut, and a pair kept apart."""
    with new_agglomerator() as agglomerator:
        for _ in range(5):
            agglomerator.step(np.inf)
        row = int(np.flatnonzero(~agglomerator.taken())[0])
        ids, actions = agglomerator.supervoxels.ids, agglomerator.actions
        agglomerator.merge(int(ids[actions.u[row]]), int(ids[actions.v[row]]))
        second = agglomerator.history[1]
        agglomerator.cut(second.u_id, second.v_id)
        agglomerator.keep_apart(second.u_id, second.v_id)
        yield agglomerator


def test_merges_that_were_cut_are_left_out(agglomerator):
    merges = standing_merges(agglomerator.history, agglomerator.taken())
    cut = agglomerator.history[1]
    assert len(merges) == agglomerator.taken().sum()
    assert (cut.u_id, cut.v_id) not in [(merge.u_id, merge.v_id) for merge in merges]
    assert merges[-1].kind == "manual"


@pytest.mark.parametrize("name", ["merges.csv", "merges.json"])
def test_merge_list_makes_the_same_segmentation(agglomerator, tmp_path, name):
    merges = standing_merges(agglomerator.history, agglomerator.taken())
    read = read_merge_list(write_merge_list(merges, tmp_path / name))
    assert read == merges
    with new_agglomerator((merge.u_id, merge.v_id) for merge in read) as again:
        # Which supervoxel lends a segment its id depends on the order of joining; the parts do not.
        pairs = set(zip(again.segment_ids().tolist(), agglomerator.segment_ids().tolist(), strict=True))
        assert len(pairs) == len(set(again.segment_ids().tolist()))
        assert again.n_segments == agglomerator.n_segments
        assert_array_equal(again.taken(), agglomerator.taken())


def test_csv_reads_like_a_table(tmp_path):
    path = write_merge_list([MergeRecord(2**63, 7, -1.5, "greedy")], tmp_path / "merges.csv")
    assert path.read_text() == f"u_id,v_id,score,kind\n{2**63},7,-1.5,greedy\n"


def test_log_keeps_every_step_to_the_last_bit(agglomerator, tmp_path):
    path = write_decision_log(agglomerator.history, tmp_path / "log.jsonl")
    assert len(path.read_text().splitlines()) == len(agglomerator.history) == 8
    assert read_decision_log(path) == list(agglomerator.history)


def test_no_decisions_make_an_empty_log(tmp_path):
    assert read_decision_log(write_decision_log([], tmp_path / "log.jsonl")) == []
    assert read_merge_list(write_merge_list([], tmp_path / "merges.csv")) == []


def test_unknown_suffix_and_damaged_files_are_explained(tmp_path):
    with pytest.raises(VolumeError, match=r"\.csv or \.json"):
        write_merge_list([], tmp_path / "merges.txt")
    for text in ["{", '{"kind": "dance"}', "[1]"]:
        (tmp_path / "log.jsonl").write_text(text)
        with pytest.raises(CorruptFileError, match=r"log\.jsonl cannot be read"):
            read_decision_log(tmp_path / "log.jsonl")
    (tmp_path / "merges.csv").write_text("a,b\n1,2\n")
    with pytest.raises(CorruptFileError):
        read_merge_list(tmp_path / "merges.csv")


def test_folder_without_access_ends_in_a_sentence(tmp_path, monkeypatch):
    def refuse(*arguments, **options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(VolumeError, match=r"could not be written: Permission denied"):
        write_decision_log([], tmp_path / "new" / "log.jsonl")
    assert list(tmp_path.iterdir()) == []

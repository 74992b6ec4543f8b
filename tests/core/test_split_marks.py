"""Segments that are done are not split, and marks survive a split."""

import numpy as np
import pytest

from core.states import chain, of_labels, snapshot
from napari_celis.core.errors import ActionError
from napari_celis.core.seeded_split import Seeds, plan_seeded_split
from napari_celis.core.segment_list import DecidedEnds, SegmentState, list_segments
from napari_celis.core.splits import SupervoxelSplit, next_id
from napari_celis.core.splitting import begin_split


def left_column_of(agglomerator, index):
    """Split a supervoxel of a chain at its first column."""
    dense = agglomerator.supervoxels.dense
    inside = dense == index
    x = np.indices(dense.shape)[2]
    voxels = np.flatnonzero(inside & (x == x[inside].min()))
    return SupervoxelSplit(index, next_id(agglomerator.supervoxels), voxels)


def test_a_done_segment_is_not_split_and_is_called_by_its_name():
    with chain(4) as agglomerator:
        agglomerator.merge(1, 2)
        name = int(agglomerator.segment_ids()[2])
        agglomerator.mark_done(2)
        before = snapshot(agglomerator)
        for index in (1, 2):
            inside = [tuple(one) for one in np.argwhere(agglomerator.supervoxels.dense == index).tolist()]
            with pytest.raises(ActionError, match=f"^Segment {name} is done, so no merge, cut or split may"):
                plan_seeded_split(agglomerator, Seeds((inside[0],), (inside[-1],)))
        assert snapshot(agglomerator) == before


def test_marks_stand_after_a_split_and_are_taken_back_at_their_place():
    with chain(5) as agglomerator:
        agglomerator.merge(1, 2)
        agglomerator.mark_done(1)
        agglomerator.mark_in_work(2)
        agglomerator.mark_done(4)
        split = left_column_of(agglomerator, 2)
        start = begin_split(agglomerator, split)
        kinds = ["manual", "done", "in-work", "done"]
        assert [entry.step.kind for entry in start.past.done] == kinds
        volume = start.volume
        labels = volume.supervoxels.ids[volume.supervoxels.dense]
        with of_labels(labels, actions=volume.actions, past=start.past) as parts:
            is_done = {int(parts.supervoxels.ids[one]) for one in np.flatnonzero(parts.is_done())}
            assert is_done == {4}
            decided = DecidedEnds(parts.supervoxels)
            decided.follow(parts.history)
            listed = list_segments(parts.supervoxels, parts.segment_ids(), parts.is_done(), decided)
            whole = listed.row_of[parts.supervoxels.index_of(split.supervoxel_id)]
            assert listed.state[whole] == SegmentState.IN_WORK
            parts.split(split.supervoxel_id, split.new_id)
            for _ in range(3):
                parts.undo()
            # The moment at which the whole segment was done, both parts of the supervoxel in it.
            is_done = {int(parts.supervoxels.ids[one]) for one in np.flatnonzero(parts.is_done())}
            assert is_done == {1, 2, split.new_id}

"""Pictures of the tab Decisions: a question, the pages of the tab, and a split."""

from __future__ import annotations

import numpy as np
from qtpy.QtCore import Qt

from napari_celis.gui.canvas.canvas import Canvas
from napari_celis.gui.session.split_tool import FIRST, SECOND
from napari_celis.gui.tabs.decisions.segment_model import SIZE as SIZE_COLUMN
from picture_studio import Studio

N_ANSWERS = 6
WORDS = (("Mi1 home", "soma outside"), ("Tm3 ant", "twig missing?"), ("L5", ""))
"""Names and notes of the largest segments in the picture."""


def picture_decisions(studio: Studio) -> None:
    """A question; then, after some answers, what is left and the history."""
    tab = studio.show_tab("Decisions")
    studio.finished()
    decisions = studio.undecided()
    studio.save("decisions")
    for number in range(N_ANSWERS):
        studio.next_question(decisions.reject if number % 3 == 1 else decisions.accept)
        studio.rest(1000)
    tab.tabs.setCurrentWidget(tab.left)
    studio.rest(3000)
    studio.save("left")
    tab.tabs.setCurrentWidget(tab.history)
    studio.rest(500)
    tab.history.view.selectRow(3)
    studio.save("history")
    tab.tabs.setCurrentIndex(0)
    studio.workspace.preview.leave()
    decisions.clear()
    studio.viewer.reset_view(margin=0.02)


def picture_segments(studio: Studio) -> None:
    """The list of segments, some of them with names and states."""
    tab = studio.show_tab("Decisions")
    studio.finished()
    page, segments = tab.segments, studio.workspace.segments
    tab.tabs.setCurrentWidget(page)
    page.view.sortByColumn(SIZE_COLUMN, Qt.SortOrder.DescendingOrder)
    studio.wait_until(lambda: page.model.rowCount() > len(WORDS))
    largest = [page.model.supervoxel_at(row) for row in range(len(WORDS))]
    for supervoxel, (name, note) in zip(largest, WORDS, strict=True):
        segments.write(supervoxel, name=name, note=note)
    segments.mark(largest[0], is_done=True)
    segments.mark(largest[1], is_done=False)
    studio.rest(1500)
    segments.visit(largest[1])
    studio.save("segments")
    tab.tabs.setCurrentIndex(0)
    studio.workspace.selection.clear()


def picture_split(studio: Studio) -> None:
    """Seeds of two colours in a segment, and what they would part."""
    tab = studio.show_tab("Decisions")
    engine, tool = studio.finished(), studio.workspace.split_tool
    tab.tabs.setCurrentIndex(0)
    dense, segment_ids = engine.tables.supervoxels.dense, engine.snapshot.segment_ids
    # The largest segment that has two large supervoxels in one section.
    names, sizes = np.unique(segment_ids[dense[dense > 0]], return_counts=True)
    member_of = segment_ids[dense] == names[np.argsort(sizes)[-4]]
    section = int((member_of & (dense > 0)).sum(axis=(1, 2)).argmax())
    shown = np.where(member_of[section], dense[section], 0)
    found, areas = np.unique(shown[shown > 0], return_counts=True)
    first, second = (int(one) for one in found[np.argsort(areas)[-2:]])
    studio.workspace.selection.select(first)
    tool.start()
    for supervoxel, side in ((first, FIRST), (second, SECOND)):
        places = np.argwhere(shown == supervoxel)
        middle = places[np.abs(places - np.median(places, axis=0)).sum(axis=1).argmin()]
        tool.add(supervoxel, (section, int(middle[0]), int(middle[1])), side)
    studio.wait_until(lambda: tool.is_ready)
    middle = np.argwhere(shown > 0).mean(axis=0)
    Canvas.of(studio.workspace).camera.fly_to(np.array([section, *middle]), 45.0)
    studio.rest(1500)
    studio.save("split")
    tool.stop()
    studio.workspace.selection.clear()

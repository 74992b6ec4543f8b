"""The box of a result that is open, and the answers that wait to be written back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from qtpy.QtWidgets import QLabel, QSpinBox, QVBoxLayout, QWidget

from napari_celis.gui.qt.widgets import button, row, wrapped
from napari_celis.gui.session.box_review import BoxReview

if TYPE_CHECKING:
    from napari_celis.scale.honour import Answer, AnswerKind

EDGE = 96
"""Voxels of a box along the finest axis, unless somebody wants others."""
WORDS: dict[AnswerKind, str] = {"merge": "merged", "keep-apart": "kept apart", "withdrawn": "withdrawn"}
NO_BOX = "Move to a place in the segmentation and open the box around it, to look through its decisions."
NEXT = "Press “Run again”: the blocks are joined by your answers, and only what changed is written anew."

FOLLOWED = "The result follows your answers now."


class BoxView(QWidget):
    """Opens boxes, says what is decided in them, and writes it back.

    Parameters
    ----------
    box : BoxReview
        The box of the viewer.
    on_open : callable
        Opens the box around the view.
    """

    def __init__(self, box: BoxReview, on_open: Callable[[], object], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._box = box
        self._last_words = ""
        self.edge = QSpinBox()
        self.edge.setRange(16, 4096)
        self.edge.setSingleStep(16)
        self.edge.setValue(EDGE)
        self.edge.setToolTip("Edge of the box; along coarser axes it has as many nanometres.")
        self.open = button(
            "Open box here", on_open, "Open the box around the middle of the view as a run of its own."
        )
        self.sentence = wrapped()
        self.write = button(
            "Write answers back", box.write, "Let the next pass over the result follow your decisions."
        )
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addLayout(row(QLabel("Edge, voxels"), self.edge, self.open, stretch=(0, 1, 1)))
        for widget in (self.sentence, self.write):
            layout.addWidget(widget)
        box.changed.connect(self.refresh)
        box.written.connect(self._on_written)
        self.refresh()

    def refresh(self) -> None:
        """Say what is open, and what waits."""
        box, is_active = self._box, self._box.is_active
        if box.opened is None:
            self.sentence.setText(NO_BOX)
        elif not is_active:
            self.sentence.setText(f"The box {box.opened.name} is being prepared, or other data are in use.")
        elif box.unwritten:
            self._last_words = ""
            self.sentence.setText(
                f"The box {box.opened.name} is open. Not written yet: {describe(box.unwritten)}."
            )
        else:
            hint = "Decide on the tab Decisions: merge, keep apart, cut; undo takes an answer back."
            self.sentence.setText(f"The box {box.opened.name} is open. {self._last_words or hint}")
        self.write.setEnabled(is_active and bool(box.unwritten))

    def on_followed(self) -> None:
        """Say that a pass over the result followed what was written."""
        if self._last_words:
            self._last_words = FOLLOWED
            self.refresh()

    def _on_written(self, answers: list[Answer]) -> None:
        self._last_words = f"Written: {describe(answers)}. {NEXT}" if answers else ""
        self.refresh()


def describe(answers: Iterable[Answer]) -> str:
    """Count answers by kind, such as `1 pair merged, 2 pairs kept apart`."""
    counts = Counter(answer.kind for answer in answers)
    return ", ".join(
        f"{counts[kind]:,} {'pair' if counts[kind] == 1 else 'pairs'} {word}"
        for kind, word in WORDS.items()
        if counts[kind]
    )

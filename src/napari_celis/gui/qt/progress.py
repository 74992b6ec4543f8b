"""How far some work is, and a line that shows it."""

from __future__ import annotations

from dataclasses import dataclass

from qtpy.QtCore import Qt, Signal
from qtpy.QtWidgets import QProgressBar, QVBoxLayout, QWidget

from napari_celis.gui.qt.elided_label import ElidedLabel
from napari_celis.gui.qt.widgets import button, row


@dataclass(frozen=True)
class Progress:
    """How far some work is."""

    stage: str = ""
    """What is being done; "" when the work has ended."""
    share: float = 0.0
    """Finished share, from 0 to 1; 0 where it is not known."""


class ProgressLine(QWidget):
    """What is being done in the background, how far it is, and a button that ends it."""

    cancelled = Signal()
    shown = Signal(bool)
    """Whether there is something to wait for."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.bar = QProgressBar()
        self.bar.setRange(0, 1000)
        self.bar.setTextVisible(False)
        self.bar.setFixedHeight(6)
        self.stage = ElidedLabel(mode=Qt.TextElideMode.ElideRight)
        self.cancel = button("Cancel", self.cancelled.emit, "End this at the next opportunity.")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(2)
        layout.addLayout(row(self.stage, self.cancel, stretch=(1, 0)))
        layout.addWidget(self.bar)
        self.setVisible(False)

    def show_progress(self, progress: Progress) -> None:
        """Show how far the work is; without a share the bar only says "busy"."""
        stage, share = progress.stage, progress.share
        self.setVisible(bool(stage))
        self.shown.emit(bool(stage))
        self.stage.setText(f"{stage[:1].upper()}{stage[1:]} …" if stage else "")
        self.stage.setToolTip(self.stage.text())
        is_known = 0.0 < share <= 1.0
        self.bar.setRange(0, 1000 if is_known else 0)
        self.bar.setValue(round(1000 * share))

    def hide_progress(self) -> None:
        """Show that nothing is under way."""
        self.show_progress(Progress())

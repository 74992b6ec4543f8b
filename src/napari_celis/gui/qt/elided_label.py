"""One line of text that is never wider than its place."""

from __future__ import annotations

from qtpy.QtCore import QSize, Qt
from qtpy.QtGui import QPainter, QPaintEvent
from qtpy.QtWidgets import QLabel, QSizePolicy, QWidget


class ElidedLabel(QLabel):
    """Leaves a part of a text out where there is no room for all of it; a tip should show the whole.

    Parameters
    ----------
    text : str
        What to show.
    mode : Qt.TextElideMode
        Which part goes first; the middle by default.
    """

    def __init__(
        self,
        text: str = "",
        mode: Qt.TextElideMode = Qt.TextElideMode.ElideMiddle,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(text, parent)
        self._mode = mode
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)

    @property
    def shown_text(self) -> str:
        """What is drawn at the present width."""
        return str(self.fontMetrics().elidedText(self.text(), self._mode, self.contentsRect().width()))

    def minimumSizeHint(self) -> QSize:  # noqa: N802
        """Ask for one line, however narrow."""
        return QSize(0, super().minimumSizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
        """Draw what fits."""
        painter = QPainter(self)
        painter.setPen(self.palette().color(self.foregroundRole()))
        flags = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
        painter.drawText(self.contentsRect(), int(flags), self.shown_text)

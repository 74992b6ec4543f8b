"""The parts of a score as bars."""

from __future__ import annotations

from qtpy.QtCore import QRectF, QSize, Qt
from qtpy.QtGui import QColor, QPainter, QPaintEvent, QPalette
from qtpy.QtWidgets import QSizePolicy, QWidget

from napari_celis.gui.qt.colours import OKABE_ITO
from napari_celis.gui.qt.numbers import signed


class PartBars(QWidget):
    """The parts of a score as bars: what speaks for a merge to the left, what speaks against to the right."""

    ROW, NAME, NUMBER = 18, 104, 64
    INDENT = 5
    """Where texts begin above and below."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.parts: dict[str, float] = {}
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    def show_parts(self, parts: dict[str, float]) -> None:
        """Show other parts."""
        if parts != self.parts:
            self.parts = dict(parts)
            self.updateGeometry()
            self.update()

    def sizeHint(self) -> QSize:  # noqa: N802
        """Ask for one row per spec."""
        return QSize(200, self.ROW * max(1, len(self.parts)))

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
        """Draw names, bars and numbers."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        text = self.palette().color(QPalette.ColorRole.WindowText)
        largest = max((abs(value) for value in self.parts.values()), default=0.0) or 1.0
        left, right = self.INDENT + self.NAME, self.width() - self.NUMBER
        middle, half = (left + right) / 2, max(1.0, (right - left) / 2 - 4)
        flags = Qt.AlignmentFlag.AlignVCenter
        for index, (name, value) in enumerate(self.parts.items()):
            top = index * self.ROW
            painter.setPen(text)
            fitting = painter.fontMetrics().elidedText(name, Qt.TextElideMode.ElideRight, self.NAME - 6)
            painter.drawText(self.INDENT, top, self.NAME - 6, self.ROW, flags, fitting)
            number = flags | Qt.AlignmentFlag.AlignRight
            painter.drawText(right, top, self.NUMBER, self.ROW, number, signed(value))
            length = half * abs(value) / largest
            start = middle - length if value < 0 else middle
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(OKABE_ITO["blue" if value < 0 else "vermilion"]))
            painter.drawRoundedRect(QRectF(start, top + 4, max(length, 1.0), self.ROW - 8), 2, 2)
        painter.setPen(text)
        painter.drawLine(int(middle), 0, int(middle), self.height())

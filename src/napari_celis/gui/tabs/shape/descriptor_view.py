"""A drawing of one descriptor as in the paper: pairs as lines over the components, bits as a strip."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from qtpy.QtCore import QEvent, QLineF, QPointF, QRectF, QSize, Qt
from qtpy.QtGui import QColor, QImage, QPainter, QPaintEvent, QPen
from qtpy.QtWidgets import QSizePolicy, QToolTip, QWidget

from napari_celis.core.inspect import CentreView
from napari_celis.gui.qt.colours import OKABE_ITO

CONNECTED = "#FFFFFF"
DISCONNECTED = "#000000"
CHANGED = OKABE_ITO["orange"]
GROUND = "#3C3C3C"
"""Behind the drawing, and for background voxels; white and black both show on it."""

GAP = 10
CAPTION = 18
LEGEND = 20
CELLS = {1: 64, 2: 32}
"""Bits per line of the strip, by the number of drawings side by side."""
SIDES, TALL = (104, 230), 900
"""Largest edge of a drawing in windows that are lower, and in those that are at least this high."""
EMPTY = 96
"""Height while there is only a sentence to show."""


def component_palette() -> np.ndarray:
    """Make the colours of components, uint8 (n + 1, 3): mid tones, so that white, black and orange show."""
    hues = [QColor(OKABE_ITO[name]) for name in ("sky", "green", "purple", "blue", "grey", "vermilion")]
    tones = [(c.red() * f, c.green() * f, c.blue() * f) for f in (0.8, 0.55, 0.68) for c in hues]
    ground = QColor(GROUND)
    return np.array([(ground.red(), ground.green(), ground.blue()), *tones], dtype=np.uint8)


PALETTE = component_palette()


def pairs_to_draw(view: CentreView, n_pairs: int) -> np.ndarray:
    """Choose `n_pairs` pairs to draw: half of them changed by the merge, if there are so many, half not.

    Parameters
    ----------
    view : CentreView
        What a centre sees.
    n_pairs : int
        How many, at most.
    """
    changed, same = np.flatnonzero(view.changed), np.flatnonzero(~view.changed)
    n_changed = max(-(-n_pairs // 2), n_pairs - len(same))
    changed = changed[:n_changed]
    return np.sort(np.concatenate([changed, same[: n_pairs - len(changed)]]))


class DescriptorView(QWidget):
    """Shows a descriptor, and beside it the same one after a merge."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.view: CentreView | None = None
        self.axis = 0
        self.n_pairs = 64
        self.voxel_size: tuple[float, float, float] = (1.0, 1.0, 1.0)
        self.is_compared = False
        self.message = "Choose a position to see its descriptor."
        self._cells: list[tuple[QRectF, int]] = []
        self._largest_side = SIDES[0]
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def fit(self, window_height: int) -> None:
        """Be as large as a window of this height allows."""
        side = SIDES[window_height >= TALL]
        if side != self._largest_side:
            self._largest_side = side
            self.updateGeometry()

    def show_view(self, view: CentreView | None, *, is_compared: bool = False, message: str = "") -> None:
        """Draw another centre; `is_compared` draws it before and after the merge. None shows `message`.

        Parameters
        ----------
        view : CentreView, optional
            None shows `message`.
        is_compared : bool
            Whether to draw it before and after the merge.
        message : str
            Why there is nothing to draw.
        """
        self.view, self.is_compared, self.message = view, is_compared and view is not None, message
        self.updateGeometry()
        self.update()

    def show_settings(self, axis: int, n_pairs: int, voxel_size: Sequence[float]) -> None:
        """Look along another axis, or draw another number of pairs.

        Parameters
        ----------
        axis : int
            Along which the drawing looks.
        n_pairs : int
            Most pairs to draw.
        voxel_size : sequence of float
            Along z, y, x; gives the proportions.
        """
        z, y, x = (float(size) for size in voxel_size)
        self.axis, self.n_pairs, self.voxel_size = axis, n_pairs, (z, y, x)
        self.updateGeometry()
        self.update()

    @property
    def n_panes(self) -> int:
        """Drawings side by side."""
        return 2 if self.is_compared else 1

    def hasHeightForWidth(self) -> bool:  # noqa: N802
        """Tell Qt that a wider drawing is a higher one."""
        return True

    def heightForWidth(self, width: int) -> int:  # noqa: N802
        """Return the height that the drawing needs."""
        if self.view is None:
            return EMPTY
        return int(CAPTION + self._side(width) + GAP + self._strip_height(width) + GAP + LEGEND)

    def sizeHint(self) -> QSize:  # noqa: N802
        """Return a size that fits the panel."""
        return QSize(360, self.heightForWidth(max(self.width(), 300)))

    def minimumSizeHint(self) -> QSize:  # noqa: N802
        """Return the smallest size at which everything can be told apart."""
        return QSize(260, self.heightForWidth(max(self.width(), 260)))

    def event(self, event: QEvent) -> bool:
        """Tell what a bit stands for when the mouse rests on it."""
        if event.type() == QEvent.Type.ToolTip:
            text = self.describe(QPointF(event.pos()))
            QToolTip.showText(event.globalPos(), text) if text else QToolTip.hideText()
            return True
        return bool(super().event(event))

    def resizeEvent(self, event: object) -> None:  # noqa: N802
        """Keep the height that belongs to the width."""
        self.setFixedHeight(self.heightForWidth(self.width()))

    def updateGeometry(self) -> None:  # noqa: N802
        """Ask for the height that the present content needs."""
        self.setFixedHeight(self.heightForWidth(max(self.width(), 260)))
        super().updateGeometry()

    def describe(self, point: QPointF) -> str:
        """Say which pair the bit at a point of the widget is, and whether it is connected."""
        for cell, bit in self._cells:
            if self.view is not None and cell.contains(point):
                a, b = (tuple(int(c) for c in end) for end in self.view.ends[bit])
                state = "connected" if self.view.before[bit] else "not connected"
                state += ", connected after the merge" if self.view.changed[bit] else ""
                return f"Bit {bit}: {a} – {b}, {state}"
        return ""

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
        """Draw everything."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._cells = []
        if self.view is None:
            self._draw_message(painter)
            return
        width = (self.width() - GAP * (self.n_panes - 1)) / self.n_panes
        for pane in range(self.n_panes):
            self._draw_pane(painter, pane * (width + GAP), width, is_merged=pane == 1)
        self._draw_legend(painter)

    @property
    def _drawn(self) -> CentreView:
        """What is drawn; there is something to draw."""
        assert self.view is not None
        return self.view

    def _side(self, width: int) -> float:
        """Edge of the square in which one drawing fits."""
        return min((width - GAP * (self.n_panes - 1)) / self.n_panes, self._largest_side)

    def _strip_height(self, width: int) -> float:
        """Height of the strip of bits."""
        columns = CELLS[self.n_panes]
        cell = (width - GAP * (self.n_panes - 1)) / self.n_panes / columns
        return -(-self._drawn.spec.n_bits // columns) * cell

    def _draw_message(self, painter: QPainter) -> None:
        """Write a sentence instead of a drawing."""
        painter.setPen(self.palette().text().color())
        flags = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
        painter.drawText(QRectF(self.rect()).adjusted(GAP, GAP, -GAP, -GAP), flags, self.message)

    def _draw_pane(self, painter: QPainter, left: float, width: float, *, is_merged: bool) -> None:
        """Draw one descriptor: caption, picture, strip."""
        view, side = self._drawn, self._side(self.width())
        bits = view.after if is_merged else view.before
        n_changed = int(view.changed.sum()) if is_merged else 0
        name = ("After" if is_merged else "Before") if self.is_compared else view.spec.name
        more = (f" (+{n_changed})" if is_merged else "") if self.is_compared else " connected"
        painter.setPen(self.palette().text().color())
        painter.drawText(
            QRectF(left, 0, width, CAPTION),
            Qt.AlignmentFlag.AlignLeft,
            f"{name} · {bits.sum()} of {len(bits)}{more}",
        )
        frame = self._picture_frame(QRectF(left + (width - side) / 2, CAPTION, side, side))
        self._draw_picture(painter, frame, is_merged=is_merged)
        self._draw_lines(painter, frame, bits, is_merged=is_merged)
        self._draw_strip(painter, QRectF(left, CAPTION + side + GAP, width, 0), bits, is_merged=is_merged)

    def _picture_frame(self, room: QRectF) -> QRectF:
        """Fit the box, with its true proportions, into a square."""
        extent = np.array(self._drawn.spec.box_zyx) * np.array(self.voxel_size)
        height, width = np.delete(extent, self.axis)
        unit = room.width() / max(height, width)
        centre = room.center()
        return QRectF(
            centre.x() - width * unit / 2, centre.y() - height * unit / 2, width * unit, height * unit
        )

    def _draw_picture(self, painter: QPainter, frame: QRectF, *, is_merged: bool) -> None:
        """Draw the components in the plane of the centre."""
        section = self._drawn.section(self.axis, is_merged=is_merged)
        n = len(PALETTE) - 1
        colours = np.ascontiguousarray(PALETTE[np.where(section > 0, (section - 1) % n + 1, 0)])
        height, width = section.shape
        image = QImage(colours.data, width, height, 3 * width, QImage.Format.Format_RGB888)
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, False)
        painter.drawImage(frame, image)
        painter.setPen(QPen(QColor(OKABE_ITO["grey"]), 1))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRect(frame)

    def _draw_lines(self, painter: QPainter, frame: QRectF, bits: np.ndarray, *, is_merged: bool) -> None:
        """Draw the pairs, seen along the axis; those that matter most on top."""
        shown = pairs_to_draw(self._drawn, self.n_pairs)
        points = np.delete(self._drawn.ends[shown] - self._drawn.box[0] + 0.5, self.axis, axis=2)
        points /= np.delete(np.array(self._drawn.spec.box_zyx), self.axis)
        is_changed = self._drawn.changed[shown] & is_merged
        styles = (
            (~bits[shown], DISCONNECTED, 1.0, Qt.PenStyle.DashLine),
            (bits[shown] & ~is_changed, CONNECTED, 1.2, Qt.PenStyle.SolidLine),
            (is_changed, CHANGED, 2.0, Qt.PenStyle.SolidLine),
        )
        for mask, colour, thickness, style in styles:
            painter.setPen(QPen(QColor(colour), thickness, style))
            painter.drawLines(
                [QLineF(_inside(frame, first), _inside(frame, second)) for first, second in points[mask]]
            )

    def _draw_strip(self, painter: QPainter, room: QRectF, bits: np.ndarray, *, is_merged: bool) -> None:
        """Draw the bits in lines of equal length."""
        columns = CELLS[self.n_panes]
        cell = room.width() / columns
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        painter.setPen(QPen(QColor("#808080"), 1))
        for bit, is_on in enumerate(bits):
            line, column = divmod(bit, columns)
            square = QRectF(room.x() + column * cell, room.y() + line * cell, cell, cell)
            is_new = is_merged and self._drawn.changed[bit]
            painter.setBrush(QColor(CHANGED if is_new else CONNECTED if is_on else DISCONNECTED))
            painter.drawRect(square)
            self._cells.append((square, bit))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)

    def _draw_legend(self, painter: QPainter) -> None:
        """Tell what the colours mean."""
        entries = [(CONNECTED, "connected"), (DISCONNECTED, "disconnected")]
        entries += [(CHANGED, "changed by merge")] if self.is_compared else []
        left, top = 0.0, self.height() - LEGEND
        for colour, text in entries:
            painter.setPen(QPen(QColor("#808080"), 1))
            painter.setBrush(QColor(colour))
            painter.drawRect(QRectF(left + 1, top + 4, 12, 12))
            painter.setPen(self.palette().text().color())
            width = painter.fontMetrics().horizontalAdvance(text)
            flags = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
            painter.drawText(QRectF(left + 19, top, width + 4, LEGEND), flags, text)
            left += width + 36


def _inside(frame: QRectF, share: np.ndarray) -> QPointF:
    """Turn a share of height and width into a point."""
    return QPointF(frame.x() + share[1] * frame.width(), frame.y() + share[0] * frame.height())

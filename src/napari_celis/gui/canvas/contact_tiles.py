"""Four tiles: the contact in three sections, and the two segments in 3-D."""

from __future__ import annotations

from enum import Enum

import numpy as np
from qtpy.QtCore import QPointF, QRectF, QSize, Qt, Signal
from qtpy.QtGui import QColor, QImage, QMouseEvent, QPainter, QPaintEvent, QPen, QPolygonF, QWheelEvent
from qtpy.QtWidgets import QSizePolicy, QWidget

from napari_celis.gui.session.evidence.evidence import Evidence
from napari_celis.gui.session.evidence.sections import Section

GAP = 3
"""Pixels between tiles."""
LINE = 1.4
"""Width of outlines, in pixels."""
TICK = 9
"""Length of the marks that point at the contact, in pixels."""
BACKGROUND, INK, SHADE = QColor("#15171B"), QColor("#F2F2F2"), QColor(0, 0, 0, 150)
NAMES = {0: "xy · z {}", 1: "xz · y {}", 2: "zy · x {}"}
DRAWING, NOT_HERE = "drawing in 3-D …", "One of the two has no voxel here."
BAR_SHARE = 0.3
"""Share of the width of a tile that the scale bar takes at most."""
WHEEL_STEP, CLOSEST, FURTHEST = 1.2, 6.0, 0.6
TURN = 0.012
"""Radians for each pixel of a drag."""


class Look(Enum):
    """How the two segments are drawn over the image."""

    OUTLINE = "outlines"
    FILL = "fills"
    NOTHING = "nothing"

    def following(self) -> Look:
        """Return the look that comes next."""
        looks = list(Look)
        return looks[(looks.index(self) + 1) % len(looks)]


class ContactTiles(QWidget):
    """Draws evidence; pictures are ready-made, so this takes a few milliseconds.

    Parameters
    ----------
    colours : sequence of str
        Of the two segments.
    """

    scrolled = Signal(int, int)
    """The axis across a section, and how many sections to go on."""
    turned = Signal(float, float, bool)
    """The bodies were dragged to the right and down, in radians, and whether the drag goes on."""

    def __init__(self, colours: tuple[str, str], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.evidence: Evidence | None = None
        self.look = Look.OUTLINE
        self.is_bare = False
        """Whether the image is shown alone."""
        self.zoom = 1.0
        self._colours = tuple(QColor(colour) for colour in colours)
        self._dragged_at: QPointF | None = None
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)

    def show_evidence(self, evidence: Evidence | None) -> None:
        """Show other pictures, at once."""
        self.evidence = evidence
        self.repaint()

    def minimumSizeHint(self) -> QSize:  # noqa: N802
        """Ask for little: the window may be small."""
        return QSize(240, 240)

    def tile(self, index: int) -> QRectF:
        """Return where a tile lies: the sections across z, x, y, then the bodies."""
        width, height = (self.width() - GAP) / 2, (self.height() - GAP) / 2
        row, column = divmod(index, 2)
        return QRectF(column * (width + GAP), row * (height + GAP), width, height)

    # Drawing.

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
        """Draw all four tiles."""
        painter = QPainter(self)
        painter.fillRect(self.rect(), self.palette().window())
        painter.setRenderHints(
            QPainter.RenderHint.Antialiasing | QPainter.RenderHint.SmoothPixmapTransform, on=True
        )
        for index in range(4):
            tile = self.tile(index)
            painter.save()
            painter.setClipRect(tile)
            painter.fillRect(tile, BACKGROUND)
            if self.evidence is not None and index < 3:
                self._draw_section(painter, tile, self.evidence.sections[AXES[index]])
            elif self.evidence is not None:
                self._draw_body(painter, tile)
            painter.restore()

    def pixels_per_nm(self, tile: QRectF) -> float:
        """Return the scale of the sections."""
        assert self.evidence is not None
        return float(self.zoom * min(tile.width(), tile.height()) / (2 * self.evidence.half_nm))

    def _draw_section(self, painter: QPainter, tile: QRectF, section: Section) -> None:
        scale = self.pixels_per_nm(tile)
        height, width = (scale * size for size in section.voxel_nm)
        # Positions count from the middle of a voxel, pictures from its edge.
        top = tile.center().y() - (section.middle[0] + 0.5) * height
        left = tile.center().x() - (section.middle[1] + 0.5) * width
        is_bare = self.is_bare or self.look is Look.NOTHING
        pixels = section.plain if is_bare else section.dimmed if self.look is Look.OUTLINE else section.filled
        rows, columns = pixels.shape[:2]
        painter.drawImage(QRectF(left, top, columns * width, rows * height), as_image(pixels))
        if not is_bare:
            for side, points in section.outlines:
                painter.setPen(QPen(self._colours[side - 1], LINE))
                places = (points[:, ::-1] + 0.5) * (width, height) + (left, top)
                painter.drawPolyline(QPolygonF([QPointF(x, y) for x, y in places.tolist()]))
        self._draw_ticks(painter, tile)
        self._draw_label(painter, tile, NAMES[section.axis].format(section.index))
        self._draw_scale_bar(painter, tile, scale)

    def _draw_ticks(self, painter: QPainter, tile: QRectF) -> None:
        """Point at the contact from the four edges; nothing lies on it."""
        middle = tile.center()
        painter.setPen(QPen(INK, 1.5))
        for start, step in (
            (QPointF(middle.x(), tile.top()), QPointF(0, TICK)),
            (QPointF(middle.x(), tile.bottom()), QPointF(0, -TICK)),
            (QPointF(tile.left(), middle.y()), QPointF(TICK, 0)),
            (QPointF(tile.right(), middle.y()), QPointF(-TICK, 0)),
        ):
            painter.drawLine(start, start + step)

    def _draw_body(self, painter: QPainter, tile: QRectF) -> None:
        assert self.evidence is not None
        body = self.evidence.body
        if body is None:
            painter.setPen(INK)
            text = NOT_HERE if self.evidence.is_complete else DRAWING
            painter.drawText(tile, Qt.AlignmentFlag.AlignCenter, text)
        else:
            side = min(tile.width(), tile.height())
            place = QRectF(tile.center().x() - side / 2, tile.center().y() - side / 2, side, side)
            painter.drawImage(place, as_image(body.picture))
        self._draw_label(painter, tile, "3-D")

    def _draw_label(self, painter: QPainter, tile: QRectF, text: str) -> None:
        metrics = painter.fontMetrics()
        box = QRectF(
            tile.left() + 5, tile.top() + 5, metrics.horizontalAdvance(text) + 10, metrics.height() + 4
        )
        painter.fillRect(box, SHADE)
        painter.setPen(INK)
        painter.drawText(box, Qt.AlignmentFlag.AlignCenter, text)

    def _draw_scale_bar(self, painter: QPainter, tile: QRectF, scale: float) -> None:
        length_nm = round_length(BAR_SHARE * tile.width() / scale)
        text = f"{length_nm / 1000:g} µm" if length_nm >= 1000 else f"{length_nm:g} nm"
        metrics, width = painter.fontMetrics(), length_nm * scale
        box = QRectF(
            tile.right() - max(width, metrics.horizontalAdvance(text)) - 16,
            tile.bottom() - metrics.height() - 14,
            max(width, metrics.horizontalAdvance(text)) + 11,
            metrics.height() + 9,
        )
        painter.fillRect(box, SHADE)
        painter.setPen(INK)
        painter.drawText(box, Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop, text)
        left = box.center().x() - width / 2
        painter.fillRect(QRectF(left, box.bottom() - 5, width, 2.5), INK)

    # The mouse.

    def wheelEvent(self, event: QWheelEvent) -> None:  # noqa: N802
        """Go to the next section, or closer with Ctrl."""
        steps = int(np.sign(event.angleDelta().y()))
        index = next((i for i in range(4) if self.tile(i).contains(event.position())), 3)
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier or index == 3:
            self.zoom = float(np.clip(self.zoom * WHEEL_STEP**steps, FURTHEST, CLOSEST))
            self.update()
        elif steps:
            self.scrolled.emit(AXES[index], steps)
        event.accept()

    def mousePressEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        """Begin to turn the bodies."""
        if self.tile(3).contains(event.position()):
            self._dragged_at = event.position()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        """Turn them."""
        if self._dragged_at is not None:
            moved = event.position() - self._dragged_at
            self._dragged_at = event.position()
            self.turned.emit(TURN * moved.x(), TURN * moved.y(), True)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        """Draw them finely."""
        if self._dragged_at is not None:
            self._dragged_at = None
            self.turned.emit(0.0, 0.0, False)


AXES = (0, 2, 1)
"""The axis across the section of each tile, so that neighbours share one."""


def as_image(pixels: np.ndarray) -> QImage:
    """Let Qt draw an array, uint8 (rows, columns, 4), which must live as long."""
    rows, columns = pixels.shape[:2]
    return QImage(pixels.data, columns, rows, 4 * columns, QImage.Format.Format_RGBA8888)


def round_length(most: float) -> float:
    """Return the largest of 1, 2, 5, 10, 20, … that is not longer."""
    power = 10.0 ** np.floor(np.log10(max(most, 1e-3)))
    return float(power * max(step for step in (1, 2, 5) if step * power <= most or step == 1))

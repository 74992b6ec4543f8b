"""The contact view in place of napari's canvas: the question, its four tiles, a note, and the keys."""

from __future__ import annotations

from typing import Any

from qtpy.QtCore import Qt
from qtpy.QtWidgets import QLabel, QLineEdit, QVBoxLayout, QWidget

from napari_celis.gui.canvas.contact_tiles import ContactTiles
from napari_celis.gui.qt.widgets import row

NOTE = "Note for this answer [{}]"


class ContactPane(QWidget):
    """Widgets, and where they lie.

    Parameters
    ----------
    colours : tuple of str
        Of the two segments.
    """

    def __init__(self, colours: tuple[str, str], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.tiles = ContactTiles(colours)
        self.question = QLabel()
        self.question.setTextFormat(Qt.TextFormat.RichText)
        self.place = QLabel()
        self.place.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.keys = QLabel()
        self.keys.setTextFormat(Qt.TextFormat.RichText)
        self.note = QLineEdit()
        self.note.setMaxLength(500)
        self.note.setMinimumWidth(80)
        for label in (self.question, self.keys):
            label.setMinimumWidth(60)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(4, 3, 4, 3)
        layout.setSpacing(3)
        layout.addLayout(row(self.question, self.place, stretch=(1, 0)))
        layout.addWidget(self.tiles, 1)
        layout.addLayout(row(self.keys, self.note, stretch=(0, 1)))

    def place_in(self, viewer: Any) -> bool:
        """Lie where the canvas of a viewer lies, hidden; tell whether it has one."""
        window = getattr(viewer, "window", None)
        if window is None:
            return False
        self._canvas, self._dims = window._qt_viewer.canvas.native, window._qt_viewer.dims
        layout = self._canvas.parentWidget().layout()
        layout.insertWidget(layout.indexOf(self._canvas), self, 1)
        self.hide()
        return True

    def switch(self, is_on: bool) -> None:
        """Show the pane instead of the canvas and its sliders, or these again."""
        if is_on == self.isHidden():
            has_focus = self._canvas.hasFocus() or self.tiles.hasFocus() or self.note.hasFocus()
            self.setVisible(is_on)
            self._canvas.setVisible(not is_on)
            self._dims.setVisible(not is_on)
            if has_focus:
                (self.tiles if is_on else self._canvas).setFocus()

"""The card with all keys."""

from __future__ import annotations

from qtpy.QtCore import Qt
from qtpy.QtGui import QKeyEvent
from qtpy.QtWidgets import QDialog, QGridLayout, QLabel, QVBoxLayout, QWidget

from napari_celis.gui.canvas.key_table import FIXED_KEYS, KEY_GROUPS, KeyChoice
from napari_celis.gui.qt.widgets import heading

MOUSE = {
    "Wheel": "the sections before and behind",
    "Ctrl+wheel": "closer, further away",
    "Drag in 3-D": "turn the two segments",
}
WHERE = (
    "Other keys: Preferences, Plugins, CELIS. They count while “Point and click” is on and the panel is open."
)


class KeyCard(QDialog):
    """Shows what every key does; any key closes it.

    Parameters
    ----------
    choice : KeyChoice
        The key of every command.
    """

    def __init__(self, choice: KeyChoice, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("CELIS: keys")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        layout, grid = QVBoxLayout(self), QGridLayout()
        grid.setHorizontalSpacing(14)
        grid.setVerticalSpacing(4)
        groups = {
            title: [(" · ".join(choice.all_of(one.name)), one.text) for one in commands]
            for title, commands in KEY_GROUPS.items()
        }
        groups["In the contact view"] = list(MOUSE.items())
        groups["Always"] = list(FIXED_KEYS.items())
        for title, rows in groups.items():
            grid.addWidget(heading(title), grid.rowCount(), 0, 1, 2)
            for key, text in rows:
                line, label = grid.rowCount(), QLabel(key)
                label.setAlignment(Qt.AlignmentFlag.AlignRight)
                label.setStyleSheet("font-family: monospace; font-weight: bold;")
                grid.addWidget(label, line, 0)
                grid.addWidget(QLabel(text), line, 1)
        layout.addLayout(grid)
        where = QLabel(WHERE)
        where.setWordWrap(True)
        layout.addWidget(where)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802
        """Close at any key."""
        self.close()

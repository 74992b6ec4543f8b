"""Where sentences stand: always the same room, so that nothing moves under the mouse when one comes."""

from __future__ import annotations

from qtpy.QtCore import QEvent
from qtpy.QtGui import QResizeEvent, QShowEvent
from qtpy.QtWidgets import QFrame, QLayout, QScrollArea, QVBoxLayout, QWidget

from napari_celis.gui.qt.widgets import StatusLine, wrapped

N_LINES = 3
MARGIN = 10


class MessagePlace(QScrollArea):
    """Shows a problem, or else what a click does; longer sentences scroll.

    Parameters
    ----------
    parent : QWidget, optional
        Owns it.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.status = StatusLine()
        self.help = wrapped()
        inner = QWidget()
        layout = QVBoxLayout(inner)
        layout.setContentsMargins(0, 0, 0, 0)
        # Labels that break into lines ask for more than they need; `_fit` knows better.
        layout.setSizeConstraint(QLayout.SizeConstraint.SetNoConstraint)
        layout.addWidget(self.status)
        layout.addWidget(self.help)
        layout.addStretch(1)
        self.setWidget(inner)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self._set_height()

    def show_problem(self, sentence: str, severity: str) -> None:
        """Show a sentence in the place of the help, or the help again.

        Parameters
        ----------
        sentence : str
            "" shows the help.
        severity : str
            As for `StatusLine`.
        """
        self.status.show_problem(sentence, severity)
        self.status.setToolTip(sentence)
        self.help.setVisible(not sentence)
        self.verticalScrollBar().setValue(0)
        self._fit()

    def show_help(self, sentence: str) -> None:
        """Say what a click does, where there is no problem to show."""
        self.help.setText(sentence)
        self.help.setToolTip(sentence)
        self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        """Break the lines anew."""
        super().resizeEvent(event)
        self._fit()

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802
        """Know the letters of the window, which a panel that is being made does not have yet."""
        super().showEvent(event)
        self._set_height()

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802
        """Follow the letters of the window."""
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self._set_height()

    def _set_height(self) -> None:
        """Make room for whole lines, whatever the letters are."""
        inner = self.widget()
        if inner is not None:
            line = self.status.fontMetrics().lineSpacing()
            self.setFixedHeight(N_LINES * line + MARGIN)
            self.verticalScrollBar().setSingleStep(line)
            self._fit()

    def _fit(self) -> None:
        """Scroll only where a sentence is longer than its place."""
        inner = self.widget()
        if inner is not None:
            shown = self.status if self.status.text() else self.help
            needed = shown.heightForWidth(self.viewport().width()) if shown.text() else 0
            inner.setMinimumHeight(needed)

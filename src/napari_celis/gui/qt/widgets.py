"""Small widgets that all tabs share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from qtpy.QtCore import QEvent, QObject, QSize, Qt
from qtpy.QtGui import QFontDatabase, QGuiApplication
from qtpy.QtWidgets import (
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QMessageBox,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from napari_celis.gui.qt.colours import OKABE_ITO

SEVERITY_COLOURS = {"error": OKABE_ITO["vermilion"], "warning": OKABE_ITO["orange"]}


def as_int(value: Any) -> int:
    """Turn an enum of Qt into its number: some bindings of Qt have enums, others integers."""
    return int(getattr(value, "value", value))


def heading(text: str) -> QLabel:
    """Make the title of a group of widgets."""
    label = QLabel(text)
    font = label.font()
    font.setBold(True)
    label.setFont(font)
    return label


def wrapped(text: str = "") -> QLabel:
    """Make a text that breaks into lines instead of widening the panel."""
    label = QLabel(text)
    label.setWordWrap(True)
    label.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Minimum)
    return label


def button(text: str, on_click: Callable[[], object], tip: str, key: str = "") -> QPushButton:
    """Make a button; its key is shown on it.

    Parameters
    ----------
    text : str
        On the button.
    on_click : callable
        What it does.
    tip : str
        Shown while the mouse rests on it.
    key : str
        The key that does the same.
    """
    made = QPushButton()
    name_button(made, text, tip, key)
    made.clicked.connect(lambda: on_click())
    return made


def name_button(named: QPushButton, text: str, tip: str, key: str = "") -> None:
    """Write what a button does, and its key.

    Parameters
    ----------
    named : QPushButton
        Which one.
    text, tip, key : str
        As for `button`.
    """
    named.setText(f"{text} [{key}]" if key else text)
    named.setToolTip(f"{tip}  Key: {key}" if key else tip)


def make_primary(made: QPushButton) -> QPushButton:
    """Let a button look like the one that comes next."""
    colour = OKABE_ITO["blue"]
    made.setStyleSheet(
        f"QPushButton:enabled {{ background-color: {colour}; color: white; font-weight: bold; }}"
        f"QPushButton:enabled:hover {{ background-color: {OKABE_ITO['sky']}; color: black; }}"
    )
    return made


def row(*widgets: QWidget, stretch: Iterable[int] = ()) -> QHBoxLayout:
    """Put widgets side by side.

    Parameters
    ----------
    *widgets : QWidget
        From left to right.
    stretch : iterable of int
        Shares of the width that is left over; 0 where none is given.
    """
    layout = QHBoxLayout()
    layout.setContentsMargins(0, 0, 0, 0)
    layout.setSpacing(4)
    factors = list(stretch)
    for index, widget in enumerate(widgets):
        layout.addWidget(widget, factors[index] if index < len(factors) else 0)
    return layout


def share_width(*widgets: QWidget) -> None:
    """Let widgets side by side be narrower than their texts ask for, all in the same way."""
    for widget in widgets:
        widget.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)


class TallArea(QScrollArea):
    """Scrolls up and down, never sideways: it asks for the width that its contents need.

    Parameters
    ----------
    widget : QWidget
        What is scrolled.
    """

    def __init__(self, widget: QWidget, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWidget(widget)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)

    def minimumSizeHint(self) -> QSize:  # noqa: N802
        """Ask for the width of the contents beside a scroll bar, which may come at any time."""
        least = super().minimumSizeHint()
        needed = self.widget().minimumSizeHint().width() + self.verticalScrollBar().sizeHint().width()
        return QSize(max(least.width(), needed), least.height())

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802
        """Ask again when the contents change."""
        if event.type() == QEvent.Type.LayoutRequest:
            self.updateGeometry()
        return bool(super().eventFilter(watched, event))


def may_replace(parent: QWidget, named: str, targets: Iterable[Path]) -> bool:
    """Ask before something is replaced that a file dialog, which returned `named`, did not ask about.

    Parameters
    ----------
    parent : QWidget
        Lies below the dialog.
    named : str
        What the file dialog returned and asked about.
    targets : iterable of Path
        What would be written.
    """
    unasked = [path for path in targets if path.exists() and path != Path(named)]
    if not unasked:
        return True
    names = " and ".join(path.name for path in unasked)
    question = f"{names} {'exists' if len(unasked) == 1 else 'exist'} already. Replace?"
    return is_confirmed(parent, "Replace", question)


def is_confirmed(parent: QWidget, title: str, question: str) -> bool:
    """Ask a question; no is what Enter chooses.

    Parameters
    ----------
    parent : QWidget
        Lies below the dialog.
    title, question : str
        Its texts.
    """
    yes, no = QMessageBox.StandardButton.Yes, QMessageBox.StandardButton.No
    return bool(QMessageBox.question(parent, title, question, yes | no, no) == yes)


class CommandLine(QWidget):
    """The `celis` command that does the same as a tab, ready to copy.

    Parameters
    ----------
    get_text : callable
        Returns the command; asked again at every `refresh`.
    get_note : callable, optional
        Returns what has to be done before the command can be used; "" if nothing has.
    """

    def __init__(
        self,
        get_text: Callable[[], str],
        get_note: Callable[[], str] = str,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._get_text, self._get_note = get_text, get_note
        self.text = QLineEdit()
        self.text.setReadOnly(True)
        self.text.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
        self.copy = button("Copy", self._on_copy, "Copy the command, to do the same without a window.")
        self.note = wrapped()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addLayout(row(self.text, self.copy, stretch=(1, 0)))
        layout.addWidget(self.note)
        self.refresh()

    def refresh(self) -> None:
        """Ask for the command again."""
        command = self._get_text()
        if command != self.text.text():
            self.text.setText(command)
            self.text.setCursorPosition(0)
            self.text.setToolTip(command)
        note = self._get_note()
        self.note.setText(note)
        self.note.setVisible(bool(note))

    def _on_copy(self) -> None:
        self.refresh()
        QGuiApplication.clipboard().setText(self.text.text())


class StatusLine(QLabel):
    """One sentence about a problem and its way out; takes no room while there is none."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.severity = ""
        self.setWordWrap(True)
        self.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Minimum)
        self.show_problem("", "")

    def show_problem(self, sentence: str, severity: str) -> None:
        """Show a sentence, or nothing.

        Parameters
        ----------
        sentence : str
            "" hides the line.
        severity : str
            "error", "warning", or "" for a hint.
        """
        self.severity = severity if sentence else ""
        self.setText(sentence)
        colour = SEVERITY_COLOURS.get(self.severity, OKABE_ITO["grey"])
        self.setStyleSheet(f"border-left: 4px solid {colour}; padding: 4px 6px;")
        self.setVisible(bool(sentence))


class Figures(QWidget):
    """A small table of names and numbers.

    Parameters
    ----------
    tips : mapping of str to str
        What each name means, by name.
    columns : int
        Pairs of name and number side by side.
    """

    def __init__(self, tips: Mapping[str, str], columns: int = 1, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(6)
        grid.setVerticalSpacing(2)
        self._values: dict[str, QLabel] = {}
        for index, (name, tip) in enumerate(tips.items()):
            line, column = divmod(index, columns)
            label, value = QLabel(name), QLabel("–")
            value.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
            value.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            for widget in (label, value):
                widget.setToolTip(tip)
            grid.addWidget(label, line, 2 * column)
            grid.addWidget(value, line, 2 * column + 1)
            self._values[name] = value
        for column in range(columns):
            grid.setColumnStretch(2 * column + 1, 1)

    def show_value(self, name: str, text: str) -> None:
        """Change one number.

        Parameters
        ----------
        name : str
            Which one.
        text : str
            The number.
        """
        if self._values[name].text() != text:
            self._values[name].setText(text)

    def value(self, name: str) -> str:
        """Return what is shown for a name."""
        return str(self._values[name].text())

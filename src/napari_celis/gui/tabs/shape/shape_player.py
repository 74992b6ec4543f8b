"""A walk along a line, centre by centre, by hand or played."""

from __future__ import annotations

from functools import partial

from qtpy.QtCore import Qt, QTimer, Signal
from qtpy.QtWidgets import QCheckBox, QGridLayout, QLabel, QPushButton, QSlider, QVBoxLayout, QWidget

from napari_celis.core.descriptors import IntTriple
from napari_celis.core.lattice import Lattice
from napari_celis.gui.qt.widgets import button, row

BUTTON_WIDTH = 52
PLAY_MS = 150
"""Time that each centre is shown."""


class LinePlayer(QWidget):
    """Two ends, a slider between them, and a button that moves it."""

    moved = Signal(object)
    """The centre to show."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.lattice: Lattice | None = None
        self.here: IntTriple | None = None
        self.is_ready = True
        """Whether the last centre was drawn; while it was not, playing waits."""
        self.centres: list[IntTriple] = []
        self._ends: dict[str, IntTriple | None] = {"A": None, "B": None}
        self._labels = {name: QLabel("not set") for name in self._ends}
        self.set_buttons = {
            name: button(f"Set {name}", partial(self._set_end, name), f"Make the shown centre end {name}.")
            for name in self._ends
        }
        for set_button in self.set_buttons.values():
            set_button.setMinimumWidth(BUTTON_WIDTH)
        self.play = QPushButton("Play")
        self.play.setMinimumWidth(BUTTON_WIDTH)
        self.play.setCheckable(True)
        self.play.setToolTip("Show the descriptors from A to B, one after the other; again to stop.")
        self.play.toggled.connect(self._on_play)
        self.slider = QSlider(Qt.Orientation.Horizontal)
        self.slider.setToolTip("Go along the line by hand.")
        self.slider.valueChanged.connect(self._on_slid)
        self.count = QLabel("")
        self.follow = QCheckBox("Move the view along")
        self.follow.setChecked(True)
        self.follow.setToolTip("Keep the shown centre in the middle of the view.")
        self._timer = QTimer(self)
        self._timer.setInterval(PLAY_MS)
        self._timer.timeout.connect(self._on_tick)
        self._lay_out()
        self._refresh()

    def show_position(self, lattice: Lattice | None, here: IntTriple | None) -> None:
        """Know the centre that is shown now; another lattice moves the ends to its nearest centres.

        Parameters
        ----------
        lattice : Lattice, optional
            Its centres are walked along.
        here : tuple of int, optional
            The centre that is shown.
        """
        self.here = here
        if lattice is not self.lattice:
            self.lattice = lattice
            self._refresh()
        for set_button in self.set_buttons.values():
            set_button.setEnabled(here is not None)

    def stop(self) -> None:
        """End playing."""
        self.play.setChecked(False)

    def _lay_out(self) -> None:
        ends = QGridLayout()
        ends.setContentsMargins(0, 0, 0, 0)
        for column, name in enumerate(self._ends):
            ends.addWidget(self.set_buttons[name], 0, 2 * column)
            ends.addWidget(self._labels[name], 0, 2 * column + 1)
            ends.setColumnStretch(2 * column + 1, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        layout.addLayout(ends)
        layout.addLayout(row(self.play, self.slider, self.count, stretch=(0, 1, 0)))
        layout.addWidget(self.follow)

    def _set_end(self, name: str) -> None:
        self._ends[name] = self.here
        self._refresh()

    def _refresh(self) -> None:
        """List the centres between the ends again."""
        first, last = self._ends["A"], self._ends["B"]
        self.centres = []
        if self.lattice is not None and first is not None and last is not None:
            self.centres = self.lattice.centres_between(first, last)
        for name, label in self._labels.items():
            label.setText("not set" if self._ends[name] is None else str(self._ends[name]))
        self.slider.blockSignals(True)
        self.slider.setRange(0, max(len(self.centres) - 1, 0))
        self.slider.setValue(0)
        self.slider.blockSignals(False)
        for widget in (self.play, self.slider):
            widget.setEnabled(len(self.centres) > 1)
        if len(self.centres) < 2:
            self.stop()
        self._show_count()

    def _show_count(self) -> None:
        n = len(self.centres)
        self.count.setText(f"{self.slider.value() + 1} of {n}" if n else "")

    def _on_play(self, is_on: bool) -> None:
        self.play.setText("Stop" if is_on else "Play")
        if is_on:
            self.is_ready = True
            if self.slider.value() == self.slider.maximum():
                self.slider.setValue(0)
            self._timer.start()
        else:
            self._timer.stop()

    def _on_tick(self) -> None:
        if not self.is_ready:
            return
        if self.slider.value() == self.slider.maximum():
            self.stop()
        else:
            self.slider.setValue(self.slider.value() + 1)

    def _on_slid(self, index: int) -> None:
        self._show_count()
        if index < len(self.centres):
            self.is_ready = False
            self.moved.emit(self.centres[index])

"""The list of further annotated volumes that a training learns from."""

from __future__ import annotations

from collections.abc import Mapping

from napari.layers import Layer
from qtpy.QtCore import Signal
from qtpy.QtWidgets import QListWidget, QVBoxLayout, QWidget

from napari_celis.gui.qt.widgets import button, row

ROWS_HEIGHT = 60
HINT = (
    "Keep the image, truth and supervoxels that are chosen now. Then choose those of another volume on the "
    "tab Data: the model learns from all of them."
)

AnnotatedLayers = Mapping[str, Layer]
"""Layers of one volume by role: image, truth, and supervoxels where there are some."""


class FurtherVolumes(QWidget):
    """Annotated volumes that were added, one row each."""

    add_asked = Signal()
    """The volume that is chosen now is to be added."""
    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._volumes: list[AnnotatedLayers] = []
        self.rows = QListWidget()
        self.rows.setFixedHeight(ROWS_HEIGHT)
        self.rows.currentRowChanged.connect(self.refresh)
        self.add = button("Add chosen volume", self.add_asked.emit, HINT)
        self.remove = button("Remove", self._on_remove, "Take the selected volume off the list.")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.rows)
        layout.addLayout(row(self.add, self.remove, stretch=(1, 0)))
        self.refresh()

    @property
    def volumes(self) -> tuple[AnnotatedLayers, ...]:
        """What was added, in that order."""
        return tuple(self._volumes)

    def others(self, chosen: AnnotatedLayers) -> list[AnnotatedLayers]:
        """Leave out the volume that is chosen now: nothing is learned from twice."""
        return [own for own in self._volumes if own["image"] is not chosen.get("image")]

    def append(self, layers: AnnotatedLayers) -> None:
        """Add a volume, in place of an earlier one with the same image."""
        self._volumes = [*self.others(layers), dict(layers)]
        self._show()

    def refresh(self) -> None:
        """Offer what can be done; an empty list takes no room."""
        self.rows.setVisible(bool(self._volumes))
        self.remove.setVisible(bool(self._volumes))
        self.remove.setEnabled(0 <= self.rows.currentRow() < len(self._volumes))

    def _on_remove(self) -> None:
        del self._volumes[self.rows.currentRow()]
        self._show()

    def _show(self) -> None:
        """List the layers of every volume by name."""
        self.rows.clear()
        self.rows.addItems([", ".join(layer.name for layer in own.values()) for own in self._volumes])
        self.refresh()
        self.changed.emit()

"""Layers that only help to decide take no room in napari's list, nor do its label controls while pointing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from napari.layers import Labels, Layer
from qtpy.QtCore import QObject

from napari_celis.gui.layers.volume_layers import is_live


class LayerListTidier(QObject):
    """Hides rows of napari's layer list and its controls of labels, and shows them again.

    The panel switches what those layers show; nobody needs their rows.

    Parameters
    ----------
    viewer : Viewer
        Whose window is tidied; one without a window is left alone.
    is_listed : callable
        Tells of a layer of ours whether it keeps its row.
    is_pointing : callable
        Tells whether clicks select segments.
    """

    def __init__(
        self,
        viewer: Any,
        is_listed: Callable[[Layer], bool],
        is_pointing: Callable[[], bool],
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._viewer, self._is_listed, self._is_pointing = viewer, is_listed, is_pointing
        window = getattr(viewer, "window", None)
        self._qt_viewer = None if window is None else window._qt_viewer
        self._has_hidden_controls = False
        if self._qt_viewer is None:
            return
        for event in self._events():
            event.connect(self.tidy)
        self.tidy()

    def tidy(self, event: Any = None) -> None:
        """Hide what is not needed now."""
        if self._qt_viewer is None:
            return
        self._tidy_rows(lambda layer: is_live(layer) and not self._is_listed(layer))
        is_unneeded = self._is_pointing() and isinstance(self._viewer.layers.selection.active, Labels)
        controls = self._qt_viewer.dockLayerControls
        if is_unneeded and not controls.isHidden():
            self._has_hidden_controls = True
            controls.hide()
        elif not is_unneeded:
            self._show_controls()

    def close(self) -> None:
        """Show everything again, and follow the viewer no more."""
        if self._qt_viewer is None:
            return
        for event in self._events():
            event.disconnect(self.tidy)
        self._tidy_rows(lambda layer: False)
        self._show_controls()
        self._qt_viewer = None

    def _show_controls(self) -> None:
        if self._has_hidden_controls and self._qt_viewer is not None:
            self._has_hidden_controls = False
            self._qt_viewer.dockLayerControls.show()

    def _tidy_rows(self, is_hidden: Callable[[Layer], bool]) -> None:
        assert self._qt_viewer is not None
        view, layers = self._qt_viewer.layers, self._viewer.layers
        for row, layer in enumerate(reversed(layers)):
            # Rows run from the top layer down.
            view.setRowHidden(row, is_hidden(layer))

    def _events(self) -> tuple[Any, ...]:
        events = self._viewer.layers.events
        return events.inserted, events.removed, events.reordered, self._viewer.layers.selection.events.active

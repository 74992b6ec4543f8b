"""What the tabs of one viewer share: chosen data, the engine, the selection, and work in the background."""

from __future__ import annotations

import gc
import shlex
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

from qtpy.QtCore import QEvent, QObject, Signal

from napari_celis.gui.canvas.camera import fly
from napari_celis.gui.layers.volume_layers import source_of
from napari_celis.gui.session.heap import give_back_freed_memory
from napari_celis.gui.session.shown_run import ShownRun


class Workspace(ShownRun):
    """The shared state of one viewer; `Workspace.of(viewer)` finds it."""

    mode_changed = Signal(str)
    help_changed = Signal(str)
    """What a click does now."""
    closing = Signal()
    """The viewer closes: end whatever is under way."""

    _all: ClassVar[WeakKeyDictionary[Any, Workspace]] = WeakKeyDictionary()

    def __init__(self, viewer: Any) -> None:
        super().__init__(viewer)
        self.mode = ""
        self.help_text = ""
        self.panel: Any = None
        """The panel of this viewer, if it was opened; it lives on when its dock is closed."""
        give_back_freed_memory()
        self._watch_window()
        for layer in viewer.layers:
            self._adopt(layer)

    @classmethod
    def of(cls, viewer: Any) -> Workspace:
        """Return the workspace of a viewer; the first call makes it."""
        viewer = getattr(viewer, "__wrapped__", viewer)
        if viewer not in cls._all:
            cls._all[viewer] = cls(viewer)
        return cls._all[viewer]

    def keep_panel(self, panel: QObject) -> None:
        """Have a panel, until it is destroyed or the viewer closes."""
        self.panel = panel
        panel.destroyed.connect(self._forget_panel)

    def _forget_panel(self) -> None:
        self.panel = None

    def set_help(self, text: str) -> None:
        """Tell what a click does now."""
        self.help_text = text
        self.help_changed.emit(text)

    def set_mode(self, mode: str) -> None:
        """Change what clicks in the canvas do."""
        if mode != self.mode:
            self.mode = mode
            self.mode_changed.emit(mode)

    # Selection and navigation.

    def select(self, *supervoxels: int) -> None:
        """Select up to two supervoxels by dense index."""
        chosen = tuple(int(supervoxel) for supervoxel in supervoxels[:2])
        if chosen != self.selected:
            self.selected = chosen
            self.selection_changed.emit()

    def segment_of(self, supervoxel: int) -> int:
        """Return the id of the segment that a supervoxel, by dense index, belongs to now."""
        if self.engine is None:
            return 0
        return int(self.engine.snapshot.segment_ids[supervoxel])

    def fly_to(self, position_zyx_voxels: Any) -> None:
        """Bring a position, in voxels of the supervoxels, into the view."""
        layer = self.segmentation_layer or self.supervoxels_layer or self.image_layer
        if layer is not None:
            fly(self.viewer, layer, position_zyx_voxels)

    def command(self, output: str = "segmentation.zarr") -> str:
        """Return the command line that does the same run without a window."""
        parts = ["celis", "agglomerate"]
        if self.image_layer is not None or not self.has_affinities:
            parts += ["--image", source_of(self.image_layer, "IMAGE")]
        parts += ["--model", str(self.model_path or "MODEL.safetensors")]
        if self.affinities_file is not None:
            parts += ["--affinities", self.affinities_file.name]
        elif self.affinities_layer is not None:
            parts += ["--affinities", source_of(self.affinities_layer, "AFFINITIES")]
        if self.supervoxels_layer is not None:
            parts += ["--supervoxels", source_of(self.supervoxels_layer, "SUPERVOXELS")]
        if self.model is not None and len(self.model.policies) > 1:
            parts += ["--policy", self.policy]
        if self.engine is not None and not self.is_stale:
            parts += ["--threshold", f"{self.engine.threshold:.4g}"]
        if self.any_voxel_size:
            parts.append("--any-voxel-size")
        return shlex.join([*parts, "-o", output])

    # The end.

    def _watch_window(self) -> None:
        """Learn when the window of the viewer closes."""
        window = getattr(self.viewer, "window", None)
        if window is not None:
            window._qt_viewer.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802
        """Clean up when the viewer closes; nothing is held back."""
        if event.type() == QEvent.Type.Close:
            self.dispose()
        return False

    def dispose(self) -> None:
        """End all threads and let go of the viewer."""
        if self._is_disposed:
            return
        self._is_disposed = True
        self.closing.emit()
        self._background.close()
        if self.engine is not None:
            self.engine.close()
            self.engine = None
        self.let_go()
        self._forget_panel()
        self._all.pop(self.viewer, None)
        gc.unfreeze()

"""The state of the run that is shown: the present one, or an earlier one to look at."""

from __future__ import annotations

import numpy as np
from qtpy.QtCore import QObject, Signal

from napari_celis.core.agglomerator import Agglomerator
from napari_celis.gui.session.engine.snapshot import Snapshot
from napari_celis.gui.session.run import Run


class Preview(QObject):
    """Chooses the segments that the canvas shows.

    Parameters
    ----------
    run : Run
        Whose states are shown.
    """

    changed = Signal()
    """Another state is shown."""
    recoloured = Signal(object)
    """The segment of every dense supervoxel index, uint64 (N + 1,): what to show from now on."""

    def __init__(self, run: Run, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._run = run
        self.step: int | None = None
        """Decisions that stood in the state that is shown; None for the present one."""
        run.changed.connect(self._on_run)
        run.advanced.connect(self._on_advanced)

    def show(self, n_steps: int | None) -> None:
        """Show the segmentation as it was after `n_steps` decisions; None shows the present one."""
        self.step = n_steps
        self.changed.emit()
        engine = self._run.engine
        if engine is None:
            return
        if n_steps is None:
            self.recoloured.emit(engine.snapshot.segment_ids)
            return

        def find(agglomerator: Agglomerator) -> np.ndarray | None:
            is_there = n_steps <= len(agglomerator.history)
            return agglomerator.segment_ids(n_steps) if is_there else None

        def show(segment_ids: np.ndarray | None) -> None:
            if self.step == n_steps and segment_ids is not None:
                self.recoloured.emit(segment_ids)

        engine.ask(find, show, key="preview")

    def leave(self) -> None:
        """Show the present, if an earlier state is shown."""
        if self.step is not None:
            self.show(None)

    def _on_run(self) -> None:
        self.step = None

    def _on_advanced(self, snapshot: Snapshot) -> None:
        """Show the present, unless the user looks at a state that still lies in the past."""
        if self.step is None:
            self.recoloured.emit(snapshot.segment_ids)
        elif self.step >= len(snapshot.steps):
            self.show(None)

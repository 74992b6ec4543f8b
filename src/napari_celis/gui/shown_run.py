"""The run of one viewer: the engine, the layer that shows it live, and the preview of earlier states."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from napari.layers import Labels
from qtpy.QtCore import QTimer, Signal

from napari_celis.core.supervoxels import Supervoxels
from napari_celis.gui.engine import Engine
from napari_celis.gui.heap import set_garbage_aside
from napari_celis.gui.kept_decisions import new_file
from napari_celis.gui.layers import place_of, redraw, segmentation_layer
from napari_celis.gui.live_labels import LiveLabels
from napari_celis.gui.prepared_data import AndThen, PreparedData
from napari_celis.gui.preparing import PreparedRun
from napari_celis.gui.snapshot import Snapshot
from napari_celis.pipeline.choice import Choice

if TYPE_CHECKING:
    from napari_celis.models.model_file import PolicyName


class ShownRun(PreparedData):
    """Adds to the prepared data the engine that works on it, and shows what it does."""

    engine_changed = Signal()
    selection_changed = Signal()
    preview_changed = Signal()

    def __init__(self, viewer: Any) -> None:
        super().__init__(viewer)
        self.engine: Engine | None = None
        self.run_policy: PolicyName = "energy"
        """How the engine orders merges; what is chosen may be another policy already."""
        self.kept_in: Path | None = None
        """The file that the decisions of the engine go to."""
        self.segmentation_layer: Labels | None = None
        self._place: dict[str, Any] = {}
        self.supervoxels: Supervoxels | None = None
        self.selected: tuple[int, ...] = ()
        """Up to two supervoxels, by dense index."""
        self.preview_step: int | None = None
        self._prepared_from: tuple[Any, ...] = ()
        self._is_disposed = False
        self._soon: deque[Callable[[], object]] = deque()

    def on_prepared(
        self, choice: Choice, run: PreparedRun, identity: tuple[Any, ...], and_then: AndThen | None
    ) -> None:
        """Replace the engine."""
        prepared, inputs = run.prepared, run.prepared.inputs
        self._keep(choice, inputs)
        if identity[-1] != self.n_edits:
            # Painted on meanwhile: the run has its copy, the next one counts again.
            self._counted = None
        if inputs.made_labels is not None:
            identity = (identity[0], self.supervoxels_layer, *identity[2:])
        self._prepared_from = identity
        file = new_file(run.key)
        self.kept_in = file.path
        self.use_engine(
            Engine(prepared.agglomerator, prepared.threshold, prepared.overlaps, parent=self),
            inputs.atoms.supervoxels,
            prepared.policy,
        )
        engine = self.engine
        engine.keep_in(file)
        self.do_soon(lambda: self._begin(engine, and_then))

    def do_soon(self, work: Callable[[], object]) -> None:
        """Do something after everything else that is to be done soon, and let the window answer in between.

        Adding a layer or looking for garbage takes a third of a second each time.
        """
        self._soon.append(work)
        if len(self._soon) == 1:
            QTimer.singleShot(0, self._do_next)

    def _do_next(self) -> None:
        if self._is_disposed:
            return
        try:
            self._soon[0]()
        finally:
            self._soon.popleft()
            if self._soon:
                QTimer.singleShot(0, self._do_next)

    def _begin(self, engine: Engine | None, and_then: AndThen | None) -> None:
        """Do what the engine was wanted for, once the window has settled; by then it may be another one."""
        if engine is None or engine is not self.engine:
            return
        set_garbage_aside()
        if and_then is not None:
            and_then(engine)

    def use_engine(
        self,
        engine: Engine | None,
        supervoxels: Supervoxels | None = None,
        policy: PolicyName = "energy",
    ) -> None:
        """Work with another engine, and show its segmentation; None closes the present one."""
        if self.engine is not None:
            self.engine.close()
            self.engine.deleteLater()
        self.engine, self.supervoxels, self.selected, self.preview_step = engine, supervoxels, (), None
        self.run_policy = policy
        if engine is not None:
            engine.advanced.connect(self._on_advanced)
            engine.failed.connect(self.say)
            engine.not_kept.connect(lambda sentence: self.say(sentence, "warning"))
            engine.carried_out.connect(self._on_carried_out)
            self.show_segmentation()
        self.engine_changed.emit()
        self.selection_changed.emit()

    def show_segmentation(self) -> None:
        """Show the live segmentation in a layer of its own."""
        if self.engine is None:
            return
        old, like = self.segmentation_layer, self.supervoxels_layer or self.image_layer
        self.segmentation_layer = None
        if like is not None:
            self._place = place_of(like)
        if old is not None and old in self.viewer.layers:
            self.viewer.layers.remove(old)
        live = LiveLabels(self.supervoxels.dense, self.engine.snapshot.segment_ids)
        self.segmentation_layer = segmentation_layer(live, self._place)
        self.viewer.add_layer(self.segmentation_layer)
        if self.supervoxels_layer is not None:
            self.supervoxels_layer.visible = False
        self.data_changed.emit()

    @property
    def place(self) -> dict[str, Any]:
        """Scale, position and units of the run; remembered when the layers that show it are gone."""
        layer = self.segmentation_layer or self.supervoxels_layer or self.image_layer
        if layer is not None:
            self._place = place_of(layer)
        return self._place

    def show_step(self, n_steps: int | None) -> None:
        """Show the segmentation as it was after `n_steps` decisions; None shows the present one."""
        self.preview_step = n_steps
        self.preview_changed.emit()
        if self.engine is None:
            return
        if n_steps is None:
            self._recolour(self.engine.snapshot.segment_ids)
            return

        def show(segment_ids: np.ndarray | None) -> None:
            if self.preview_step == n_steps and segment_ids is not None:
                self._recolour(segment_ids)

        def ask(agglomerator: Any) -> np.ndarray | None:
            is_there = n_steps <= len(agglomerator.history)
            return agglomerator.segment_ids(n_steps) if is_there else None

        self.engine.ask(ask, show, key="preview")

    def _on_carried_out(self, name: str) -> None:
        """Take back a sentence that has had its time: the user has gone on."""
        if self.problem[0]:
            self.say("", "")

    def _on_advanced(self, snapshot: Snapshot) -> None:
        """Show the present, unless the user looks at a state that still lies in the past."""
        if self.preview_step is not None and self.preview_step >= len(snapshot.steps):
            self.show_step(None)
        elif self.preview_step is None:
            self._recolour(snapshot.segment_ids)

    def _recolour(self, segment_ids: np.ndarray) -> None:
        """Give the live layer other values."""
        layer = self.segmentation_layer
        if layer is None:
            return
        layer.data.lut = segment_ids
        if layer.visible:
            redraw(layer, self.viewer.layers)

    @property
    def is_stale(self) -> bool:
        """Whether image, supervoxels, model or policy are others than those of the engine."""
        return self.engine is not None and self.identity() != self._prepared_from

    def on_lost(self, what_happened: str) -> None:
        """Say that a run goes on although its data changed; without a run, say what is missing now."""
        if self.engine is None:
            self.check()
            return
        self.say(
            f"{what_happened} The run goes on with its own copy; “Prepare again” begins with the new data.",
            "warning",
        )

    def _on_removed(self, event: Any) -> None:
        if event.value is self.segmentation_layer:
            self.segmentation_layer = None
            self.say(
                "The segmentation layer was removed; the run goes on. “Show segmentation” adds it again.",
                "warning",
            )
            self.data_changed.emit()
        super()._on_removed(event)

"""What the parts of one viewer share: its data, its run, its selection, its messages."""

from __future__ import annotations

import gc
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar
from weakref import WeakKeyDictionary

from qtpy.QtCore import QEvent, QObject, Signal

from napari_celis.gui.session.background.heap import give_back_freed_memory, set_garbage_aside
from napari_celis.gui.session.box_review import BoxReview
from napari_celis.gui.session.data_selection import DataSelection
from napari_celis.gui.session.decision_controller import DecisionController
from napari_celis.gui.session.deferred_calls import DeferredCalls
from napari_celis.gui.session.engine.engine import Engine
from napari_celis.gui.session.messages import MessageLine
from napari_celis.gui.session.preparation import AndThen, Preparation, PreparedRun
from napari_celis.gui.session.preview import Preview
from napari_celis.gui.session.rewind import Rewind
from napari_celis.gui.session.run import Run
from napari_celis.gui.session.segments import Segments
from napari_celis.gui.session.selection import Selection
from napari_celis.gui.session.split_tool import SplitTool
from napari_celis.pipeline.splits import Divider

if TYPE_CHECKING:
    from napari_celis.models.model_file import PolicyName


class Workspace(QObject):
    """Has one object for each subject, and connects them; `Workspace.of(viewer)` finds it.

    Parameters
    ----------
    viewer : Viewer
        Whose layers and window it works with.
    """

    closing = Signal()
    """The viewer closes: end whatever is under way."""

    _all: ClassVar[WeakKeyDictionary[Any, Workspace]] = WeakKeyDictionary()

    def __init__(self, viewer: Any) -> None:
        super().__init__()
        self.viewer = viewer
        self.messages = MessageLine(self)
        self.data = DataSelection(viewer, self.messages, self)
        self.preparation = Preparation(self.data, self.messages, self)
        self.run = Run(self)
        self.preview = Preview(self.run, self)
        self.rewind = Rewind(self.run, self.messages, self)
        self.selection = Selection(self)
        self.decisions = DecisionController(self.run, self.selection, self.preview, self.messages, self)
        self.segments = Segments(self.run, self.selection, self.decisions, self.messages, self)
        self.split_tool = SplitTool(self.run, self.selection, self.preview, self.messages, self)
        self.box = BoxReview(viewer, self.data, self.preparation, self.run, self.messages, self)
        self.deferred = DeferredCalls(self)
        self.panel: Any = None
        """The panel of this viewer, if it was opened; it lives on when its dock is closed."""
        self._is_disposed = False
        self.preparation.prepared.connect(self._on_prepared)
        self.data.lost.connect(self._on_lost)
        self.run.failed.connect(lambda failure: self.messages.say(failure.sentence))
        self.run.not_saved.connect(lambda event: self.messages.say(event.sentence, "warning"))
        self.run.carried_out.connect(self._on_carried_out)
        self.run.threshold_changed.connect(self._on_carried_out)
        give_back_freed_memory()
        self._watch_window()
        for layer in viewer.layers:
            self.data.adopt(layer)

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

    # The run and its data.

    @property
    def is_stale(self) -> bool:
        """Whether image, supervoxels, model or policy are others than those of the run."""
        return self.run.engine is not None and self.data.origin() != self.run.origin

    def use_engine(self, engine: Engine | None, policy: PolicyName = "energy") -> None:
        """Work with another engine, with nothing selected.

        Parameters
        ----------
        engine : Engine, optional
            None closes the present one.
        policy : {"energy", "learned"}
            How it orders merges.
        """
        self.selection.clear()
        self.run.use(engine, policy)

    def _on_prepared(self, ready: PreparedRun) -> None:
        """Replace the engine."""
        prepared, data = ready.prepared, self.data
        data.remember(ready.choice, prepared.inputs)
        if ready.origin.n_edits != data.n_edits:
            # Painted on meanwhile: the run has its copy, the next one counts again.
            data.forget_counts()
        is_made = prepared.inputs.made_labels is not None
        self.run.origin = (
            replace(ready.origin, supervoxels=data.supervoxels_layer) if is_made else ready.origin
        )
        self.run.session_path, self.run.recorder = ready.session_path, ready.recorder
        self.run.notes = ready.notes
        # A session has a policy of its own.
        divider = Divider(replace(ready.choice, policy=prepared.policy), prepared)
        engine = Engine(
            prepared.agglomerator, prepared.threshold, prepared.overlaps, self, prepared.learner, divider
        )
        self.use_engine(engine, prepared.policy)
        if ready.recorder is not None:
            engine.record_to(ready.recorder)
        for remark in ready.remarks:
            self.messages.say(remark, "warning")
        self.deferred.add(lambda: self._begin(engine, ready.and_then))

    def _begin(self, engine: Engine, and_then: AndThen | None) -> None:
        """Do what the engine was wanted for, once the window has settled; by then it may be another one."""
        if engine is not self.run.engine:
            return
        set_garbage_aside()
        if and_then is not None:
            and_then(engine)

    def _on_lost(self, what_happened: str) -> None:
        """Say that a run goes on although its data changed; without a run, say what is missing now."""
        if self.run.engine is None:
            self.data.check()
            return
        self.messages.say(
            f"{what_happened} The run goes on with its own copy; “Prepare again” begins with the new data.",
            "warning",
        )

    def _on_carried_out(self, command: object) -> None:
        """Clear the outdated message."""
        if self.messages.current.text:
            self.messages.clear()

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
        self.deferred.close()
        self.preparation.close()
        self.run.close()
        self.data.close()
        self._forget_panel()
        self._all.pop(self.viewer, None)
        gc.unfreeze()

"""Switches for learning from answers and for going on by itself, and what came of both."""

from __future__ import annotations

from pathlib import Path

from qtpy.QtWidgets import QCheckBox, QFileDialog, QVBoxLayout, QWidget

from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.words import counted
from napari_celis.gui.qt.elided_label import ElidedLabel
from napari_celis.gui.qt.widgets import button, row
from napari_celis.gui.session.engine.engine import Engine
from napari_celis.gui.session.workspace import Workspace

LEARN_TIP = (
    "Every answer changes how merges are ordered, at once; undo takes the lesson back too. "
    "Needs the policy `learned`."
)
GO_ON_TIP = (
    "After you merge, keep apart or confirm, merge what is below the threshold now, without being asked. "
    "After a cut or a `not here` the run holds, so that you can look at what it did."
)


class LearningBox(QWidget):
    """Two switches, a line that says from how many answers was learned, and what can be done with it.

    Parameters
    ----------
    workspace : Workspace
        Shared by all tabs of a viewer.
    """

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self.learn = QCheckBox("Learn from my answers")
        self.learn.setToolTip(LEARN_TIP)
        self.go_on = QCheckBox("Continue automatically")
        self.go_on.setToolTip(GO_ON_TIP)
        self.learned, self.merged = ElidedLabel(), ElidedLabel()
        self.learned.setToolTip("From how many answers was learned.")
        self.merged.setToolTip("What was merged by itself since the last answer.")
        self.save = button("Save model…", self._on_save, "Write a model that knows your answers.")
        self.take_back = button("Take back", self._on_take_back, "Take back what was merged by itself.")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(2)
        layout.addLayout(row(self.learn, self.learned, self.save, stretch=(0, 1, 0)))
        layout.addLayout(row(self.go_on, self.merged, self.take_back, stretch=(0, 1, 0)))
        # Clicked, not toggled: what a snapshot says is no wish of the user.
        self.learn.clicked.connect(self._on_learn)
        self.go_on.clicked.connect(self._on_go_on)
        workspace.run.changed.connect(self.refresh)
        workspace.run.advanced.connect(self.refresh)
        self.refresh()

    def refresh(self, *_: object) -> None:
        """Show what the newest snapshot says."""
        engine = self._workspace.run.engine
        can_learn = engine is not None and engine.learner is not None
        self.learn.setEnabled(can_learn)
        self.go_on.setEnabled(engine is not None)
        snapshot = None if engine is None else engine.snapshot
        is_on = snapshot is not None and snapshot.is_learning
        self.learn.setChecked(is_on)
        self.go_on.setChecked(snapshot is not None and snapshot.goes_on)
        n_lessons = 0 if snapshot is None else snapshot.n_lessons
        self.learned.setText(counted(n_lessons, "answer") if is_on else "")
        self.save.setEnabled(is_on and n_lessons > 0)
        n_merged = snapshot.n_by_itself if snapshot is not None and snapshot.goes_on else 0
        self.merged.setText(f"{n_merged:,} merged" if n_merged else "")
        self.take_back.setEnabled(n_merged > 0)

    def _on_learn(self, is_on: bool) -> None:
        if self._workspace.run.engine is not None:
            self._workspace.run.engine.switch_learning(is_on=is_on)

    def _on_go_on(self, is_on: bool) -> None:
        if self._workspace.run.engine is not None:
            self._workspace.run.engine.go_on_after_answers(is_on=is_on)

    def _on_take_back(self) -> None:
        """Take back the merges since the last answer; a redo makes them again."""
        engine = self._workspace.run.engine
        if engine is not None and engine.snapshot.n_by_itself:
            engine.go_back(len(engine.snapshot.steps) - engine.snapshot.n_by_itself)

    def _on_save(self) -> None:
        name, _ = QFileDialog.getSaveFileName(self, "Save as new model", "", "Models (*.safetensors)")
        engine = self._workspace.run.engine
        if name and engine is not None:
            path = Path(name)
            self.save_model(engine, path if path.suffix else path.with_suffix(".safetensors"))

    def save_model(self, engine: Engine, path: Path) -> None:
        """Write what was learned, in the engine's thread.

        Parameters
        ----------
        engine : Engine
            That has learned.
        path : Path
            Where to.
        """
        from napari_celis.core.errors import CelisError
        from napari_celis.pipeline.learned_model import save_learned_model

        data, messages = self._workspace.data, self._workspace.messages
        model, source = data.model, data.sources().model
        if model is None:
            return

        def write(agglomerator: Agglomerator) -> tuple[str, bool]:
            try:
                n_answers = save_learned_model(model, agglomerator, path, source)
            except (CelisError, OSError) as error:
                return str(error), False
            return f"Wrote {path}, with what {counted(n_answers, 'answer')} taught.", True

        def tell(result: tuple[str, bool]) -> None:
            messages.say(result[0], "" if result[1] else "error")

        engine.ask(write, tell)

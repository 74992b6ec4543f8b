"""One sentence about decisions that an earlier window made, and a button that makes them again."""

from __future__ import annotations

from qtpy.QtWidgets import QVBoxLayout, QWidget

from napari_celis.gui.qt.colours import OKABE_ITO
from napari_celis.gui.qt.narrow_combo import NarrowCombo
from napari_celis.gui.qt.widgets import button, row, wrapped
from napari_celis.gui.session.run_resume import RunResume
from napari_celis.gui.session.session_store import SavedSession
from napari_celis.gui.session.workspace import Workspace


class ResumeBar(QWidget):
    """Offers to resume an earlier run; hidden where there is none.

    Parameters
    ----------
    workspace : Workspace
        Shared by all tabs of a viewer.
    """

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self.resume = RunResume(workspace)
        self.sentence = wrapped()
        self.sentence.setStyleSheet(f"border-left: 4px solid {OKABE_ITO['sky']}; padding: 4px 6px;")
        self.choice = NarrowCombo("Which of the earlier runs.")
        self.go = button(
            "Go on where you stopped",
            self._on_go,
            "Begin where that session ended; all its decisions can be undone.",
        )
        self.later = button(
            "Not now", self._on_later, "Start a new run; the kept decisions stay and are offered again."
        )
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        for widget in (self.sentence, self.choice):
            layout.addWidget(widget)
        layout.addLayout(row(self.go, self.later, stretch=(2, 1)))
        self.choice.currentIndexChanged.connect(lambda: self._describe())
        self.resume.changed.connect(self.refresh)
        workspace.preparation.progressed.connect(lambda progress: self._enable())
        self.refresh()

    @property
    def runs(self) -> list[SavedSession]:
        """What is offered, best first."""
        return self.resume.runs

    def refresh(self) -> None:
        """Show what can be resumed."""
        self.choice.blockSignals(True)
        self.choice.clear()
        self.choice.addItems([_title(run) for run in self.runs])
        self.choice.blockSignals(False)
        self.choice.setVisible(len(self.runs) > 1)
        self.setVisible(bool(self.runs))
        self._describe()
        self._enable()

    def _describe(self) -> None:
        run = self._chosen()
        self.sentence.setText("" if run is None else f"Earlier work on this volume was kept. {_title(run)}.")

    def _enable(self) -> None:
        self.go.setEnabled(not self._workspace.preparation.is_busy)

    def _chosen(self) -> SavedSession | None:
        return self.runs[max(0, self.choice.currentIndex())] if self.runs else None

    def _on_go(self) -> None:
        run = self._chosen()
        if run is not None:
            self.resume.resume(run)

    def _on_later(self) -> None:
        self.resume.dismiss()
        self._workspace.data.check()


def _title(run: SavedSession) -> str:
    """Say when a run ended and what stands in it."""
    decisions = f"{run.n_decisions:,} decision{'s' * (run.n_decisions != 1)}"
    return f"{run.ended:%d %b %Y, %H:%M}: {decisions}, {run.n_by_hand:,} by hand"

"""How far a block-wise run is: its stages, what failed, and where Dask shows more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qtpy.QtWidgets import QLabel, QVBoxLayout, QWidget

from napari_celis.gui.qt.colours import OKABE_ITO
from napari_celis.gui.qt.widgets import Figures, button, wrapped

if TYPE_CHECKING:
    from collections.abc import Callable

    from napari_celis.scale.status import RunStatus

TIP = "Blocks of this stage that are done."


class RunView(QWidget):
    """The stages of a run with their blocks, the blocks that failed, and the dashboard.

    Parameters
    ----------
    on_retry : callable
        Takes up failed blocks again.
    """

    def __init__(self, on_retry: Callable[[], object], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.stages = Figures({})
        self.finished = wrapped()
        self.failed = wrapped()
        self.retry = button(
            "Retry failed blocks",
            on_retry,
            "Compute the failed blocks again, and what had to do without them.",
        )
        self.dashboard = QLabel()
        self.dashboard.setOpenExternalLinks(True)
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        for widget in (self.stages, self.finished, self.failed, self.retry, self.dashboard):
            self._layout.addWidget(widget)
        self._names: list[str] = []
        self.show_status(None)
        self.show_dashboard("")

    def show_status(self, status: RunStatus | None) -> None:
        """Show how far every stage is."""
        stages = () if status is None else status.stages
        names = [stage.title for stage in stages]
        if names != self._names:
            self._names = names
            older, self.stages = (
                self.stages,
                Figures(dict.fromkeys(names, TIP)),
            )
            self._layout.replaceWidget(older, self.stages)
            older.deleteLater()
        for stage in stages:
            failed = f", {stage.failed:,} failed" if stage.failed else ""
            self.stages.show_value(stage.title, f"{stage.done:,} of {stage.total:,}{failed}")
        failures = () if status is None else status.failures
        if failures:
            first = failures[0]
            count = "1 block" if len(failures) == 1 else f"{len(failures):,} blocks"
            self.failed.setText(
                f"{count} failed and {'is' if len(failures) == 1 else 'are'} empty in the result. The first: "
                f"{first.stage}, {first.place}: {first.error}"
            )
        is_finished = status is not None and status.is_finished
        if status is not None and is_finished:
            self.finished.setText(_summary(status))
        self.finished.setVisible(is_finished)
        self.stages.setVisible(bool(stages) and not is_finished)
        self.failed.setVisible(bool(failures))
        self.retry.setVisible(bool(failures))

    def show_dashboard(self, address: str) -> None:
        """Show where Dask's dashboard is; none hides it."""
        colour = OKABE_ITO["sky"]
        self.dashboard.setText(f'<a style="color: {colour}" href="{address}">Dask’s dashboard</a>')
        self.dashboard.setToolTip(f"What every worker does at this moment: {address}")
        self.dashboard.setVisible(bool(address))


def _summary(status: RunStatus) -> str:
    """Say what came of a run."""
    figures = status.figures
    before, after = figures.get("supervoxels", 0), figures.get("segments", 0)
    text = f"Finished: {before:,} supervoxels became {after:,} segments"
    n_answers = figures.get("answers", 0)
    if n_answers:
        text += f", with {n_answers:,} {'answer' if n_answers == 1 else 'answers'} of people"
    return f"{text}."

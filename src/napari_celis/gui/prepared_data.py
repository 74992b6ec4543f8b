"""What is made of the chosen data in the background: counts, supervoxels, all that a run needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qtpy.QtCore import QTimer, Signal

from napari_celis.core.errors import CelisError
from napari_celis.gui.background import Background
from napari_celis.gui.chosen_data import ChosenData
from napari_celis.gui.engine import Engine
from napari_celis.gui.preparing import PreparedRun, prepare_run
from napari_celis.gui.workers import Report
from napari_celis.pipeline.checks import check_volumes, require_room
from napari_celis.pipeline.choice import Atoms, Choice
from napari_celis.pipeline.recipe import prepare_inputs, read_atoms

if TYPE_CHECKING:
    from napari_celis.models.model_file import CelisModel

RECOUNT_MS = 500
"""Time after the last edit of a layer until supervoxels are counted again."""
AndThen = Callable[[Engine], object]
"""What to do with an engine once there is one."""


class PreparedData(ChosenData):
    """Adds to the chosen data what takes longer than a click; one piece of work after the other."""

    preparing = Signal(str, float)
    """Stage and finished share of the work in the background; the stage "" when it has ended."""

    def __init__(self, viewer: Any) -> None:
        super().__init__(viewer)
        self._background = Background(self)
        self._background.progressed.connect(self.preparing)
        self._background.failed.connect(self._on_failed)
        self._background.cancelled.connect(self._on_cancelled)
        self._is_preparing = False
        self._and_then: AndThen | None = None
        self._recount = QTimer(self)
        self._recount.setSingleShot(True)
        self._recount.setInterval(RECOUNT_MS)
        self._recount.timeout.connect(self.count_supervoxels)
        self.edited.connect(self._recount.start)
        self.supervoxels_chosen.connect(self.count_supervoxels)

    @property
    def is_busy(self) -> bool:
        """Whether something is being prepared."""
        return self._background.is_busy

    def cancel_prepare(self) -> None:
        """End the work in the background at its next opportunity, and what waits for it."""
        self._background.cancel()

    def choose_model(self, path: Path | str) -> None:
        """Load a model file in the background and use it."""

        def load(report: Report) -> CelisModel:
            report("loading the model", 0.0)
            from napari_celis.models.model_file import load_model

            return load_model(path)

        def give_up() -> None:
            if self.loading_path == Path(path):
                self.loading_path = None

        self.loading_path = Path(path)
        self.data_changed.emit()
        self.check()
        self._background.when_free(
            lambda: self._background.start(load, lambda model: self.use_model(model, Path(path)), give_up)
        )

    def _on_failed(self, sentence: str, severity: str = "error") -> None:
        """Say why work in the background ended early."""
        self._is_preparing = False
        self.data_changed.emit()
        self.say(sentence, severity)

    def _on_cancelled(self) -> None:
        """Nothing comes any more, a model that waited to be loaded neither."""
        self.loading_path = None
        self._on_failed("Cancelled; nothing was changed.", "warning")

    def count_supervoxels(self) -> None:
        """Find out in the background how many supervoxels and actions the chosen layer has."""
        self._background.when_free(self._count)

    def prepare(self, and_then: AndThen | None = None) -> None:
        """Make an engine for the chosen data in the background; then call `and_then` with it.

        Asked again meanwhile, it does not begin anew; the newest `and_then` counts.
        """
        self._and_then = and_then
        if not self._is_preparing:
            self._is_preparing = True
            self._background.when_free(self._prepare)

    def make_supervoxels(self) -> None:
        """Cut the image into supervoxels in the background and add them as a layer."""
        self._background.when_free(self._make_supervoxels)

    def _count(self) -> None:
        try:
            choice = self.chosen()
            volume, n_edits = choice.supervoxels, self.n_edits
            if volume is None or choice.atoms is not None:
                return
            check_volumes(choice)
            require_room(replace(choice, model=None))
        except CelisError:
            return

        def keep(atoms: Atoms) -> None:
            # What was edited meanwhile will be counted again.
            if n_edits == self.n_edits:
                self._counted = (volume.data, atoms)
                self.data_changed.emit()

        self._background.start(lambda report: read_atoms(volume, report), keep)

    def _may_begin(self) -> bool:
        """Check what is chosen; who asked for work is told aloud what is still missing."""
        is_fine = self.check()
        if not is_fine:
            self.say(self.problem[0], self.problem[1] or "warning")
        return is_fine

    def _prepare(self) -> None:
        self._is_preparing = self._may_begin()
        if not self._is_preparing:
            return
        choice, identity = self.chosen(), self.identity()

        def use(run: PreparedRun) -> None:
            self._is_preparing = False
            self.on_prepared(choice, run, identity, self._and_then)

        self._background.start(lambda report: prepare_run(choice, report), use)

    def _make_supervoxels(self) -> None:
        if self._may_begin():
            choice = replace(self.chosen(), supervoxels=None, atoms=None)
            self._background.start(
                lambda report: prepare_inputs(choice, report), lambda inputs: self._keep(choice, inputs)
            )

    def identity(self) -> tuple[Any, ...]:
        """What an engine depends on."""
        layers = (self.image_layer, self.supervoxels_layer, self.truth_layer)
        return (*layers, self.affinities_layer, self.affinities_file, self.model, self.policy, self.n_edits)

    def on_prepared(
        self, choice: Choice, run: PreparedRun, identity: tuple[Any, ...], and_then: AndThen | None
    ) -> None:
        """Use what was prepared."""
        raise NotImplementedError

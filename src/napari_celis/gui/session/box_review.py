"""A box of a block-wise result as the data of the run, and the answers that go back to the result."""

from __future__ import annotations

import getpass
from typing import TYPE_CHECKING, Any

from napari.layers import Layer
from qtpy.QtCore import QObject, Signal

from napari_celis.core.volume import Box
from napari_celis.gui.layers.volume_layers import LOOKS, volume_to_layer
from napari_celis.gui.session.data_selection import DataSelection
from napari_celis.gui.session.layer_roles import VolumeRole
from napari_celis.gui.session.messages import MessageLine
from napari_celis.gui.session.preparation import Preparation
from napari_celis.gui.session.run import Run
from napari_celis.io.blocks import Kind
from napari_celis.pipeline.stages import Report

# Block-wise runs need packages that not everybody has: they are imported when a box is opened.
if TYPE_CHECKING:
    from napari_celis.scale.box_answers import BoxAnswers, Standing
    from napari_celis.scale.boxes import OpenedBox
    from napari_celis.scale.honour import Answer

NAMES: dict[VolumeRole, str] = {"image": "image of the box", "supervoxels": "supervoxels of the box"}


class BoxReview(QObject):
    """Opens a box, shows it, and writes what is decided in it back to the result.

    Parameters
    ----------
    viewer : Viewer
        Gets a layer for the image and one for the supervoxels of the box.
    data : DataSelection
        Told to use them.
    preparation : Preparation
        Opens boxes in the background, and prepares the run.
    run : Run
        Whose decisions become answers.
    messages : MessageLine
        Told what was written.
    """

    changed = Signal()
    """Another box is open, or other answers wait to be written."""
    written = Signal(object)
    """The list of Answers that were written."""

    def __init__(
        self,
        viewer: Any,
        data: DataSelection,
        preparation: Preparation,
        run: Run,
        messages: MessageLine,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._viewer, self._data, self._preparation = viewer, data, preparation
        self._run, self._messages = run, messages
        self.opened: OpenedBox | None = None
        """The box that was opened last."""
        self.unwritten: tuple[Answer, ...] = ()
        """Answers that the result does not know yet."""
        self._answers: BoxAnswers | None = None
        self._layers: list[Layer] = []
        run.changed.connect(self._on_run)
        run.carried_out.connect(self._look)
        run.finished.connect(self._look)

    @property
    def is_active(self) -> bool:
        """Whether the run is that of the box."""
        origin = self._run.origin
        return (
            self._run.engine is not None
            and origin is not None
            and any(origin.supervoxels is layer for layer in self._layers)
        )

    def open(self, url: str, box: Box) -> None:
        """Open a box of a result in the background, show it, and prepare its run.

        Parameters
        ----------
        url : str
            Where the result lies.
        box : tuple of slice
            In voxels of the result.
        """

        def work(report: Report) -> OpenedBox:
            report("opening the box", 0.0)
            from napari_celis.scale.boxes import open_box
            from napari_celis.scale.run import BlockRun
            from napari_celis.scale.storage import RunStore

            return open_box(BlockRun(RunStore(url)), box, report)

        jobs = self._preparation.jobs
        jobs.when_free(lambda: jobs.start(work, self.show))

    def show(self, opened: OpenedBox) -> None:
        """Show a box that is open, and prepare its run."""
        from napari_celis.scale.box_answers import BoxAnswers
        from napari_celis.scale.run import MODEL

        choice, store = opened.choice, opened.run.store
        roles: tuple[VolumeRole, ...] = ("image", "supervoxels")
        layers = {role: _as_layer(role, opened) for role in roles if role in choice.volumes}
        before, self._layers = self._layers, list(layers.values())
        self.opened, self._answers, self.unwritten = opened, BoxAnswers(opened), ()
        # Two sets of colours at once cannot be told apart.
        if self._data.supervoxels_layer is not None:
            self._data.supervoxels_layer.visible = False
        self._data.use_choice(choice, layers, store.path(MODEL) if store.is_local else None)
        for layer in before:
            if layer in self._viewer.layers:
                self._viewer.layers.remove(layer)
        for role, layer in layers.items():
            layer.name = NAMES[role]
        self.changed.emit()
        self._preparation.prepare()

    def write(self) -> None:
        """Write the answers that the result does not know yet."""
        engine, answers = self._run.engine, self._answers
        if engine is not None and answers is not None and self.is_active:
            engine.ask(answers.standing, lambda standing: self._write(answers, standing), key="write answers")

    def _write(self, answers: BoxAnswers, standing: Standing) -> None:
        jobs = self._preparation.jobs
        jobs.when_free(
            lambda: jobs.start(lambda report: answers.write(standing, _user_name()), self._on_written)
        )

    def _on_written(self, written: list[Answer]) -> None:
        self.unwritten = ()
        self.written.emit(written)
        # Something may have been decided meanwhile.
        self._look()

    def _on_run(self) -> None:
        """Follow another run, which may or may not be that of the box."""
        self._know(())
        self._look()

    def _look(self, happened: object = None) -> None:
        """Ask the run what people say in it now."""
        engine, answers = self._run.engine, self._answers
        if engine is None or answers is None or not self.is_active:
            self._know(())
            return
        engine.ask(
            answers.standing, lambda standing: self._know(tuple(answers.changes(standing))), key="answers"
        )

    def _know(self, unwritten: tuple[Answer, ...]) -> None:
        self.unwritten = unwritten
        self.changed.emit()


def _as_layer(role: VolumeRole, opened: OpenedBox) -> Layer:
    """Make a layer that lies where the box does; the image stays lazy."""
    kind: Kind = "image" if role == "image" else "labels"
    data, settings, _ = volume_to_layer(opened.choice.volumes[role], kind)
    return Layer.create(data, {**settings, **LOOKS[role], "name": NAMES[role]}, kind)


def _user_name() -> str:
    """Say who answers, where the system knows."""
    try:
        return getpass.getuser()
    except (ImportError, KeyError, OSError):
        return ""

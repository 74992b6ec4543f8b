"""Sessions by name: begin, open, save under another name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from napari.layers import Layer
from qtpy.QtCore import QObject, Signal

from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.errors import CelisError
from napari_celis.core.volume import Volume
from napari_celis.gui.layers.volume_layers import KINDS, LOOKS, volume_to_layer
from napari_celis.gui.session.background.job import sentence_of
from napari_celis.gui.session.session_run import SessionWish
from napari_celis.gui.session.session_store import note_recent, preparation_of, recent_sessions
from napari_celis.gui.session.workspace import Workspace
from napari_celis.io.session.file import SUFFIX, Session
from napari_celis.pipeline.choice import Choice
from napari_celis.pipeline.kept_preparation import with_preparation
from napari_celis.pipeline.session_data import MissingDataError, Sources, open_data
from napari_celis.pipeline.stages import Report


@dataclass(frozen=True)
class MissingData:
    """Volumes or a model of a session that are not where they were."""

    path: Path
    """The session."""
    missing: tuple[str, ...]
    """What is missing, by role; `model` for the model."""
    relocate: Mapping[str, str]
    """Where other things are that were looked for before."""
    sentence: str


@dataclass(frozen=True, eq=False)
class _Opened:
    """What a session is about, open and not read yet."""

    choice: Choice
    sources: Sources


class SessionFiles(QObject):
    """What can be done with the session of one viewer as a file.

    Parameters
    ----------
    workspace : Workspace
        Whose run it is about.
    """

    changed = Signal()
    """Another session, or another name for it."""
    missing = Signal(object)
    """A MissingData: somebody has to say where volumes are."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self._workspace = workspace
        workspace.run.changed.connect(self.changed)

    @property
    def path(self) -> Path | None:
        """The session of the run, if there is a run."""
        run = self._workspace.run
        return None if run.engine is None else run.session_path

    @property
    def is_kept(self) -> bool:
        """Whether decisions go to the session; not so in a second window."""
        return self._workspace.run.recorder is not None

    def recent(self) -> list[Path]:
        """List sessions that were used lately, the newest first."""
        return [path for path in recent_sessions() if path != self.path]

    def new(self, path: Path) -> None:
        """Begin a session about the chosen data under a name; the file is there at once."""
        path = with_suffix(path).absolute()
        if path.exists():
            self._say(f"{path} exists already. Choose another name.")
            return
        wish = SessionWish(path, begins_now=True)
        self._workspace.preparation.prepare(session=wish)

    def open(self, path: Path, relocate: Mapping[str, str] | None = None) -> None:
        """Load the volumes and the model of a session, and go on where it ends.

        Parameters
        ----------
        path : Path
            The session.
        relocate : mapping, optional
            Where volumes or the model are now, by role.
        """
        jobs, places, path = self._workspace.preparation.jobs, dict(relocate or {}), path.absolute()
        if self.is_kept and self.path is not None and _are_same(path, self.path):
            # Read again it would be locked, by this very window.
            more = " Choose its data again on the tab Data to go on." if self._workspace.is_stale else ""
            self._say(f"{path.name} is open in this window already.{more}")
            return

        def work(report: Report) -> _Opened | MissingData:
            report("opening the session", 0.0)
            with Session.open(path, read_only=True) as session:
                head = session.head
                try:
                    choice, sources = open_data(head, path, places)
                except MissingDataError as error:
                    return MissingData(path, error.missing, places, str(error))
            return _Opened(with_preparation(choice, head, preparation_of(path), report), sources)

        def show(result: _Opened | MissingData) -> None:
            if isinstance(result, MissingData):
                self._say(result.sentence)
                self.missing.emit(result)
            else:
                self._show(result)
                self._workspace.preparation.prepare(session=SessionWish(path, goes_on=True))

        jobs.when_free(lambda: jobs.start(work, show))

    def go_on_with(self, path: Path) -> None:
        """Go on with another session about the data that is chosen, such as a copy of this one."""
        self._workspace.preview.show(None)
        self._workspace.preparation.prepare(session=SessionWish(path, goes_on=True))

    def save_as(self, path: Path) -> None:
        """Go on in a copy of the session under another name; a session of that name is replaced."""
        run, path = self._workspace.run, with_suffix(path).absolute()
        engine, recorder, own = run.engine, run.recorder, run.session_path
        if engine is None or own is None:
            self._say("There is no session to save yet. Prepare the data first.")
            return
        if recorder is None:
            self._save_read_only(own, path)
            return

        def save(agglomerator: Agglomerator) -> str:
            try:
                recorder.save_as(path)
            except (CelisError, OSError) as error:
                return sentence_of(error)
            return ""

        engine.ask(save, lambda problem: self._on_saved(path, problem))

    def _save_read_only(self, own: Path, path: Path) -> None:
        """Copy a session that another window has open, and go on with the copy."""
        try:
            with Session.open(own, read_only=True) as session:
                session.save_as(path, replace_old=True)
        except CelisError as error:
            self._say(str(error))
            return
        note_recent(path)
        self.go_on_with(path)

    def _on_saved(self, path: Path, problem: str) -> None:
        if problem:
            self._say(problem)
            return
        self._workspace.run.session_path = path
        self.changed.emit()

    def _show(self, opened: _Opened) -> None:
        """Choose the volumes and the model of a session, as layers of their own."""
        workspace, choice, sources = self._workspace, opened.choice, opened.sources
        data = workspace.data
        assert choice.model is not None
        data.use_model(choice.model, Path(sources.model))
        data.use_policy(choice.known_policy)
        data.allow_any_voxel_size(choice.any_voxel_size)
        layers: dict[str, Layer] = {}
        for role, volume in choice.volumes.items():
            layers[role] = as_layer(role, volume)
        for role, choose in _choosers(workspace).items():
            choose(layers.get(role))
            if role in layers:
                workspace.viewer.add_layer(layers[role])
        data.use_affinities_file(choice.affinities)
        shown = data.choice().supervoxels
        if shown is not None and choice.atoms is not None:
            data.remember_counts(shown, choice.atoms)
        if choice.known_affinities is not None:
            data.use_affinities(choice.known_affinities)

    def _say(self, sentence: str) -> None:
        self._workspace.messages.say(sentence, "warning")


def _are_same(one: Path, other: Path) -> bool:
    """Tell whether two paths lead to the same file."""
    return one == other or (one.exists() and other.exists() and one.samefile(other))


def _choosers(workspace: Workspace) -> dict[str, Callable[[Layer | None], None]]:
    data = workspace.data
    return {
        "image": lambda layer: data.choose("image", layer),
        "supervoxels": lambda layer: data.choose("supervoxels", layer),
        "truth": lambda layer: data.choose("truth", layer),
    }


def as_layer(role: str, volume: Volume) -> Layer:
    """Make the layer of a volume, named after its role.

    Parameters
    ----------
    role : {"image", "supervoxels", "truth"}
        What it is used as.
    volume : Volume
        Opened, and not read yet.
    """
    data, settings, kind = volume_to_layer(volume, KINDS[role])
    return Layer.create(data, {**settings, **LOOKS[role], "name": role}, kind)


def with_suffix(path: Path) -> Path:
    """Give the name of a session its ending, if it has none."""
    return path if path.suffix == SUFFIX else path.with_name(path.name + SUFFIX)

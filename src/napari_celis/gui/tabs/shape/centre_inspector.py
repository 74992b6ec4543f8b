"""Asks what a centre sees, in the thread that owns the answer, and brings it to the window."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from qtpy.QtCore import QObject, Signal

from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.descriptors import DescriptorSpec, IntTriple, paper_specs
from napari_celis.core.errors import CelisError, LabelsError
from napari_celis.core.inspect import (
    CentreView,
    RegionState,
    centre_energies,
    current_region,
    initial_region,
    merge_between,
    most_changed_centre,
    view_centre,
)
from napari_celis.core.lattice import Lattice
from napari_celis.core.supervoxels import Supervoxels
from napari_celis.gui.session.background.job import Job
from napari_celis.gui.session.workspace import Workspace


@dataclass(frozen=True)
class Request:
    """One centre to look at."""

    lattice: Lattice
    centre: IntTriple
    pair: tuple[int, int] | None = None
    """Ids of two supervoxels whose merge is shown."""
    with_zones: bool = False


@dataclass(frozen=True, eq=False)
class Answer:
    """What a centre sees, in ids that the user knows."""

    request: Request
    view: CentreView
    merge: tuple[int, int] | None
    """Ids of the supervoxels whose merge is shown."""
    note: str
    """Why the merge that was asked for is not shown; empty if it is."""
    active_ids: np.ndarray
    """Ids of both ends of the view's active actions, uint64 (n, 2)."""
    energies: tuple[float, float] | None = None
    """Energy of this centre before and after the merge; None where no model looks."""


class CentreInspector(QObject):
    """Looks at centres one at a time; of several waiting requests only the newest is answered."""

    seen = Signal(object)
    """An Answer."""
    found = Signal(object)
    """The centre that a search found."""
    specs_found = Signal(object)
    """The descriptor specs to choose from."""
    refused = Signal(str)
    """One sentence about a centre that cannot be shown."""
    not_found = Signal(str)
    """One sentence about a search that found nothing."""

    def __init__(self, workspace: Workspace, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self._job: Job | None = None
        self._waiting: Callable[[], None] | None = None
        self._initial = _InitialRegions()
        workspace.closing.connect(self.close)

    def find_specs(self) -> None:
        """Find the specs of the run, else of the chosen model, else of the paper."""
        workspace = self._workspace
        if workspace.run.engine is not None:
            self.specs_found.emit(workspace.run.engine.tables.specs)
        elif workspace.data.model is not None:
            self.specs_found.emit(tuple(workspace.data.model.specs))
        elif self.shape() is not None and workspace.data.supervoxels_layer is not None:
            self.specs_found.emit(paper_specs(voxel_size_nm=tuple(workspace.data.supervoxels_layer.scale)))
        else:
            self.specs_found.emit(())

    def shape(self) -> tuple[int, ...] | None:
        """Size of the volume in voxels; None while no supervoxels are chosen."""
        labels = self.labels()
        return None if labels is None or len(labels.shape) != 3 else tuple(labels.shape)

    def labels(self) -> Any:
        """Return the supervoxels to look at, possibly lazy: of the run, else of the chosen layer."""
        workspace = self._workspace
        if workspace.run.supervoxels is not None:
            return workspace.run.supervoxels.dense
        layer = workspace.data.supervoxels_layer
        if layer is None:
            return None
        return layer.data[0] if layer.multiscale else layer.data

    def forget(self) -> None:
        """Read the supervoxels again the next time: they were painted on."""
        self._initial.forget()

    def look(self, request: Request) -> None:
        """Ask what a centre sees; `seen` or `refused` brings the answer."""
        engine = self._workspace.run.engine
        if engine is not None:
            engine.ask(
                lambda agglomerator: _or_sentence(_look_now, agglomerator, request),
                self._on_looked,
                key="shape",
            )
            return
        labels = self.labels()
        if labels is not None:
            self._run(lambda: _or_sentence(self._initial.look, labels, request), self._on_looked)

    def find_change(self, spec: DescriptorSpec, pair: tuple[int, int]) -> None:
        """Ask where a merge changes the energy most; `found` or `not_found` brings the answer.

        Parameters
        ----------
        spec : DescriptorSpec
            Whose centres are searched.
        pair : tuple of int
            Ids of the two supervoxels.
        """
        engine = self._workspace.run.engine
        if engine is not None:
            engine.ask(
                lambda agglomerator: _or_sentence(_find_change, agglomerator, spec.name, pair),
                self._on_found,
                key="shape change",
            )

    def close(self) -> None:
        """End the thread, if one is at work."""
        self._waiting = None
        if self._job is not None:
            self._job.close()
            self._job = None

    def _on_looked(self, answer: Answer | str) -> None:
        (self.refused if isinstance(answer, str) else self.seen).emit(answer)

    def _on_found(self, centre: IntTriple | str) -> None:
        (self.not_found if isinstance(centre, str) else self.found).emit(centre)

    def _run(self, work: Callable[[], Any], on_returned: Callable[[Any], None]) -> None:
        """Work in a thread as soon as the one before has ended."""
        if self._job is not None:
            self._waiting = lambda: self._run(work, on_returned)
            return
        job = self._job = Job(lambda report: work(), "celis shape", self)
        job.returned.connect(on_returned)
        job.failed.connect(self.refused.emit)
        job.ended.connect(self._on_ended)
        job.start()

    def _on_ended(self) -> None:
        if self._job is not None:
            self._job.deleteLater()
        self._job = None
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            waiting()


def _or_sentence(work: Callable[..., Any], *arguments: Any) -> Any:
    """Do it, or return the sentence that says why not."""
    try:
        return work(*arguments)
    except CelisError as error:
        return str(error)


def _look_now(agglomerator: Agglomerator, request: Request) -> Answer:
    """Look at a centre as the run has left it."""
    supervoxels, note, merge = agglomerator.supervoxels, "", None
    if request.pair is not None:
        try:
            merge = merge_between(agglomerator, *(supervoxels.index_of(end) for end in request.pair))
        except CelisError as error:
            note = str(error)
    region = request.lattice.region_of(request.centre)
    state = current_region(agglomerator, request.lattice.spec.name, region)
    view = view_centre(state, request.centre, merge, with_zones=request.with_zones)
    answer = _answer(request, view, merge, note, supervoxels.ids)
    return replace(answer, energies=centre_energies(state, view))


class _InitialRegions:
    """Looks at supervoxels of which none are merged; keeps the last region, for neighbours come next."""

    def __init__(self) -> None:
        self._labels: Any = None
        self._lattice: Lattice | None = None
        self._read: tuple[int, bool] | None = None
        self._kept: tuple[RegionState, Supervoxels]

    def forget(self) -> None:
        """Read the voxels again the next time."""
        self._read = None

    def look(self, labels: Any, request: Request) -> Answer:
        """Look at a centre; called by one thread at a time."""
        state, block = self._find(labels, request)
        merge: tuple[int, int] | None = None
        note = ""
        if request.pair is not None:
            u_id, v_id = request.pair
            is_here = np.isin(np.array(request.pair, dtype=np.uint64), block.ids).all()
            merge = (block.index_of(u_id), block.index_of(v_id)) if is_here else None
            note = "" if is_here else "The two chosen supervoxels do not meet in this region."
        view = view_centre(state, request.centre, merge, with_zones=request.with_zones)
        return _answer(request, view, merge, note, block.ids)

    def _find(self, labels: Any, request: Request) -> tuple[RegionState, Supervoxels]:
        """Return the region of a centre and its supervoxels."""
        region, spec = request.lattice.region_of(request.centre), request.lattice.spec
        wanted = (region.index, request.with_zones)
        if self._labels is not labels or self._lattice is not request.lattice or self._read != wanted:
            voxels = np.asarray(labels[region.slices])
            if not voxels.any():
                raise LabelsError("There is nothing but background in this region. Choose another position.")
            block = Supervoxels.from_labels(voxels)
            self._kept = initial_region(block, region, spec, with_zones=request.with_zones), block
            self._labels, self._lattice, self._read = labels, request.lattice, wanted
        return self._kept


def _find_change(agglomerator: Agglomerator, spec_name: str, pair: tuple[int, int]) -> IntTriple:
    """Find the centre that a merge changes most."""
    ends = (agglomerator.supervoxels.index_of(end) for end in pair)
    return most_changed_centre(agglomerator, spec_name, merge_between(agglomerator, *ends))


def _answer(
    request: Request, view: CentreView, merge: tuple[int, int] | None, note: str, ids: np.ndarray
) -> Answer:
    """Add the ids that the user knows."""
    named = None if merge is None else (int(ids[merge[0]]), int(ids[merge[1]]))
    return Answer(request, view, named, note, np.stack([ids[view.active.u], ids[view.active.v]], axis=1))

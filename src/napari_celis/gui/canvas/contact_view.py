"""Shows the question that is asked before anything else happens, and makes the next ones ready."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import Any

import numpy as np
from napari.utils.colormaps.standardize_color import transform_color
from qtpy.QtCore import QObject, QTimer, Signal

from napari_celis.core.errors import CelisError
from napari_celis.core.volume import Triple
from napari_celis.gui.canvas.contact_header import ContactHeader
from napari_celis.gui.canvas.contact_pane import ContactPane
from napari_celis.gui.canvas.contact_tiles import Look
from napari_celis.gui.canvas.key_table import KeyChoice
from napari_celis.gui.layers.volume_files import volume_of
from napari_celis.gui.qt.colours import OKABE_ITO
from napari_celis.gui.session.evidence.evidence import Scene, look_at, section_at
from napari_celis.gui.session.evidence.sides import sides_of
from napari_celis.gui.session.evidence.store import EvidenceStore, Request
from napari_celis.gui.session.workspace import Workspace

COLOURS = (OKABE_ITO["orange"], OKABE_ITO["sky"])
CANVAS_HALF = 40.0
"""What the canvas shows on either side of a contact, in voxels, while no pictures of it were made."""
AHEAD = 5
"""Questions that are made ready before they are asked."""


class ContactView(QObject):
    """The contact view of one viewer.

    Parameters
    ----------
    workspace : Workspace
        Whose questions are shown.
    keys : KeyChoice
        Named below the tiles.
    """

    shown = Signal()
    """The pane came or went."""

    def __init__(self, workspace: Workspace, keys: KeyChoice, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._workspace, self._run, self._decisions = workspace, workspace.run, workspace.decisions
        self.pane = ContactPane(COLOURS) if hasattr(workspace.viewer, "window") else None
        """None where the viewer has no window."""
        self.store = EvidenceStore(self)
        self._scene: Scene | None = None
        self._request: Request | None = None
        self._action = -1
        self.is_wanted = True
        """Whether questions are shown in the pane; the canvas remains otherwise."""
        self.look = Look.OUTLINE
        if self.pane is None:
            return
        self.header = ContactHeader(self.pane, self._run, self._decisions, keys, COLOURS)
        self.pane.place_in(workspace.viewer)
        self._prefetch_timer = QTimer(self)
        self._prefetch_timer.setSingleShot(True)
        self._prefetch_timer.timeout.connect(self._prefetch)
        self._decisions.asked.connect(self.show_question)
        self._decisions.changed.connect(self._follow)
        self._decisions.order.changed.connect(self._on_order)
        self._run.changed.connect(self._on_run)
        self._run.advanced.connect(self._on_advanced)
        self.store.made.connect(self._on_made)
        self.pane.tiles.scrolled.connect(self._on_scrolled)
        self.pane.tiles.turned.connect(self._on_turned)
        self.pane.note.textEdited.connect(self._on_note)
        self.pane.note.returnPressed.connect(self.pane.tiles.setFocus)
        keys.changed.connect(self.header.show_keys)
        workspace.closing.connect(self.store.close)
        self.header.show_keys()
        self._on_run()

    @property
    def is_shown(self) -> bool:
        """Whether the pane lies where the canvas was."""
        return self.pane is not None and not self.pane.isHidden()

    def half_voxels(self) -> float:
        """Return how much is shown on either side of the contact, in voxels of the finest axis."""
        evidence = self.pane.tiles.evidence if self.pane is not None and self.is_shown else None
        if evidence is None or self._scene is None:
            return CANVAS_HALF
        return evidence.half_nm / min(self._scene.voxel_nm)

    # What keys do.

    def toggle(self) -> None:
        """Change between the pane and the canvas."""
        self.is_wanted = not self.is_shown
        if self.is_wanted and self._decisions.pair.action >= 0:
            self.show_question(self._decisions.pair.action)
        else:
            self._switch(is_on=False)

    def set_look(self, look: Look) -> None:
        """Draw the two segments otherwise."""
        self.look = look
        if self.pane is not None:
            self.pane.tiles.look = look
            self.pane.tiles.update()

    def blink(self, is_bare: bool) -> None:
        """Show the image alone, or everything again."""
        if self.pane is not None:
            self.pane.tiles.is_bare = is_bare
            self.pane.tiles.repaint()

    def write_note(self) -> None:
        """Let the user write what should be kept with the answer."""
        if self._decisions.pair.action < 0 or self.pane is None:
            return
        self.is_wanted = True
        self.show_question(self._decisions.pair.action)
        self.pane.note.setFocus()

    # Showing.

    def show_question(self, action: int) -> None:
        """Show a question, now: what is not ready is made, but for the bodies, which may come later."""
        request = self._request_of(action)
        if self.pane is None or not self.is_wanted or request is None or self._scene is None:
            return
        is_new = action != self._action
        self._action, self._request = action, request
        self.pane.tiles.zoom = 1.0 if is_new else self.pane.tiles.zoom
        if is_new:
            self.pane.note.clear()
        evidence = self.store.get(request.key)
        if evidence is None:
            evidence = look_at(self._scene, request.position, request.side_of, with_body=False)
            self.store.want([request])
        self.header.show_question(action, request)
        self.header.show_place(action)
        self._switch(is_on=True)
        self.pane.tiles.show_evidence(evidence)
        self._prefetch_timer.start()

    def _switch(self, is_on: bool) -> None:
        if self.pane is not None and self.is_shown != is_on:
            self.pane.switch(is_on)
            self.shown.emit()

    # Making.

    def _request_of(self, action: int) -> Request | None:
        engine, position = self._run.engine, self._decisions.pair.position_of(action)
        if engine is None or position is None or self._scene is None:
            return None
        snapshot = engine.snapshot
        side_of = sides_of(engine.tables.actions, snapshot.segment_ids, snapshot.taken, action)
        counts = np.bincount(side_of, minlength=3)
        key: Hashable = (action, int(counts[1]), int(counts[2]))
        return Request(key, np.asarray(position, dtype=float), side_of)

    def _prefetch(self) -> None:
        """Make the questions ready that come next."""
        requests = [self._request_of(action) for action in (self._action, *self._decisions.upcoming(AHEAD))]
        self.store.want([request for request in requests if request is not None])

    def _on_made(self, key: Hashable) -> None:
        """Show what was missing."""
        request = self._request
        if self.pane is None or request is None or request.key != key or not self.is_shown:
            return
        evidence = self.store.get(key)
        if evidence is not None:
            self.pane.tiles.evidence = evidence
            self.pane.tiles.update()

    def _on_scrolled(self, axis: int, steps: int) -> None:
        """Go through the sections across one axis."""
        assert self.pane is not None
        evidence, request = self.pane.tiles.evidence, self._request
        if evidence is None or request is None or self._scene is None:
            return
        position = request.position.copy()
        last = self._scene.dense.shape[axis] - 1
        position[axis] = np.clip(evidence.sections[axis].index + steps, 0, last)
        new = section_at(self._scene, position, request.side_of, axis, evidence.half_nm)
        sections = tuple(new if old.axis == axis else old for old in evidence.sections)
        self.pane.tiles.show_evidence(replace(evidence, sections=sections))

    def _on_turned(self, right: float, down: float, is_draft: bool) -> None:
        assert self.pane is not None
        evidence = self.pane.tiles.evidence
        if evidence is None or evidence.body is None or self._scene is None:
            return
        body = evidence.body.turned(right, down, self._scene.colours, is_draft=is_draft)
        self.pane.tiles.show_evidence(replace(evidence, body=body))

    # Following.

    def leave(self) -> None:
        """Show the canvas, until the next question."""
        self._switch(is_on=False)
        self._action, self._request = -1, None

    def _follow(self) -> None:
        """Leave the pane when something else is looked at: another selection, nothing, or a planned cut."""
        decisions = self._decisions
        if decisions.cut.plan is not None or decisions.pair.action != self._action:
            self.leave()

    def _on_advanced(self, snapshot: Any) -> None:
        """Show the segments of the question as they have become."""
        if not self.is_shown or self._request is None:
            return
        request = self._request_of(self._action)
        if request is None:
            return
        # Also where both sides are the same as before: the merge may have been made or cut.
        self.header.show_question(self._action, request)
        if request.key != self._request.key:
            self._request = request
            self._prefetch_timer.start()
            self._on_made(request.key)

    def _on_order(self) -> None:
        """Show where the question is in the queue now, and make those ready that come next."""
        if self.is_shown:
            self.header.show_place(self._action)
        self._prefetch_timer.start()

    def _on_run(self) -> None:
        self._switch(is_on=False)
        self._action, self._request = -1, None
        self._scene = self._scene_of_run()
        self.store.use(self._scene)

    def _on_note(self, text: str) -> None:
        self._decisions.note = text

    def _scene_of_run(self) -> Scene | None:
        """Collect the volume of the run: its supervoxels, and the image if it fits."""
        engine, data = self._run.engine, self._workspace.data
        if engine is None:
            return None
        dense = engine.tables.supervoxels.dense
        voxel_nm: Triple = (1.0, 1.0, 1.0)
        read = None
        for layer in (data.supervoxels_layer, data.image_layer):
            try:
                volume = None if layer is None else volume_of(layer)
            except CelisError:
                continue
            if volume is not None and tuple(volume.data.shape) == dense.shape:
                voxel_nm = volume.voxel_size_nm
        image = data.image_layer
        if image is not None:
            finest: Any = image.data[0] if image.multiscale else image.data
            if tuple(finest.shape) == dense.shape:
                low, high = (float(limit) for limit in image.contrast_limits)

                def read(box: tuple[slice, slice, slice]) -> np.ndarray:
                    share = (np.asarray(finest[box], dtype=np.float32) - low) / max(high - low, 1e-9)
                    pixels: np.ndarray = np.clip(255 * share, 0, 255).astype(np.uint8)
                    return pixels

        return Scene(dense, voxel_nm, read, np.asarray(transform_color(list(COLOURS)))[:, :3])

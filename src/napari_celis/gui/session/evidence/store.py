"""Evidence that is made before anybody asks for it, in a thread of its own."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from qtpy.QtCore import QObject, Qt, Signal

from napari_celis.gui.session.background.job import start_thread
from napari_celis.gui.session.evidence.evidence import Evidence, Scene, look_at

logger = logging.getLogger(__name__)

KEPT = 32
"""Contacts whose pictures are kept."""


@dataclass(frozen=True, eq=False)
class Request:
    """A contact whose evidence is wanted."""

    key: Hashable
    """Tells this contact, with the segments as they are now, from all others."""
    position: np.ndarray
    """A point on it, in voxels, float (3,)."""
    side_of: np.ndarray
    """Side of every supervoxel, int8 (N + 1,)."""


class EvidenceStore(QObject):
    """Makes and keeps the pictures of contacts; all methods belong to the window's thread."""

    made = Signal(object)
    """The key of a request whose evidence is there now."""
    _told = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._condition = threading.Condition()
        self._scene: Scene | None = None
        self._kept: OrderedDict[Hashable, Evidence] = OrderedDict()
        self._wanted: list[Request] = []
        self._is_closing = False
        self._thread: threading.Thread | None = None
        self._told.connect(self._on_told, Qt.ConnectionType.QueuedConnection)

    def use(self, scene: Scene | None) -> None:
        """Work on another volume, or on none; everything that was made is forgotten."""
        with self._condition:
            self._scene = scene
            self._wanted = []
            self._kept.clear()

    def get(self, key: Hashable) -> Evidence | None:
        """Return what was made for a key, if it was."""
        with self._condition:
            return self._kept.get(key)

    def want(self, requests: Sequence[Request]) -> None:
        """Make these, the first one first; earlier wishes that were not begun are dropped."""
        with self._condition:
            self._wanted = [request for request in requests if request.key not in self._kept]
            for request in requests:
                if request.key in self._kept:
                    self._kept.move_to_end(request.key)
            if self._wanted and self._thread is None and not self._is_closing:
                self._thread = start_thread(self._work, "celis evidence")
            self._condition.notify_all()

    def close(self) -> None:
        """End the thread after the picture it is at, and wait for it."""
        with self._condition:
            self._is_closing = True
            self._condition.notify_all()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _on_told(self, key: Hashable) -> None:
        """Pass on what the thread told; what is on its way when the window closes finds nothing any more."""
        if not self._is_closing:
            self.made.emit(key)

    def _work(self) -> None:
        while True:
            with self._condition:
                while not self._is_closing and not (self._wanted and self._scene is not None):
                    self._condition.wait()
                if self._is_closing:
                    return
                request, scene = self._wanted.pop(0), self._scene
            assert scene is not None
            try:
                evidence = look_at(scene, request.position, request.side_of)
            except Exception:
                # The sections that the window makes itself remain; what is missing is the picture in 3-D.
                logger.info("no evidence for %s", request.key, exc_info=True)
                continue
            self._keep(scene, request.key, evidence)

    def _keep(self, scene: Scene, key: Hashable, evidence: Evidence) -> None:
        with self._condition:
            if scene is not self._scene or self._is_closing:
                return
            self._kept[key] = evidence
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        try:
            self._told.emit(key)
        except RuntimeError:
            logger.debug("the pictures of a contact came after their window")

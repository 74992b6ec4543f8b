"""What stands above and below the tiles of the contact view: the question, its place, and the keys."""

from __future__ import annotations

import numpy as np

from napari_celis.gui.canvas.contact_pane import NOTE, ContactPane
from napari_celis.gui.canvas.key_table import KeyChoice
from napari_celis.gui.qt.numbers import short_number
from napari_celis.gui.session.decision_controller import DecisionController
from napari_celis.gui.session.evidence.store import Request
from napari_celis.gui.session.run import Run
from napari_celis.gui.session.standing import Standing, standing_of

ASKED = {
    Standing.OPEN: "Same neuron?",
    Standing.APART: "Kept apart.",
    Standing.MERGED: "Merged. Still right?",
    Standing.JOINED: "One segment already, by other merges.",
    Standing.DONE: "Done: nothing changes this any more.",
}
HINTS = {
    "yes": "yes",
    "no": "no",
    "not_here": "not here",
    "unsure": "unsure",
    "cut": "cut",
    "next": "next",
}
"""What the keys are called."""
FITTING = {
    Standing.OPEN: ("yes", "no", "not_here", "unsure", "next"),
    Standing.APART: ("next",),
    Standing.MERGED: ("yes", "no", "unsure", "next"),
    Standing.JOINED: ("cut", "next"),
    Standing.DONE: ("next",),
}
"""The keys that do something."""


class ContactHeader:
    """Writes around the tiles how the contact stands in the newest snapshot.

    Parameters
    ----------
    pane : ContactPane
        Has the labels.
    run : Run
        Whose contacts are shown.
    decisions : DecisionController
        Knows the queue.
    keys : KeyChoice
        Named below the tiles.
    colours : tuple of str
        Of the two segments.
    """

    def __init__(
        self,
        pane: ContactPane,
        run: Run,
        decisions: DecisionController,
        keys: KeyChoice,
        colours: tuple[str, str],
    ) -> None:
        self._pane, self._run, self._decisions, self._keys = pane, run, decisions, keys
        self._colours = colours
        self._standing = Standing.OPEN

    def show_question(self, action: int, request: Request) -> None:
        """Write what is asked, and the two segments.

        Parameters
        ----------
        action : int
            The contact.
        request : Request
            Has its sides.
        """
        engine = self._run.engine
        if engine is None:
            return
        tables, snapshot = engine.tables, engine.snapshot
        ends = int(tables.actions.u[action]), int(tables.actions.v[action])
        is_one = bool(snapshot.segment_ids[ends[0]] == snapshot.segment_ids[ends[1]])
        sizes = tables.supervoxels.sizes
        parts = []
        for side, (end, colour) in enumerate(zip(ends, self._colours, strict=True), start=1):
            name = int(tables.supervoxels.ids[end] if is_one else snapshot.segment_ids[end])
            voxels = short_number(int(sizes[request.side_of == side].sum()))
            parts.append(f'<span style="color:{colour}">■</span> {name} ({voxels} voxels)')
        self._standing = standing_of(tables, snapshot, *ends, action)
        self._pane.question.setText(f"<b>{ASKED[self._standing]}</b> &nbsp; {' &nbsp; '.join(parts)}")
        self.show_keys()

    def show_place(self, action: int) -> None:
        """Write where the contact is in the queue; nothing if it is not asked about.

        Parameters
        ----------
        action : int
            The contact.
        """
        order = self._decisions.order.open_actions()
        at = np.flatnonzero(order == action)
        self._pane.place.setText(f"{at[0] + 1:,} of {len(order):,}" if len(at) else "")

    def show_keys(self) -> None:
        """Name the keys that do something, as the settings have them."""
        keys = self._keys.keys
        hints = [f"<b>{keys[name]}</b> {HINTS[name]}" for name in FITTING[self._standing]]
        more = f"hold <b>{keys['blink']}</b> image · <b>?</b> keys"
        self._pane.keys.setText(f"{' · '.join(hints)} &nbsp; {more}")
        self._pane.note.setPlaceholderText(NOTE.format(keys["note"]))

"""The inspected decision: both segments, the score with its parts, and the keys to decide."""

from __future__ import annotations

import numpy as np
from qtpy.QtGui import QShowEvent
from qtpy.QtWidgets import QCheckBox, QLabel, QSizePolicy, QVBoxLayout, QWidget

from napari_celis.core.cuts import CutPlan
from napari_celis.core.journal import newest_about
from napari_celis.core.words import counted
from napari_celis.gui.canvas.canvas import Canvas
from napari_celis.gui.qt.colours import OKABE_ITO
from napari_celis.gui.qt.numbers import short_number, signed
from napari_celis.gui.qt.widgets import button, name_button, row, wrapped
from napari_celis.gui.session.engine.tables import RunTables
from napari_celis.gui.session.standing import Standing
from napari_celis.gui.session.workspace import Workspace
from napari_celis.gui.tabs.decisions.part_bars import PartBars
from napari_celis.gui.tabs.decisions.split_box import SplitBox

NOTHING = "Choose a row, press {next} for the next question, or click two segments in the canvas."
LEARNED = "How much speaks against this merge, as learned from examples (log-odds). The bars add up to it."
TIPS = {
    "energy": (
        "Energy change over the whole contact of the two segments, by descriptor spec: below zero speaks for "
        "the merge."
    ),
    "learned": (
        "What adds to the score. Membrane: what the boundary network sees along the contact. Contact size: "
        "its area. Shared surface: how much of the smaller segment's surface it takes. Shape: what the "
        "energies say about the joined shape, by descriptor spec. Whole contact: what all of these tell "
        "together. Base rate: how often any two neighbours are one. Below zero speaks for the merge."
    ),
}
ALLOW_TIP = "Take out what keeps these two segments apart; all other decisions stay. Undo brings it back."
BUTTONS = {
    "yes": ("Yes", "One neuron: merge, or keep the merge that was made; and go on."),
    "no": ("No", "Two neurons: keep apart, or cut the merge that was made; and go on."),
    "not_here": (
        "Not here",
        "A membrane at this contact, although they may be one neuron elsewhere. Forbids nothing; and go on.",
    ),
    "unsure": ("Unsure", "Ask again at the end of the queue; and go on."),
    "merge": ("Merge", "Join the two selected segments, and stay."),
    "keep_apart": ("Keep apart", "Never join these two segments; and stay."),
    "cut": ("Cut…", "Show what a cut would do, before it is done."),
    "split": ("Split…", "Split the selected segment between seeds of two colours, with a preview."),
}
"""Text and explanation of the buttons whose keys can be chosen."""
DONE = "segment {} is done: nothing changes it until its state is “in work” again"
STAYS_APART = "A run does not join them again; one undo takes all of it back."


class DecisionInspector(QWidget):
    """Shows the inspected pair of segments.

    Parameters
    ----------
    workspace : Workspace
        Shared with all tabs.
    """

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.workspace = workspace
        self.decisions = decisions = workspace.decisions
        self.highlight = Canvas.of(workspace).highlight
        self.segments = wrapped()
        self.score = QLabel()
        font = self.score.font()
        font.setPointSizeF(1.5 * font.pointSizeF() if font.pointSizeF() > 0 else 15.0)
        font.setBold(True)
        self.score.setFont(font)
        self.verdict = wrapped()
        self.meaning = wrapped()
        self.parts = PartBars()
        self.keys = Canvas.of(workspace).keys.choice
        self.buttons = {
            "yes": button("Yes", decisions.accept, ""),
            "no": button("No", decisions.reject, ""),
            "not_here": button("Not here", decisions.not_here, ""),
            "unsure": button("Unsure", decisions.unsure, ""),
            "merge": button("Merge", decisions.merge, ""),
            "keep_apart": button("Keep apart", decisions.keep_apart, ""),
            "allow": button("Allow again", decisions.allow, ALLOW_TIP),
            "cut": button("Cut…", decisions.plan_cut, ""),
            "split": button("Split…", workspace.split_tool.start, ""),
            "confirm": button("Cut", decisions.cut.confirm, "Carry out the cut that is shown.", "Enter"),
            "cancel": button("Cancel", decisions.clear, "Leave everything as it is.", "Esc"),
        }
        self._name_keys()
        self.keys.changed.connect(self._name_keys)
        self.centres = QCheckBox("ΔE at centres")
        self.centres.setToolTip(
            "Show in the canvas what each centre adds to the energy change: blue for, red against."
        )
        self.centres.setChecked(decisions.pair.wants_centres)
        self.centres.toggled.connect(decisions.pair.show_centres)
        self.meshes = QCheckBox("Surfaces in 2-D too")
        self.meshes.setToolTip(
            "Make 3-D surfaces of the selected segments while the view is 2-D too; in 3-D they always appear."
        )
        self.meshes.toggled.connect(self.highlight.meshes.always_show)
        self.split = SplitBox(workspace)
        self._lay_out()
        decisions.changed.connect(self.refresh)
        workspace.split_tool.changed.connect(self.refresh)

    def _lay_out(self) -> None:
        self._decide, self._confirm = QWidget(), QWidget()
        lines = QVBoxLayout(self._decide)
        lines.setContentsMargins(0, 0, 0, 0)
        lines.setSpacing(4)
        # As wide as their texts are long, in a narrow panel. To allow again takes the place of the button for
        # the decision that it takes out.
        answers = {"yes": 6, "no": 5, "not_here": 7, "unsure": 6}
        decisions = {"merge": 16, "keep_apart": 21, "allow": 21, "cut": 14, "split": 16}
        for widths in (answers, decisions):
            lines.addLayout(row(*(self.buttons[name] for name in widths), stretch=widths.values()))
        self.buttons["allow"].setVisible(False)
        for made in self.buttons.values():
            # Four side by side in a narrow panel.
            made.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        confirm = row(self.buttons["confirm"], self.buttons["cancel"], stretch=(1, 1))
        self._confirm.setLayout(confirm)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        layout.addWidget(self.segments)
        layout.addLayout(row(self.score, self.verdict, stretch=(0, 1)))
        # First the buttons: what explains the score may be out of sight in a low window.
        for widget in (self._decide, self._confirm, self.split, self.meaning, self.parts):
            layout.addWidget(widget)
        layout.addLayout(row(self.centres, self.meshes, stretch=(1, 1)))

    def _name_keys(self) -> None:
        """Write the key of every command on its button."""
        for name, (text, tip) in BUTTONS.items():
            name_button(self.buttons[name], text, tip, self.keys.keys[name])

    def refresh(self) -> None:
        """Show the decision as it is now, as soon as somebody looks."""
        if not self.isVisible():
            return
        decisions = self.decisions
        is_split = self.workspace.split_tool.is_on
        is_cut = decisions.cut.plan is not None and not is_split
        self.segments.setText(self._segments_text())
        score = None if is_cut or is_split else decisions.pair.score
        self.score.setVisible(score is not None)
        self.score.setText("" if score is None else signed(score))
        self.verdict.setText(self._verdict_text())
        self.verdict.setVisible(not is_split)
        self.parts.setVisible(score is not None)
        self.meaning.setVisible(score is not None and self.workspace.run.policy == "learned")
        self.meaning.setText(LEARNED)
        self.parts.setToolTip(TIPS[self.workspace.run.policy])
        self.parts.show_parts(decisions.pair.parts)
        self._decide.setVisible(not is_cut and not is_split)
        self._confirm.setVisible(is_cut)
        self._enable()

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802
        """Catch up with what happened while nobody looked."""
        super().showEvent(event)
        self.refresh()

    def _enable(self) -> None:
        pair = self.decisions.pair
        n_selected = len(self.workspace.selection.supervoxels) if self.workspace.run.engine is not None else 0
        is_pair = n_selected == 2 and not pair.is_one_segment
        is_open = is_pair and not pair.is_kept_apart
        is_touching = is_open and pair.action >= 0
        is_made = n_selected == 2 and pair.is_merged_directly
        self.buttons["yes"].setEnabled(is_touching or is_made)
        self.buttons["no"].setEnabled(is_open or is_made)
        self.buttons["unsure"].setEnabled(is_touching or is_made)
        self.buttons["keep_apart"].setEnabled(is_open)
        is_apart = is_pair and pair.is_kept_apart
        self.buttons["keep_apart"].setVisible(not is_apart)
        self.buttons["allow"].setVisible(is_apart)
        for name in ("merge", "not_here"):
            self.buttons[name].setEnabled(is_touching)
        for name in ("cut", "split"):
            self.buttons[name].setEnabled(n_selected == 1 or (n_selected == 2 and not is_pair))

    def _segments_text(self) -> str:
        """Name the selected segments, each with the colour it has in the canvas."""
        run, selected, plan = (
            self.workspace.run,
            self.workspace.selection.supervoxels,
            self.decisions.cut.plan,
        )
        supervoxels = run.supervoxels
        if supervoxels is None:
            return "Nothing is prepared yet. Press Prepare or Run on the tab Agglomerate."
        if plan is not None:
            return _plan_text(plan, supervoxels.sizes)
        if not selected:
            return NOTHING.format(**self.keys.keys)
        lines = []
        for supervoxel, colour in zip(selected, ("orange", "sky"), strict=False):
            voxels = int(supervoxels.sizes[self.decisions.pair.members(supervoxel)].sum())
            segment, clicked = run.segment_of(supervoxel), int(supervoxels.ids[supervoxel])
            part = "" if clicked == segment else f" (supervoxel {clicked})"
            size = f"{short_number(voxels)} voxel{'s' * (voxels != 1)}"
            lines.append(f"{_chip(colour)} segment {segment}{part}: {size}")
        return "<br>".join(lines)

    def _apart_text(self) -> str:
        """Say which decision keeps the two segments apart."""
        ends, snapshot = self.decisions.pair.apart_by, self.workspace.run.snapshot
        last = None if ends is None or snapshot is None else newest_about(reversed(snapshot.steps), *ends)
        which = "" if last is None else f" by your decision {last.index + 1:,}"
        about = "" if ends is None else f", about supervoxels {ends[0]} and {ends[1]}"
        return f"Kept apart{which}{about}. “Allow again” takes that out; all else stays."

    def _verdict_text(self) -> str:
        """Say what the score means, or why there is none."""
        engine, pair, selected = self.workspace.run.engine, self.decisions.pair, self.workspace.selection
        if engine is None or self.decisions.cut.plan is not None or len(selected.supervoxels) < 2:
            return ""
        match pair.standing:
            case Standing.DONE:
                return DONE.format(pair.done_segments[0])
            case Standing.MERGED:
                return "Merged here. Still right? Yes keeps it, no cuts it."
            case Standing.JOINED:
                return "Both are in one segment already. Cut separates them at the least certain merge."
            case Standing.APART:
                return self._apart_text()
        if pair.score is None:
            return _nearest_text(engine.tables, *selected.supervoxels)
        verdict = "below the threshold {}: a run merges them by itself"
        if pair.score >= engine.threshold:
            verdict = "not below the threshold {}: a run leaves them apart"
        return verdict.format(signed(engine.threshold))


def _chip(colour: str) -> str:
    """Draw a small square in a colour, by its name."""
    return f'<span style="color:{OKABE_ITO[colour]}">■</span>'


def _plan_text(plan: CutPlan, sizes: np.ndarray) -> str:
    """Say what a cut would do, given the voxels of every supervoxel."""
    if not len(plan.first_side):
        return "This merge joined no segments: cutting it changes no segment."
    sides = zip((plan.first_side, plan.second_side), ("vermilion", "green"), strict=True)
    lines = [
        f"{_chip(colour)} {counted(len(side), 'supervoxel')}, {counted(int(sizes[side].sum()), 'voxel')}"
        for side, colour in sides
    ]
    if plan.n_pieces > 1:
        lines[1] += f", in {plan.n_pieces:,} pieces"
    more = [STAYS_APART] if plan.apart else []
    return "<br>".join(["The segment would fall apart into:", *lines, *more])


def _nearest_text(tables: RunTables, first: int, second: int) -> str:
    """Say that two supervoxels do not touch, and which near them do."""
    near = [tables.ids_of(int(action)) for action in tables.actions.nearest(first, second)]
    pairs = ", ".join(f"{u_id} and {v_id}" for u_id, v_id in near)
    return (
        "These two segments do not touch, so they cannot be merged directly. "
        f"The nearest pairs of supervoxels that do: {pairs or 'none'}."
    )

"""The split of a segment in the panel: seeds of both sides, what they would part, and the buttons."""

from __future__ import annotations

import numpy as np
from qtpy.QtWidgets import QPushButton, QSizePolicy, QVBoxLayout, QWidget

from napari_celis.core.seeded_split import SeededSplit
from napari_celis.core.words import counted
from napari_celis.gui.canvas.canvas import Canvas
from napari_celis.gui.canvas.selection_colours import selection_colours
from napari_celis.gui.qt.widgets import button, name_button, row, wrapped
from napari_celis.gui.session.split_tool import FIRST, SECOND, side_names
from napari_celis.gui.session.workspace import Workspace

BEGIN = "Set seeds on both sides of where segment {} should be split. The preview follows each of them."
WAITING = "Looking where the segment falls apart …"
TINY = "<b>The {} side has only {:,} voxel{}.</b> Set more of its seeds, or set them further inside."
BUSY = "The split is being carried out …"


class SplitBox(QWidget):
    """Shows the split tool while it is on.

    Parameters
    ----------
    workspace : Workspace
        Shared with all tabs.
    """

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._tool, self._keys = workspace.split_tool, Canvas.of(workspace).keys.choice
        self.sides = [QPushButton(), QPushButton()]
        for side, made in enumerate(self.sides):
            made.setCheckable(True)
            made.clicked.connect(lambda is_on, side=side: self._on_side(side))
        self.text = wrapped()
        tool = self._tool
        self.confirm = button("Split", tool.confirm, "Carry out what is shown.", "Enter")
        self.remove = button("Remove seed", tool.remove_last, "Take the last seed away. Key: Backspace")
        self.cancel = button("Cancel", tool.stop, "Drop all seeds; nothing changes.", "Esc")
        for made in (*self.sides, self.confirm, self.remove, self.cancel):
            # Side by side in a narrow panel.
            made.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        layout.addLayout(row(*self.sides, stretch=(1, 1)))
        layout.addWidget(self.text)
        layout.addLayout(row(self.confirm, self.remove, self.cancel, stretch=(1, 1, 1)))
        self._keys.changed.connect(self.refresh)
        tool.changed.connect(self.refresh)
        self.refresh()

    def refresh(self) -> None:
        """Show the seeds and the plan as they are now."""
        tool = self._tool
        self.setVisible(tool.is_on)
        if not tool.is_on:
            return
        key = self._keys.keys["split"]
        for side, (made, name, colour) in enumerate(
            zip(self.sides, side_names(), selection_colours(), strict=True)
        ):
            n_seeds = sum(seed.side == side for seed in tool.seeds)
            seeds = f"{n_seeds} {name} seed{'s' * (n_seeds != 1)}"
            is_own = side == tool.side
            name_button(made, seeds, f"Clicks set {name} seeds.", "" if is_own else key)
            made.setChecked(is_own)
            made.setStyleSheet(f"QPushButton {{ border: 2px solid {colour if is_own else 'transparent'}; }}")
        self.text.setText(self._text())
        self.confirm.setEnabled(tool.is_ready and not tool.is_busy)
        self.remove.setEnabled(bool(tool.seeds) and not tool.is_busy)
        self.cancel.setEnabled(not tool.is_busy)

    def _text(self) -> str:
        tool = self._tool
        if tool.is_busy:
            return BUSY
        if {seed.side for seed in tool.seeds} != {FIRST, SECOND}:
            return BEGIN.format(tool.segment)
        if not tool.is_ready or tool.plan is None:
            return WAITING
        return plan_text(tool.plan)

    def _on_side(self, side: int) -> None:
        self._tool.use_side(side)
        self.refresh()


def plan_text(plan: SeededSplit) -> str:
    """Say what a split would do."""
    sizes = plan.volume.supervoxels.sizes
    sides = (plan.first_side, plan.n_first_pieces), (plan.second_side, plan.n_second_pieces)
    lines = [
        _side_text(side, n_pieces, sizes, colour)
        for (side, n_pieces), colour in zip(sides, selection_colours(), strict=True)
    ]
    if plan.splits:
        names = ", ".join(str(split.supervoxel_id) for split in plan.splits)
        lines.append(f"Supervoxel{'s' * (len(plan.splits) > 1)} {names} with seeds of both: cut in two.")
    for (side, _), name, is_tiny in zip(sides, side_names(), plan.has_hardly_grown, strict=True):
        if is_tiny:
            n_voxels = int(sizes[side].sum())
            lines.append(TINY.format(name, n_voxels, "s" * (n_voxels != 1)))
    return "<br>".join(["The segment would fall apart into:", *lines])


def _side_text(side: np.ndarray, n_pieces: int, sizes: np.ndarray, colour: str) -> str:
    text = f"{counted(len(side), 'supervoxel')}, {counted(int(sizes[side].sum()), 'voxel')}"
    pieces = f", in {n_pieces:,} pieces" if n_pieces > 1 else ""
    return f'<span style="color:{colour}">■</span> {text}{pieces}'

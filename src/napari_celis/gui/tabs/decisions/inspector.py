"""The decision that is looked at: both segments, the score with its parts, and the keys to decide."""

from __future__ import annotations

from qtpy.QtCore import QRectF, QSize, Qt
from qtpy.QtGui import QColor, QPainter, QPaintEvent, QPalette, QShowEvent
from qtpy.QtWidgets import QCheckBox, QGridLayout, QLabel, QSizePolicy, QVBoxLayout, QWidget

from napari_celis.gui.canvas.highlight import Highlight
from napari_celis.gui.qt.colours import OKABE_ITO
from napari_celis.gui.qt.numbers import signed
from napari_celis.gui.qt.widgets import button, row, wrapped
from napari_celis.gui.session.deciding import Deciding
from napari_celis.gui.session.workspace import Workspace

NOTHING = "Choose a row, press N for the next doubtful merge, or click two segments in the canvas."
LEARNED = "Learned policy: log-odds that this merge is wrong. The bars add up to it."
TIPS = {
    "energy": (
        "Energy change over the whole contact of the two segments, by descriptor spec: below zero speaks for "
        "the merge."
    ),
    "learned": (
        "What adds to the score: the affinities across the contact, its area, how much of the smaller "
        "segment it encloses, the energy change along it by descriptor spec, what a forest makes of the "
        "whole contact, and what holds for every merge. Below zero speaks for the merge."
    ),
}
MORE_CUTS = "Takes {} decisions; undo takes them back one by one."


class PartBars(QWidget):
    """The parts of a score as bars: what speaks for a merge to the left, what speaks against to the right."""

    ROW, NAME, NUMBER = 18, 90, 64
    INDENT = 5
    """Where texts begin above and below."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.parts: dict[str, float] = {}
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    def show_parts(self, parts: dict[str, float]) -> None:
        """Show other parts."""
        if parts != self.parts:
            self.parts = dict(parts)
            self.updateGeometry()
            self.update()

    def sizeHint(self) -> QSize:  # noqa: N802
        """Ask for one row per spec."""
        return QSize(200, self.ROW * max(1, len(self.parts)))

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
        """Draw names, bars and numbers."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        text = self.palette().color(QPalette.ColorRole.WindowText)
        largest = max((abs(value) for value in self.parts.values()), default=0.0) or 1.0
        left, right = self.INDENT + self.NAME, self.width() - self.NUMBER
        middle, half = (left + right) / 2, max(1.0, (right - left) / 2 - 4)
        flags = Qt.AlignmentFlag.AlignVCenter
        for place, (name, value) in enumerate(self.parts.items()):
            top = place * self.ROW
            painter.setPen(text)
            fitting = painter.fontMetrics().elidedText(name, Qt.TextElideMode.ElideRight, self.NAME - 6)
            painter.drawText(self.INDENT, top, self.NAME - 6, self.ROW, flags, fitting)
            number = flags | Qt.AlignmentFlag.AlignRight
            painter.drawText(right, top, self.NUMBER, self.ROW, number, signed(value))
            length = half * abs(value) / largest
            start = middle - length if value < 0 else middle
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(OKABE_ITO["blue" if value < 0 else "vermilion"]))
            painter.drawRoundedRect(QRectF(start, top + 4, max(length, 1.0), self.ROW - 8), 2, 2)
        painter.setPen(text)
        painter.drawLine(int(middle), 0, int(middle), self.height())


class Inspector(QWidget):
    """Shows what `Deciding` looks at."""

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.workspace = workspace
        self.deciding = deciding = Deciding.of(workspace)
        self.highlight = Highlight.of(workspace)
        self.segments = wrapped()
        self.score = QLabel()
        font = self.score.font()
        font.setPointSizeF(1.5 * font.pointSizeF() if font.pointSizeF() > 0 else 15.0)
        font.setBold(True)
        self.score.setFont(font)
        self.verdict = wrapped()
        self.meaning = wrapped()
        self.parts = PartBars()
        self.buttons = {
            "merge": button("Merge", deciding.merge, "Join the two selected segments.", "M"),
            "keep_apart": button("Keep apart", deciding.keep_apart, "Never join these two segments.", "K"),
            "cut": button("Cut…", deciding.plan_cut, "Show what a cut would do, before it is done.", "C"),
            "accept": button("Accept", deciding.accept, "Merge, and go on to the next doubtful merge.", "A"),
            "reject": button(
                "Reject", deciding.reject, "Keep apart, and go on to the next doubtful merge.", "R"
            ),
            "skip": button("Skip", deciding.skip, "Ask again at the end of the queue.", "S"),
            "confirm": button("Cut", deciding.confirm, "Carry out the cut that is shown.", "Enter"),
            "cancel": button("Cancel", deciding.clear, "Leave everything as it is.", "Esc"),
        }
        self.centres = QCheckBox("ΔE at centres")
        self.centres.setToolTip(
            "Show in the canvas what each centre adds to the energy change: blue for, red against."
        )
        self.centres.setChecked(deciding.wants_centres)
        self.centres.toggled.connect(deciding.show_centres)
        self.meshes = QCheckBox("Surfaces in 2-D too")
        self.meshes.setToolTip(
            "Make 3-D surfaces of the selected segments while the view is 2-D too; in 3-D they always appear."
        )
        self.meshes.toggled.connect(self.highlight.meshes.always_show)
        self._lay_out()
        deciding.changed.connect(self.refresh)

    def _lay_out(self) -> None:
        self._decide, self._confirm = QWidget(), QWidget()
        grid = QGridLayout(self._decide)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setSpacing(4)
        for place, name in enumerate(("accept", "reject", "skip", "merge", "keep_apart", "cut")):
            grid.addWidget(self.buttons[name], *divmod(place, 3))
        confirm = row(self.buttons["confirm"], self.buttons["cancel"], stretch=(1, 1))
        self._confirm.setLayout(confirm)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        layout.addWidget(self.segments)
        layout.addLayout(row(self.score, self.verdict, stretch=(0, 1)))
        for widget in (self.meaning, self.parts, self._decide, self._confirm):
            layout.addWidget(widget)
        layout.addLayout(row(self.centres, self.meshes, stretch=(1, 1)))

    def refresh(self) -> None:
        """Show the decision as it is now, as soon as somebody looks."""
        if not self.isVisible():
            return
        deciding = self.deciding
        is_cut = deciding.plan is not None
        self.segments.setText(self._segments_text())
        score = None if is_cut else deciding.score
        self.score.setVisible(score is not None)
        self.score.setText("" if score is None else signed(score))
        self.verdict.setText(self._verdict_text())
        self.parts.setVisible(score is not None)
        self.meaning.setVisible(score is not None and self.workspace.run_policy == "learned")
        self.meaning.setText(LEARNED)
        self.parts.setToolTip(TIPS[self.workspace.run_policy])
        self.parts.show_parts(deciding.parts)
        self._decide.setVisible(not is_cut)
        self._confirm.setVisible(is_cut)
        self._enable()

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802
        """Catch up with what happened while nobody looked."""
        super().showEvent(event)
        self.refresh()

    def _enable(self) -> None:
        n_selected = len(self.workspace.selected) if self.deciding.engine is not None else 0
        is_pair = n_selected == 2 and not self.deciding.is_one_segment
        is_open = is_pair and not self.deciding.is_kept_apart
        is_touching = is_open and self.deciding.action >= 0
        for name in ("merge", "accept"):
            self.buttons[name].setEnabled(is_touching)
        for name in ("keep_apart", "reject"):
            self.buttons[name].setEnabled(is_open)
        self.buttons["skip"].setEnabled(is_touching)
        self.buttons["cut"].setEnabled(n_selected == 1 or (n_selected == 2 and not is_pair))

    def _segments_text(self) -> str:
        """Name the selected segments, each with the colour it has in the canvas."""
        deciding, workspace = self.deciding, self.workspace
        if deciding.engine is None:
            return "Nothing is prepared yet. Press Prepare or Run on the tab Agglomerate."
        if deciding.plan is not None:
            return self._plan_text()
        if not workspace.selected:
            return NOTHING
        lines, sizes = [], workspace.supervoxels.sizes
        for supervoxel, colour in zip(workspace.selected, ("orange", "sky"), strict=False):
            voxels = int(sizes[deciding.members(supervoxel)].sum())
            chip = f'<span style="color:{OKABE_ITO[colour]}">■</span>'
            segment = workspace.segment_of(supervoxel)
            clicked = int(workspace.supervoxels.ids[supervoxel])
            part = "" if clicked == segment else f" (at supervoxel {clicked})"
            lines.append(f"{chip} segment {segment}{part}: {voxels:,} voxels")
        return "<br>".join(lines)

    def _plan_text(self) -> str:
        plan, sizes = self.deciding.plan, self.workspace.supervoxels.sizes
        if not len(plan.first_side):
            return "This merge joined no segments: cutting it changes no segment."
        sides = zip((plan.first_side, plan.second_side), ("vermilion", "green"), strict=True)
        lines = [
            f'<span style="color:{OKABE_ITO[colour]}">■</span> {len(side):,} supervoxel'
            f"{'s' * (len(side) > 1)}, {int(sizes[side].sum()):,} voxels"
            for side, colour in sides
        ]
        if plan.n_pieces > 1:
            lines[1] += f", in {plan.n_pieces:,} pieces"
        more = [MORE_CUTS.format(plan.n_steps)] if plan.n_steps > 1 else []
        return "<br>".join(["The segment would fall apart into:", *lines, *more])

    def _verdict_text(self) -> str:
        """Say what the score means, or why there is none."""
        deciding = self.deciding
        if deciding.engine is None or deciding.plan is not None or len(self.workspace.selected) < 2:
            return ""
        if deciding.is_merged_directly:
            return "These two were merged directly. Cut takes this very merge out."
        if deciding.is_one_segment:
            return "Both are in one segment already. Cut separates them at the least certain merge."
        if deciding.is_kept_apart:
            return "kept apart: nobody merges them until that decision is taken back"
        if deciding.action < 0:
            return self._nearest_text()
        threshold = deciding.engine.threshold
        is_below = deciding.score < threshold
        verdict = "below the threshold {}: greedy merges"
        if not is_below:
            verdict = "not below the threshold {}: greedy stops"
        return verdict.format(signed(threshold))

    def _nearest_text(self) -> str:
        agglomerator = self.deciding.engine.agglomerator
        table, ids = agglomerator.actions, agglomerator.supervoxels.ids
        near = [f"{ids[table.u[r]]} and {ids[table.v[r]]}" for r in table.nearest(*self.workspace.selected)]
        return (
            "These two segments do not touch, so they cannot be merged directly. "
            f"The nearest pairs of supervoxels that do: {', '.join(near) or 'none'}."
        )

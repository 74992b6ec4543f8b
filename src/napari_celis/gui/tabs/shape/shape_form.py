"""The form of the tab "Shape": it shows what a centre sees, and says what the user asks for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from qtpy.QtCore import Signal
from qtpy.QtGui import QColor, QIcon, QPainter, QPixmap, QResizeEvent
from qtpy.QtWidgets import (
    QCheckBox,
    QComboBox,
    QGridLayout,
    QLabel,
    QLayout,
    QPushButton,
    QSizePolicy,
    QSpinBox,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from napari_celis.core.descriptors import DescriptorSpec, IntTriple
from napari_celis.core.lattice import Lattice
from napari_celis.core.words import counted
from napari_celis.gui.qt.colours import OKABE_ITO
from napari_celis.gui.qt.narrow_combo import make_narrow
from napari_celis.gui.qt.widgets import row, share_width, wrapped
from napari_celis.gui.tabs.shape.centre_inspector import Answer
from napari_celis.gui.tabs.shape.descriptor_view import DescriptorView
from napari_celis.gui.tabs.shape.shape_actions import ActiveTable
from napari_celis.gui.tabs.shape.shape_layers import OVERLAYS
from napari_celis.gui.tabs.shape.shape_lines import BOX_COLOURS
from napari_celis.gui.tabs.shape.shape_player import LinePlayer

LOOKING = "Looking at this centre …"
MEANING = (
    "White lines join two voxels of one segment, black lines two of different ones; orange ones change with "
    "the merge. This is all that the model sees of the shape here."
)
SHOWN_AT_FIRST = ("pairs", "box", "region")
MERGES = 1
"""Which of the pages below the drawing lists the merges."""


@dataclass(frozen=True)
class ShapeSettings:
    """How a descriptor is drawn."""

    axis: int
    """The drawing looks along this axis."""
    n_pairs: int
    """Most pairs to draw as lines."""
    overlays: frozenset[str]
    """What is shown in the viewer: keys of `OVERLAYS`."""
    is_after: bool
    """Whether pairs and components are those after the merge."""


class ShapeForm(QWidget):
    """Choice of a descriptor and a centre, the drawing, and what is shown of them in the viewer."""

    position_asked = Signal(object, bool)
    """A position in voxels, and whether the camera should go there too."""
    spec_changed = Signal()
    picking_changed = Signal(bool)
    """Whether clicks in the viewer choose the centre."""
    following_changed = Signal(bool)
    """Whether the centre follows the cursor."""
    merge_chosen = Signal(object)
    """Ids of two supervoxels whose merge to look at; None for no merge."""
    change_asked = Signal()
    """Go where the merge changes the energy most."""
    drawing_changed = Signal()
    """The drawing is to be made again: another direction, or another number of pairs."""
    overlays_changed = Signal()
    """Other things are to be shown in the viewer."""
    zones_changed = Signal(bool)
    """Whether zones are to be shown; they are cut only on demand."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.spec_box = QComboBox()
        self.spec_box.setToolTip("Which descriptor: how its pairs were drawn, and the size of its box.")
        self.spec_box.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.spins = [self._spin(axis) for axis in "zyx"]
        self.pick = QPushButton("Pick in the viewer")
        self.pick.setCheckable(True)
        self.pick.setToolTip("While this is on, a click in the viewer shows the nearest centre.")
        self.follow = QCheckBox("Follow the cursor")
        self.follow.setToolTip("Show the centre nearest to the mouse all the time.")
        self.meaning = wrapped(MEANING)
        self.note = wrapped()
        self.drawing = DescriptorView()
        self.axis_box = QComboBox()
        self.axis_box.addItems(["along z", "along y", "along x"])
        self.axis_box.setToolTip("The direction in which the drawing looks.")
        self.n_pairs = QSpinBox()
        self.n_pairs.setRange(1, 512)
        self.n_pairs.setValue(64)
        self.n_pairs.setToolTip("Most pairs to draw as lines; the strip always shows all bits.")
        self.merge_text = wrapped()
        self.find_merge = QPushButton("Where it changes most")
        self.find_merge.setToolTip("Show the centre where this merge changes the energy most.")
        self.forget_merge = QPushButton("Without the merge")
        self.forget_merge.setToolTip("Show the descriptor without a merge.")
        self.is_after = QCheckBox("After the merge")
        self.is_after.setChecked(True)
        self.is_after.setToolTip("Off: pairs and components in the viewer are those before the merge.")
        self.overlays = {key: self._check(key) for key in OVERLAYS}
        self.table = ActiveTable()
        self.line = LinePlayer()
        self.more = QTabWidget()
        self._lay_out()
        self._connect()
        self.show_no_answer("")

    @property
    def spec(self) -> DescriptorSpec | None:
        """The chosen descriptor spec."""
        spec: DescriptorSpec | None = self.spec_box.currentData()
        return spec

    @property
    def settings(self) -> ShapeSettings:
        """How a descriptor is drawn."""
        return ShapeSettings(
            axis=self.axis_box.currentIndex(),
            n_pairs=self.n_pairs.value(),
            overlays=frozenset(key for key, check in self.overlays.items() if check.isChecked()),
            is_after=self.is_after.isChecked(),
        )

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        """Let the drawing have what a higher window offers."""
        super().resizeEvent(event)
        self.drawing.fit(self.window().height())

    def show_specs(self, specs: Sequence[DescriptorSpec]) -> None:
        """Offer other specs, and keep the choice if one has the same name."""
        before = self.spec_box.currentData()
        self.spec_box.blockSignals(True)
        self.spec_box.clear()
        for spec in specs:
            box = "×".join(str(size) for size in spec.box_zyx)
            self.spec_box.addItem(f"{spec.name} · {box} · {spec.n_bits} pairs", spec)
        names = [spec.name for spec in specs]
        if before is not None and before.name in names:
            self.spec_box.setCurrentIndex(names.index(before.name))
        self.spec_box.blockSignals(False)
        self.spec_box.setEnabled(bool(names))

    def show_lattice(self, lattice: Lattice) -> None:
        """Let positions be entered in a volume, in steps of the lattice."""
        for axis, spin in enumerate(self.spins):
            spin.blockSignals(True)
            spin.setRange(0, lattice.shape[axis] - 1)
            spin.setSingleStep(lattice.spec.stride_zyx[axis])
            spin.blockSignals(False)
        self.n_pairs.setMaximum(lattice.spec.n_bits)
        self.enable(True)

    def show_centre(self, lattice: Lattice, centre: IntTriple) -> None:
        """Show the position of a centre.

        Parameters
        ----------
        lattice : Lattice
            The centres there are.
        centre : tuple of int
            One of them.
        """
        for spin, value in zip(self.spins, centre, strict=True):
            spin.blockSignals(True)
            spin.setValue(value)
            spin.blockSignals(False)
        self.line.show_position(lattice, centre)

    def say(self, sentence: str) -> None:
        """Say something about the position."""
        self.note.setText(sentence)

    def say_of_merge(self, sentence: str) -> None:
        """Say something about the merge."""
        self.merge_text.setText(sentence)

    def show_answer(self, answer: Answer, hint: str, *, can_search: bool) -> None:
        """Show what a centre sees; `hint` says why it is not the one that was asked for.

        Parameters
        ----------
        answer : Answer
            What the centre sees.
        hint : str
            Why it is not the centre that was asked for; "" if it is.
        can_search : bool
            Whether scores are known, to search by.
        """
        view, merge = answer.view, answer.merge
        region = view.region
        self.line.is_ready = True
        n_zones = "" if view.zones is None else f" in {int(view.zones.max())} groups"
        self.note.setText(
            f"Centre {view.centre} · region {region.index}, {int(np.prod([len(a) for a in region.lattice]))} "
            f"centres{n_zones}. {hint}".strip()
        )
        self.drawing.show_view(view, is_compared=merge is not None)
        self.merge_text.setText(self._about_merge(answer))
        has_merge = merge is not None
        self.find_merge.setVisible(has_merge and can_search)
        self.forget_merge.setVisible(has_merge or bool(answer.note))
        self.is_after.setVisible(has_merge)
        first = "lowest score" if can_search else "largest contact"
        self.more.setTabText(MERGES, f"Merges here ({len(view.active)})")
        self.more.setTabToolTip(
            MERGES, f"The merges that would change something in this region; the {first} comes first."
        )
        self.table.show_actions(answer.active_ids, view.active, merge)

    def draw(self, voxel_size: tuple[float, ...]) -> None:
        """Draw the descriptor as the settings say; `voxel_size` gives its proportions."""
        self.drawing.show_settings(self.axis_box.currentIndex(), self.n_pairs.value(), voxel_size)

    def show_no_data(self, sentence: str) -> None:
        """Show why no centre can be chosen."""
        self.line.show_position(None, None)
        self.show_no_answer(sentence)
        self.enable(False)

    def show_refusal(self, sentence: str) -> None:
        """Show why there is nothing to see at this centre; others can still be chosen."""
        self.line.stop()
        self.show_no_answer(sentence)

    def stop(self) -> None:
        """End playing, picking and following."""
        self.line.stop()
        self.stop_picking()
        self.follow.setChecked(False)

    def stop_picking(self) -> None:
        """Let clicks in the viewer mean something else."""
        self.pick.setChecked(False)

    def switch_off(self, overlay: str) -> None:
        """Show an overlay no longer."""
        self.overlays[overlay].setChecked(False)

    def show_no_answer(self, sentence: str = LOOKING) -> None:
        """Show why there is nothing to show."""
        self.note.setText("")
        self.drawing.show_view(None, message=sentence)
        self.merge_text.setText("")
        for widget in (self.find_merge, self.forget_merge, self.is_after):
            widget.setVisible(False)
        self.more.setTabText(MERGES, "Merges here")
        self.table.show_actions(np.empty((0, 2), dtype=np.uint64), None, None)

    @staticmethod
    def _about_merge(answer: Answer) -> str:
        """Say which merge is shown and what it does here, or how to choose one."""
        if answer.note:
            return answer.note
        energies = answer.energies
        if answer.merge is None:
            now = "" if energies is None else f"The energy of this centre is {energies[0]:.3f}. "
            return f"{now}Choose one of “Merges here”, or two neighbours, to see what their merge changes."
        u, v = answer.merge
        n_changed = int(answer.view.changed.sum())
        what = f"turns on {counted(n_changed, 'bit')}" if n_changed else "changes nothing"
        sentence = f"Merging {u} and {v} {what} at this centre."
        if energies is None or not n_changed:
            return sentence
        before, after = energies
        verdict = "more plausible" if after < before else "less plausible"
        return f"{sentence} Its energy goes from {before:.3f} to {after:.3f}: the shape gets {verdict}."

    def enable(self, is_on: bool) -> None:
        """Make the widgets usable that need a position."""
        for widget in (
            *self.spins,
            self.pick,
            self.follow,
            self.axis_box,
            self.n_pairs,
            self.line,
            self.table,
        ):
            widget.setEnabled(is_on)

    def _spin(self, axis: str) -> QSpinBox:
        spin = QSpinBox()
        spin.setPrefix(f"{axis} ")
        spin.setKeyboardTracking(False)
        # Three side by side; napari asks for more.
        spin.setStyleSheet("QSpinBox { min-width: 50px; }")
        spin.setToolTip(f"Position along {axis} in voxels; it snaps to the nearest centre.")
        spin.valueChanged.connect(lambda: self.position_asked.emit([box.value() for box in self.spins], True))
        return spin

    @staticmethod
    def _check(key: str) -> QCheckBox:
        label, tip = OVERLAYS[key]
        check = QCheckBox(label)
        check.setToolTip(tip)
        check.setChecked(key in SHOWN_AT_FIRST)
        if key in BOX_COLOURS:
            swatch = QPixmap(12, 12)
            # The edge shows white on a light background.
            swatch.fill(QColor(OKABE_ITO["grey"]))
            with QPainter(swatch) as painter:
                painter.fillRect(1, 1, 10, 10, QColor(BOX_COLOURS[key]))
            check.setIcon(QIcon(swatch))
        return check

    def _connect(self) -> None:
        self.spec_box.currentIndexChanged.connect(lambda: self.spec_changed.emit())
        self.pick.toggled.connect(self.picking_changed)
        self.follow.toggled.connect(self.following_changed)
        self.line.moved.connect(lambda centre: self.position_asked.emit(centre, self.line.follow.isChecked()))
        self.table.chosen.connect(self.merge_chosen)
        self.find_merge.clicked.connect(lambda: self.change_asked.emit())
        self.forget_merge.clicked.connect(lambda: self.merge_chosen.emit(None))
        self.axis_box.currentIndexChanged.connect(lambda: self.drawing_changed.emit())
        self.n_pairs.valueChanged.connect(lambda: self.drawing_changed.emit())
        self.is_after.toggled.connect(lambda: self.overlays_changed.emit())
        for key, check in self.overlays.items():
            if key == "zones":
                check.toggled.connect(self.zones_changed)
            else:
                check.toggled.connect(lambda: self.overlays_changed.emit())

    def _lay_out(self) -> None:
        layout = QVBoxLayout(self)
        layout.setContentsMargins(6, 6, 6, 6)
        layout.setSpacing(6)
        layout.addLayout(row(QLabel("Descriptor"), self.spec_box, stretch=(0, 1)))
        layout.addLayout(row(QLabel("Centre"), *self.spins, stretch=(0, 1, 1, 1)))
        layout.addLayout(row(self.pick, self.follow, stretch=(1, 1)))
        layout.addWidget(self.note)
        layout.addWidget(self.meaning)
        layout.addWidget(self.drawing)
        layout.addWidget(self.merge_text)
        layout.addLayout(row(self.find_merge, self.forget_merge, stretch=(1, 1)))
        grid = QGridLayout()
        grid.setVerticalSpacing(2)
        grid.setHorizontalSpacing(4)
        for index, check in enumerate((*self.overlays.values(), self.is_after)):
            grid.addWidget(check, index // 2, index % 2)
        make_narrow(self.axis_box)
        # Side by side in a narrow panel.
        share_width(*self.spins, self.pick, self.follow, self.find_merge, self.forget_merge)
        share_width(self.axis_box, self.n_pairs)
        pairs = QLabel("Pairs drawn")
        drawn = row(QLabel("Look"), self.axis_box, pairs, self.n_pairs, stretch=(0, 1, 0, 1))
        self.more.addTab(_page(grid, drawn), "View")
        self.more.addTab(self.table, "Merges here")
        self.more.addTab(_page(row(self.line)), "Along a line")
        self.more.setTabToolTip(0, "What is shown in the viewer and in the drawing.")
        self.more.setTabToolTip(2, "Play the descriptor along a line.")
        layout.addWidget(self.more, 1)


def _page(*contents: QLayout) -> QWidget:
    """Put layouts on a page of their own, below each other, at the top."""
    page = QWidget()
    layout = QVBoxLayout(page)
    layout.setContentsMargins(4, 6, 4, 4)
    for content in contents:
        layout.addLayout(content)
    layout.addStretch(1)
    return page

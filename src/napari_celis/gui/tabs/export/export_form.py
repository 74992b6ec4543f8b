"""Which volume to export, which part of it, at which resolution."""

from __future__ import annotations

from typing import Literal

from qtpy.QtCore import Signal
from qtpy.QtWidgets import QFormLayout, QLabel, QSpinBox, QWidget

from napari_celis.core.errors import CelisError
from napari_celis.core.volume import Volume, format_shape
from napari_celis.gui.canvas.canvas import Canvas
from napari_celis.gui.layers.volume_files import volume_of
from napari_celis.gui.layers.volume_layers import layer_to_volume
from napari_celis.gui.qt.narrow_combo import NarrowCombo
from napari_celis.gui.qt.widgets import button, row, wrapped
from napari_celis.gui.session.workspace import Workspace
from napari_celis.gui.tabs.export.export_jobs import Part
from napari_celis.io.blocks import Kind
from napari_celis.io.geometry import format_nm
from napari_celis.io.parts import level_sizes, relabelled

FORMATS = {
    "OME-Zarr": ".zarr",
    "HDF5": ".h5",
    "TIFF": ".tif",
    "NumPy": ".npy",
    "Neuroglancer": ".precomputed",
}
ExportRole = Literal["segmentation", "image", "supervoxels", "truth"]
ROLES: dict[ExportRole, Kind] = {
    "segmentation": "labels",
    "image": "image",
    "supervoxels": "labels",
    "truth": "labels",
}


def export_volume(workspace: Workspace, role: ExportRole) -> Volume | None:
    """Describe what a role stands for now; None if there is nothing.

    The segmentation is that of the latest snapshot, and stays as it is while a run goes on.

    Parameters
    ----------
    workspace : Workspace
        Its data and its run.
    role : {"segmentation", "image", "supervoxels", "truth"}
        What to export.
    """
    if role == "segmentation":
        engine = workspace.run.engine
        if engine is None:
            return None
        dense, ids = engine.tables.supervoxels.dense, engine.snapshot.segment_ids
        # Where it lies is known also when all layers are gone.
        placement = Canvas.of(workspace).segmentation.placement
        like = layer_to_volume(dense, {**placement, "name": role}, role)
        return relabelled(dense, ids, like, role)
    layer = workspace.data.layer(role)
    return None if layer is None else volume_of(layer)


class ExportForm(QWidget):
    """Volume, format, crop and level."""

    changed = Signal()

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self._shape: tuple[int, ...] = ()
        self.role = NarrowCombo("What to write.")
        self.format = NarrowCombo(
            "How to store it; another suffix in the file dialog counts more.",
            {suffix: f"{title} ({suffix})" for title, suffix in FORMATS.items()},
        )
        self.level = NarrowCombo("Coarser levels are halved: images by the mean, labels by the majority.")
        self.ranges = [(_spin(f"First voxel along {axis}."), _spin(f"Voxel behind the last along {axis}."))
                       for axis in "zyx"]  # fmt: skip
        self.whole = button("Whole volume", self.show_whole, "Undo the crop.")
        self.size_label = wrapped()
        self._lay_out()
        self.role.currentIndexChanged.connect(lambda: self._on_role())
        for box in (self.format, self.level):
            box.currentIndexChanged.connect(lambda: self._on_changed())
        for spin in (spin for pair in self.ranges for spin in pair):
            spin.valueChanged.connect(lambda: self._on_changed())
        self.refresh()

    def _lay_out(self) -> None:
        form = QFormLayout(self)
        form.setContentsMargins(0, 0, 0, 0)
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        form.addRow("Volume", self.role)
        form.addRow("Format", self.format)
        form.addRow("Resolution", self.level)
        for axis, (low, high) in zip("zyx", self.ranges, strict=True):
            form.addRow(f"Crop {axis}", row(low, QLabel("to"), high, stretch=(1, 0, 1)))
        form.addRow(row(self.size_label, self.whole, stretch=(1, 0)))

    def refresh(self) -> None:
        """Offer what there is now."""
        available = [role for role in ROLES if self._volume(role) is not None]
        shown = [self.role.itemData(index) for index in range(self.role.count())]
        if available != shown:
            before = self.role.currentData()
            self.role.blockSignals(True)
            self.role.clear()
            for role in available:
                self.role.addItem(role.capitalize(), role)
            # A new segmentation is what one wants; otherwise the choice stays.
            is_new = "segmentation" in available and "segmentation" not in shown
            keep = before in available and not is_new
            self.role.setCurrentIndex(available.index(before) if keep else min(0, len(available) - 1))
            self.role.blockSignals(False)
        self._on_role()

    @property
    def kind(self) -> Kind:
        """Whether the chosen volume holds an image or labels."""
        return ROLES[self.role.currentData()]

    def suffix(self) -> str:
        """Return the suffix of the chosen format."""
        return str(self.format.currentData())

    def part(self, role: ExportRole | None = None) -> Part:
        """Describe what to write; another role means the same part of another volume."""
        role = role or self.role.currentData()
        volume = None if role is None else export_volume(self._workspace, role)
        if volume is None:
            raise CelisError("There is no volume to export yet. Choose an image on the tab Data first.")
        ranges = tuple((low.value(), high.value()) for low, high in self.ranges)
        known = self._workspace.segments.table() if role == "segmentation" else None
        return Part(role, volume, ROLES[role], ranges, max(0, self.level.currentIndex()), known)

    def show_whole(self) -> None:
        """Choose all voxels."""
        for (low, high), size in zip(self.ranges, self._shape, strict=False):
            low.setRange(0, size - 1)
            high.setRange(1, size)
            low.setValue(0)
            high.setValue(size)

    def _volume(self, role: ExportRole) -> Volume | None:
        try:
            return export_volume(self._workspace, role)
        except CelisError:
            return None

    def _on_role(self) -> None:
        """Start with the whole of a volume of another shape."""
        role = self.role.currentData()
        volume = None if role is None else self._volume(role)
        self.setEnabled(volume is not None)
        if volume is not None and volume.shape != self._shape:
            self._shape = volume.shape
            self.show_whole()
        self._on_changed()

    def _on_changed(self) -> None:
        """Say what would be written."""
        role = self.role.currentData()
        volume = None if role is None else self._volume(role)
        if volume is None:
            self.size_label.setText("")
        else:
            self._list_levels(volume)
            self.size_label.setText(self._size_text())
        self.changed.emit()

    def _list_levels(self, volume: Volume) -> None:
        """Offer the levels that the chosen part can have."""
        shape = tuple(max(1, high.value() - low.value()) for low, high in self.ranges)
        texts = [f"{format_nm(size)} nm" for size in level_sizes(shape, volume.voxel_size_nm)]
        if texts != [self.level.itemText(index) for index in range(self.level.count())]:
            chosen = self.level.currentIndex()
            self.level.blockSignals(True)
            self.level.clear()
            self.level.addItems(texts)
            self.level.setCurrentIndex(min(max(chosen, 0), len(texts) - 1))
            self.level.blockSignals(False)

    def _size_text(self) -> str:
        try:
            return f"{format_shape(self.part().resolved().shape)} voxels"
        except CelisError:
            return "An empty crop"


def _spin(tip: str) -> QSpinBox:
    spin = QSpinBox(maximum=2**31 - 1)
    spin.setToolTip(tip)
    return spin

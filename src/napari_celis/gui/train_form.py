"""The settings of a training."""

from __future__ import annotations

from pathlib import Path

from qtpy.QtCore import Signal
from qtpy.QtWidgets import (
    QCheckBox,
    QDoubleSpinBox,
    QFileDialog,
    QFormLayout,
    QLineEdit,
    QSpinBox,
    QWidget,
)

from napari_celis.core.errors import CelisError
from napari_celis.gui.narrow_combo import NarrowCombo
from napari_celis.gui.train_process import TrainOptions, checkpoint_of
from napari_celis.gui.widgets import button, row
from napari_celis.training import DEFAULT_MINUTES

SUFFIX = ".safetensors"
PRESETS = {"fast": "fast: small, for a laptop", "paper": "paper: as published, wants a GPU"}
AFFINITIES = {"unet": "unet: faster", "paper": "paper: as published"}


class TrainForm(QWidget):
    """Sizes, time, seed, and the file to write."""

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.use_supervoxels = QCheckBox("Learn on the chosen supervoxels")
        self.use_supervoxels.setToolTip("Otherwise they are made from the image by the new affinity network.")
        self.use_supervoxels.setChecked(True)
        self.preset = NarrowCombo("Size of the energy models.", PRESETS)
        self.affinity = NarrowCombo("Kind of affinity network.", AFFINITIES)
        self.minutes = QDoubleSpinBox(minimum=0.1, maximum=100_000, decimals=1, suffix=" min")
        self.minutes.setValue(DEFAULT_MINUTES)
        self.minutes.setToolTip("Time for everything, kept approximately. More is better.")
        self.seed = QSpinBox(minimum=0, maximum=2**31 - 1)
        self.seed.setToolTip("Source of every random choice: the same seed makes the same choices.")
        self.second_round = QCheckBox("Second round")
        self.second_round.setToolTip("Learn once more, from states that the first energy models come to.")
        self.output = QLineEdit(str(Path.home() / f"model{SUFFIX}"))
        self.output.setToolTip("Model file to write; its checkpoint lies beside it until it is finished.")
        self.browse = button("…", self._on_browse, "Choose the model file to write.")
        self.browse.setFixedWidth(32)
        self._lay_out()
        for signal in (
            self.use_supervoxels.toggled,
            self.preset.currentIndexChanged,
            self.affinity.currentIndexChanged,
            self.minutes.valueChanged,
            self.seed.valueChanged,
            self.second_round.toggled,
            self.output.textChanged,
        ):
            signal.connect(lambda *_: self.changed.emit())

    def _lay_out(self) -> None:
        form = QFormLayout(self)
        form.setContentsMargins(0, 0, 0, 0)
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        form.addRow(self.use_supervoxels)
        form.addRow("Energy models", self.preset)
        form.addRow("Affinity network", self.affinity)
        form.addRow("Time", self.minutes)
        form.addRow("Seed", row(self.seed, self.second_round, stretch=(1, 0)))
        form.addRow("Model file", row(self.output, self.browse, stretch=(1, 0)))

    def path(self) -> Path:
        """Return the model file to write."""
        return Path(self.output.text().strip() or f"model{SUFFIX}").expanduser()

    def options(self, image: str, truth: str, supervoxels: str | None, *, is_resumed: bool) -> TrainOptions:
        """Collect the settings, for these volumes."""
        return TrainOptions(
            image,
            truth,
            self.path(),
            supervoxels,
            self.preset.currentData(),
            self.affinity.currentData(),
            self.minutes.value(),
            self.seed.value(),
            self.second_round.isChecked(),
            is_resumed,
        )

    def check(self, *, is_resumed: bool) -> None:
        """Refuse a file that cannot be written, or resumed, before anything is started."""
        path = self.path()
        if path.suffix != SUFFIX:
            raise CelisError(f"{path} is no model file. Give it a name that ends in {SUFFIX}.")
        if not path.absolute().parent.is_dir():
            raise CelisError(f"The folder of {path} does not exist. Make it first, or choose another one.")
        if is_resumed and not checkpoint_of(path).exists():
            raise CelisError(f"There is no checkpoint beside {path}. Press Train to begin from the start.")

    def _on_browse(self) -> None:
        name, _ = QFileDialog.getSaveFileName(
            self, "Model file to write", self.output.text(), f"Models (*{SUFFIX})"
        )
        if name:
            self.output.setText(name if name.endswith(SUFFIX) else f"{name}{SUFFIX}")

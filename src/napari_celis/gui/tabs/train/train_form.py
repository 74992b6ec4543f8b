"""The settings of a training."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from magicgui.types import FileDialogMode
from magicgui.widgets import CheckBox, ComboBox, Container, FileEdit, FloatSpinBox, SpinBox

from napari_celis.core.errors import CelisError
from napari_celis.gui.qt.narrow_combo import make_narrow
from napari_celis.gui.tabs.train.train_options import TrainOptions, TrainVolume, checkpoint_of
from napari_celis.training import DEFAULT_MINUTES

SUFFIX = ".safetensors"
PRESETS = {"fast": "fast: small, for a laptop", "paper": "paper: as published, wants a GPU"}
AFFINITIES = {"unet": "unet: faster", "paper": "paper: as published"}


class TrainForm(Container[Any]):
    """Sizes, time, seed, and the file to write; its widget is `native`."""

    def __init__(self) -> None:
        self.use_supervoxels = CheckBox(
            text="Learn on the chosen supervoxels",
            value=True,
            tooltip="Otherwise they are made from the image by the new affinity network.",
        )
        self.preset = _choice("Energy models", PRESETS, "Size of the energy models.")
        self.affinity = _choice("Affinity network", AFFINITIES, "Kind of affinity network.")
        self.minutes = FloatSpinBox(
            label="Minutes",
            value=DEFAULT_MINUTES,
            min=0.1,
            max=100_000,
            tooltip="Processor time per core, for everything. More is better.",
        )
        self.seed = SpinBox(
            label="Seed",
            max=2**31 - 1,
            tooltip="Source of every random choice: the same seed makes the same choices.",
        )
        self.second_round = CheckBox(
            text="Second round",
            tooltip="Second training round on states that the trained model reaches (as in DAgger).",
        )
        self.output = FileEdit(
            label="Model file",
            mode=FileDialogMode.OPTIONAL_FILE,
            filter=f"*{SUFFIX}",
            value=Path.home() / f"model{SUFFIX}",
            tooltip="Model file to write; its checkpoint lies beside it until it is finished.",
        )
        self.output.choose_btn.text = "…"
        self.output.choose_btn.max_width = 32
        super().__init__()
        self.margins = (0, 0, 0, 0)
        # Themes write in another size than the one that labels get their common width from.
        self.native.setStyleSheet("QLabel { padding: 0px; min-width: 7em; }")
        # Labels get one width only where widgets come later than their container.
        self.extend(
            [
                self.use_supervoxels,
                self.preset,
                self.affinity,
                self.minutes,
                self.seed,
                self.second_round,
                self.output,
            ]
        )

    def path(self) -> Path:
        """Return the model file to write; a name without an ending gets that of models."""
        path = Path(self.output.line_edit.value.strip() or "model").expanduser()
        return path if path.suffix else path.with_suffix(SUFFIX)

    def train_options(self, volumes: Sequence[TrainVolume], *, is_resumed: bool) -> TrainOptions:
        """Collect the settings, for these volumes.

        Parameters
        ----------
        volumes : sequence of TrainVolume
            What to learn from.
        is_resumed : bool
            Whether to go on from a checkpoint.
        """
        return TrainOptions(
            tuple(volumes),
            self.path(),
            self.preset.value,
            self.affinity.value,
            self.minutes.value,
            self.seed.value,
            self.second_round.value,
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


def _choice(label: str, options: dict[str, str], tip: str) -> ComboBox:
    choices = [(text, value) for value, text in options.items()]
    made = ComboBox(label=label, choices=choices, tooltip=tip)
    make_narrow(made.native)
    return made

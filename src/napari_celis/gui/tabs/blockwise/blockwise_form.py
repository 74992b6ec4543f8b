"""The settings of a block-wise run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from magicgui.types import FileDialogMode
from magicgui.widgets import CheckBox, Container, FileEdit, LineEdit, SpinBox

from napari_celis.core.errors import CelisError
from napari_celis.core.parallel import default_threads

SUFFIX = ".zarr"
RUN_FILE = Path("celis", "run.json")
"""What a folder holds in which a run was begun."""


class BlockwiseForm(Container[Any]):
    """The result to write, and who computes it; its widget is `native`."""

    def __init__(self) -> None:
        self.output = FileEdit(
            label="Result",
            mode=FileDialogMode.OPTIONAL_FILE,
            filter=f"*{SUFFIX}",
            value=Path.home() / f"segmentation{SUFFIX}",
            tooltip="Where the segmentation is written, or an earlier result to go on with.",
        )
        self.output.choose_btn.text = "…"
        self.output.choose_btn.max_width = 32
        self.use_supervoxels = CheckBox(
            text="Use the chosen supervoxels",
            value=True,
            tooltip="Otherwise the model makes them, block by block.",
        )
        self.workers = SpinBox(
            label="Workers",
            value=default_threads(),
            min=1,
            max=1024,
            tooltip="Processes that compute on this computer; each takes the memory of one block.",
        )
        self.scheduler = LineEdit(
            label="Scheduler",
            tooltip="Address of a Dask scheduler, such as tcp://10.0.0.1:8786; none uses this computer.",
        )
        super().__init__()
        self.margins = (0, 0, 0, 0)
        # Themes write in another size than the one that labels get their common width from.
        self.native.setStyleSheet("QLabel { padding: 0px; min-width: 5em; }")
        # Labels get one width only where widgets come later than their container.
        self.extend([self.output, self.use_supervoxels, self.workers, self.scheduler])
        self.scheduler.native.setPlaceholderText("this computer")

    def target(self) -> str:
        """Return where the result lies: a path, or an address; a name without an ending gets that of Zarr."""
        text = self.output.line_edit.value.strip() or "segmentation"
        if "://" in text:
            return text
        path = Path(text).expanduser().absolute()
        return str(path if path.suffix else path.with_suffix(SUFFIX))

    def use_target(self, target: str) -> None:
        """Work with another result."""
        if target != self.target():
            self.output.line_edit.value = target

    @property
    def has_run(self) -> bool:
        """Whether a run was begun there; of addresses, only those of results are expected."""
        target = self.target()
        return "://" in target or Path(target, RUN_FILE).is_file()

    def check(self) -> None:
        """Refuse a place where nothing can be written, before anything is started."""
        path = Path(self.target())
        if "://" not in self.target() and not path.parent.is_dir():
            raise CelisError(f"The folder of {path} does not exist. Make it first, or choose another one.")

    def who_computes(self) -> list[str]:
        """Write who computes, as arguments of `celis blockwise`."""
        address = self.scheduler.value.strip()
        return ["--scheduler", address] if address else ["--workers", str(self.workers.value)]

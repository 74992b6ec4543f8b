"""The box that chooses affinities: those of the model, or of another network in a layer, file or folder."""

from __future__ import annotations

from qtpy.QtWidgets import QComboBox, QFileDialog, QInputDialog, QSizePolicy, QWidget

from napari_celis.core.errors import AmbiguousDatasetError, CelisError
from napari_celis.gui.session.layer_roles import may_be_affinities
from napari_celis.gui.session.workspace import Workspace
from napari_celis.io.affinities import list_affinities, open_affinities
from napari_celis.io.targets import split_target

BY_MODEL = "by the model"
FROM_FILE, FROM_FOLDER = "From a file…", "From a folder (Zarr)…"
TIP = (
    "How surely neighbouring voxels belong together. The model computes it from the image, or a network of "
    "yours did: as a layer with four axes (channel, z, y, x), HDF5, Zarr or npy."
)


class AffinitiesChoice(QComboBox):
    """Lists layers with four axes, and arrays with four axes in files that were opened."""

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self._targets: list[str] = []
        self.setToolTip(TIP)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.activated.connect(self._on_activated)

    def refresh(self) -> None:
        """List what there is, and show what is chosen."""
        workspace = self._workspace
        chosen = workspace.data.affinities_layer or (
            workspace.data.affinities_file and workspace.data.affinities_file.name
        )
        layers = [layer for layer in reversed(workspace.viewer.layers) if may_be_affinities(layer)]
        if isinstance(chosen, str) and chosen not in self._targets:
            self._targets.append(chosen)
        items = [(BY_MODEL, None), *((layer.name, layer) for layer in layers)]
        items += [(_short(target), target) for target in self._targets]
        self.clear()
        for text, what in [*items, (FROM_FILE, FROM_FILE), (FROM_FOLDER, FROM_FOLDER)]:
            self.addItem(text, what)
        self.setCurrentIndex(next((n for n, (_, what) in enumerate(items) if what == chosen), 0))

    def offer(self, path: str) -> list[str]:
        """List the arrays of a file that may be affinities, and return them."""
        found = list_affinities(path)
        self._targets += [target for target in found if target not in self._targets]
        self.refresh()
        return found

    def choose_target(self, target: str) -> None:
        """Use affinities in a file; ask which where it holds several, and say what is wrong with it."""
        workspace = self._workspace
        try:
            workspace.data.use_affinities_file(open_affinities(target))
        except AmbiguousDatasetError:
            names = list_affinities(target)
            name, is_chosen = QInputDialog.getItem(
                self, "Choose affinities", "Array with four axes", names, 0, False
            )
            if is_chosen:
                self.choose_target(name)
        except CelisError as error:
            self.refresh()
            workspace.messages.say(str(error))

    def _on_activated(self, index: int) -> None:
        chosen = self.itemData(index)
        if chosen is None:
            self._workspace.data.use_affinities_file(None)
        elif chosen == FROM_FILE:
            self._ask(QFileDialog.getOpenFileName(self, "Choose affinities")[0])
        elif chosen == FROM_FOLDER:
            self._ask(QFileDialog.getExistingDirectory(self, "Choose affinities in a Zarr folder"))
        elif isinstance(chosen, str):
            self.choose_target(chosen)
        else:
            self._workspace.data.choose("affinities", chosen)

    def _ask(self, path: str) -> None:
        """Use what a dialog returned, if anything."""
        if path:
            self.choose_target(path)
        self.refresh()


def _short(target: str) -> str:
    """Name an array in a file without the folders before it."""
    split = split_target(target)
    return split.path.name + (f":{split.dataset}" if split.dataset else "")

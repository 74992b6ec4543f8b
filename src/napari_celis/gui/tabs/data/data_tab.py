"""The tab Data: what to work on, and with which model."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from napari.layers import Image, Labels, Layer
from qtpy.QtWidgets import (
    QCheckBox,
    QComboBox,
    QFileDialog,
    QFormLayout,
    QLabel,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from napari_celis.core.errors import CelisError, ModelError
from napari_celis.core.volume import format_shape
from napari_celis.gui.layers.opening import has_volumes, open_layers
from napari_celis.gui.layers.samples import phantom_layers, phantom_model
from napari_celis.gui.qt.numbers import signed
from napari_celis.gui.qt.progress import Progress
from napari_celis.gui.qt.widgets import CommandLine, Figures, button, heading, row, wrapped
from napari_celis.gui.session.command_line import agglomerate_command
from napari_celis.gui.session.layer_roles import ROLES, VolumeRole, may_be_volume
from napari_celis.gui.session.workspace import Workspace
from napari_celis.gui.tabs.data.affinities_choice import AffinitiesChoice
from napari_celis.gui.tabs.data.resampling import can_resample, resample_to_model
from napari_celis.io.samples import bundled_models
from napari_celis.pipeline.checks import check, check_volumes
from napari_celis.pipeline.choice import Choice

NONE = "–"
FROM_FILE = "From a file…"
POLICIES = {"energy": "Energy: the sum of its changes", "learned": "Learned: classifier of contacts"}
FIGURES = {
    "Shape": "Voxels along z, y and x.",
    "Voxel size": "Along z, y and x: the scale of the layer.",
    "Supervoxels": "Pieces that can be merged.",
    "Possible merges": "Pairs of supervoxels that touch.",
    "Affinities": "How surely neighbouring voxels belong together: by the model, or by a network of yours.",
}
MODEL_FIGURES = {
    "Trained at": "Voxel size of the volume that the model learned from; yours should be about the same.",
    "Descriptors": "Kinds of descriptors; the tab Shape shows what they see.",
    "Threshold": "Where a run stops at first; the tab Agglomerate can change it.",
}
TIPS = {
    "image": "The grey values, as a layer with three axes.",
    "supervoxels": "The oversegmentation whose pieces are merged. Without one it is made of affinities.",
    "truth": "The true segmentation, if there is one: it is only used to measure errors.",
}


class DataTab(QWidget):
    """Choose image, supervoxels, truth and model; see what they are."""

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self.setAcceptDrops(True)
        self.combos = {role: self._layer_combo(role) for role in ROLES}
        self.affinities = AffinitiesChoice(workspace)
        self.model = QComboBox()
        self.model.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.model.setToolTip("What decides which supervoxels belong together.")
        self.model.activated.connect(self._on_model)
        self.policy = QComboBox()
        self.policy.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.policy.setToolTip("What orders merges. Each has a threshold of its own.")
        self.policy.activated.connect(lambda index: workspace.data.use_policy(self.policy.itemData(index)))
        self.policy_label = QLabel("Policy")
        self.any_size = QCheckBox("Use the model anyway")
        self.any_size.setToolTip("Go on although the model was trained on voxels of another size.")
        self.any_size.toggled.connect(workspace.data.allow_any_voxel_size)
        self.resample = button(
            "Resample to the model's voxels",
            self._on_resample,
            "Show and use the volumes at the voxel size that the model was trained on.",
        )
        self.open = button("Open files…", self._on_open, "Open volumes; dropping them here works too.")
        self.open_folder = button(
            "Open folder…",
            self._on_open_folder,
            "Open a volume that is a folder: OME-Zarr, N5, precomputed, or sections as TIFF or PNG.",
        )
        self.sample = button("Load sample", self._on_sample, "Open the small phantom that comes with CELIS.")
        self.make = button(
            "Make supervoxels",
            workspace.preparation.make_supervoxels,
            "Cut the volume into supervoxels: affinities, watershed.",
        )
        self.figures = Figures(FIGURES)
        self.model_figures = Figures(MODEL_FIGURES)
        self.attribution = wrapped()
        self.command = CommandLine(lambda: agglomerate_command(workspace))
        self._lay_out()
        workspace.data.changed.connect(self.refresh)
        workspace.run.changed.connect(self.refresh)
        workspace.preparation.progressed.connect(self._on_progress)
        self.refresh()
        workspace.data.check()

    def _layer_combo(self, role: VolumeRole) -> QComboBox:
        combo = QComboBox()
        combo.setToolTip(TIPS[role])
        combo.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        combo.activated.connect(lambda index: self._workspace.data.choose(role, combo.itemData(index)))
        return combo

    def _lay_out(self) -> None:
        layout = QVBoxLayout(self)
        # One form for both parts, so that all choices begin at the same edge.
        form = QFormLayout()
        form.addRow(heading("Volumes"))
        for role, combo in self.combos.items():
            form.addRow(role.capitalize(), combo)
        form.addRow("Affinities", self.affinities)
        form.addRow(row(self.open, self.open_folder, self.sample, stretch=(1, 1, 1)))
        form.addRow(self.make)
        form.addRow(self.figures)
        title = heading("Model")
        title.setContentsMargins(0, 8, 0, 0)
        form.addRow(title)
        form.addRow("Model", self.model)
        form.addRow(self.policy_label, self.policy)
        for widget in (self.resample, self.any_size, self.model_figures, self.attribution):
            form.addRow(widget)
        layout.addLayout(form)
        layout.addStretch(1)
        layout.addWidget(self.command)

    # What is shown.

    def refresh(self) -> None:
        """Show the layers that there are, and what is chosen."""
        for role, combo in self.combos.items():
            self._fill(combo, role)
        self.affinities.refresh()
        self._fill_models()
        self._show_figures()
        self._show_model()
        self.make.setEnabled(self._workspace.data.has_volume and not self._workspace.preparation.is_busy)
        self.command.refresh()

    def _fill(self, combo: QComboBox, role: VolumeRole) -> None:
        """List the layers of the fitting kind first; others can be chosen too, to be told what is wrong."""
        chosen = self._workspace.data.layer(role)
        fitting = Image if role == "image" else Labels
        layers = [layer for layer in reversed(self._workspace.viewer.layers) if may_be_volume(layer)]
        layers.sort(key=lambda layer: not isinstance(layer, fitting))
        combo.clear()
        combo.addItem(NONE, None)
        for layer in layers:
            combo.addItem(layer.name, layer)
        combo.setCurrentIndex(1 + layers.index(chosen) if chosen in layers else 0)

    def _fill_models(self) -> None:
        path, loading = self._workspace.data.model_path, self._workspace.data.loading_path
        path = loading or path
        models = _bundled()
        if path is not None and path not in models.values():
            models[path.name] = path
        if path is None and self._workspace.data.model is not None:
            models["in memory"] = Path()
        self.model.clear()
        self.model.addItem(NONE, None)
        for name, file in models.items():
            self.model.addItem(f"{name} (loading …)" if file == loading else name, file)
        self.model.addItem(FROM_FILE, FROM_FILE)
        is_chosen = self._workspace.data.model is not None or loading is not None
        self.model.setCurrentIndex(1 + list(models.values()).index(path or Path()) if is_chosen else 0)

    def _fill_policies(self) -> None:
        """Offer the policies of the model where there is a choice."""
        model = self._workspace.data.model
        names = () if model is None else model.policies
        self.policy.clear()
        for name in names:
            self.policy.addItem(POLICIES[name], name)
        self.policy.setCurrentIndex(self.policy.findData(self._workspace.data.policy))
        for widget in (self.policy_label, self.policy):
            widget.setVisible(len(names) > 1)

    def _show_figures(self) -> None:
        workspace = self._workspace
        choice = self._choice()
        self.figures.show_value("Shape", format_shape(choice.shape) + " voxels" if choice else NONE)
        self.figures.show_value("Voxel size", _size_nm(choice.voxel_size_nm) if choice else NONE)
        self.figures.show_value("Affinities", _affinities_figure(choice) if choice else NONE)
        # Counts of supervoxels that do not belong to the rest would be taken for those of all that is chosen.
        counted = choice and choice.atoms
        is_absent = workspace.data.supervoxels_layer is None
        waiting = "made when needed" if is_absent and choice else NONE
        self.figures.show_value("Supervoxels", f"{counted.supervoxels.n:,}" if counted else waiting)
        self.figures.show_value("Possible merges", f"{counted.n_actions:,}" if counted else NONE)

    def _choice(self) -> Choice | None:
        """Return what is chosen, if that is something that can be used and fits together."""
        try:
            choice = self._workspace.data.choice()
            check_volumes(choice)
        except CelisError:
            return None
        return choice if choice.extents else None

    def _show_model(self) -> None:
        model = self._workspace.data.model
        self.model_figures.setVisible(model is not None)
        self.attribution.setVisible(bool(model and model.attribution))
        is_other = self._has_other_voxel_size()
        self.any_size.setVisible(self.any_size.isChecked() or is_other)
        self.resample.setVisible(is_other and can_resample(self._workspace))
        self._fill_policies()
        if model is None:
            return
        self.model_figures.show_value("Trained at", _size_nm(model.voxel_size_nm))
        self.model_figures.show_value(
            "Descriptors", f"{len(model.specs)} kind{'s' * (len(model.specs) != 1)}"
        )
        self.model_figures.show_value("Threshold", signed(model.thresholds[self._workspace.data.policy]))
        self.attribution.setText(model.attribution)

    def _has_other_voxel_size(self) -> bool:
        """Tell whether the model is what is wrong."""
        try:
            check(self._workspace.data.choice())
        except ModelError:
            return True
        except CelisError:
            return False
        return False

    def _on_progress(self, progress: Progress) -> None:
        self.make.setEnabled(not progress.stage and self._workspace.data.has_volume)

    # What is chosen.

    def _on_model(self, index: int) -> None:
        chosen = self.model.itemData(index)
        if chosen == FROM_FILE:
            path, _ = QFileDialog.getOpenFileName(self, "Choose a model", "", "Models (*.safetensors)")
            if not path:
                self.refresh()
                return
            chosen = Path(path)
        if chosen is None:
            self._workspace.data.use_model(None)
        elif chosen != Path() and chosen != self._workspace.data.model_path:
            self._workspace.preparation.load_model(chosen)
        self.refresh()

    def _on_resample(self) -> None:
        try:
            resample_to_model(self._workspace)
        except CelisError as error:
            self._workspace.messages.say(str(error))

    def _on_open(self) -> None:
        paths, _ = QFileDialog.getOpenFileNames(self, "Open volumes")
        self.open_files(paths)

    def _on_open_folder(self) -> None:
        path = QFileDialog.getExistingDirectory(self, "Open a volume that is a folder")
        self.open_files([path] if path else [])

    def _on_sample(self) -> None:
        workspace, model = self._workspace, phantom_model()
        layers = workspace.viewer.layers
        for data, settings, kind in phantom_layers():
            if settings["name"] not in layers:
                layers.append(Layer.create(data, settings, kind))
        # Its parts belong together; what a run is about stays chosen.
        if workspace.run.engine is None:
            for role in ROLES:
                workspace.data.choose(role, layers[f"phantom {role}"])
        workspace.viewer.reset_view()
        if workspace.data.model is None and model is not None:
            workspace.preparation.load_model(model)

    def open_files(self, paths: Iterable[str]) -> None:
        """Open volumes as layers; a model file is chosen, and what cannot be opened is said."""
        for path in paths:
            if path.endswith(".safetensors"):
                self._workspace.preparation.load_model(path)
                continue
            try:
                found = self.affinities.offer(path)
                layers = open_layers(path) if has_volumes(path) or not found else []
            except CelisError as error:
                self._workspace.messages.say(str(error))
                continue
            for layer in layers:
                self._workspace.viewer.add_layer(Layer.create(*layer))
            if not layers:
                self.affinities.choose_target(path)

    def dragEnterEvent(self, event: Any) -> None:  # noqa: N802
        """Accept files."""
        if event.mimeData().hasUrls():
            event.acceptProposedAction()

    def dropEvent(self, event: Any) -> None:  # noqa: N802
        """Open files that are dropped here."""
        self.open_files([url.toLocalFile() for url in event.mimeData().urls() if url.isLocalFile()])
        event.acceptProposedAction()


def _bundled() -> dict[str, Path]:
    try:
        return bundled_models()
    except CelisError:
        return {}


def _affinities_figure(choice: Choice) -> str:
    """Say where the affinities come from."""
    given = choice.affinities
    if given is None:
        return "computed when needed" if choice.image is not None else NONE
    return f"{given.data.shape[0]} channels, {given.data.dtype}"


def _size_nm(size: Iterable[float]) -> str:
    return " × ".join(f"{value:g}" for value in size) + " nm"

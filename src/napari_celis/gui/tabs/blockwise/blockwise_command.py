"""The command line of a block-wise run: what is chosen, or the settings of the run that lies there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from napari.layers import Layer

from napari_celis.core.errors import CelisError
from napari_celis.gui.layers.volume_files import file_of
from napari_celis.gui.layers.volume_layers import source_of
from napari_celis.gui.session.data_selection import DataSelection
from napari_celis.gui.tabs.blockwise.blockwise_form import BlockwiseForm

if TYPE_CHECKING:
    from napari_celis.scale.run import BlockRun

NOTHING_CHOSEN = "Choose an image and a model on the tab Data first."
INTRODUCTION = (
    "For volumes that do not fit into memory: they are computed block by block, by a process of its own. "
    "After a stop or a crash it goes on where it was."
)
OWN_SETTINGS = "There is a run in this place; it goes on with its own settings."


class BlockwiseCommand:
    """Writes the arguments of `celis`, and says in words what they are about.

    Parameters
    ----------
    data : DataSelection
        What is chosen.
    form : BlockwiseForm
        Where the result lies, and who computes it.
    """

    def __init__(self, data: DataSelection, form: BlockwiseForm) -> None:
        self._data, self._form = data, form

    def describe(self) -> str:
        """Say what would be computed."""
        data = self._data
        if self._form.has_run:
            return OWN_SETTINGS
        if data.model_path is None or not data.has_volume:
            return f"{INTRODUCTION}\n\n{NOTHING_CHOSEN}"
        lines = [f"{role.capitalize()}: {layer.name}" for role, layer in self._layers().items()]
        if data.affinities_file is not None:
            lines.append(f"Affinities: {Path(data.affinities_file.name).name}")
        return "\n".join([INTRODUCTION, "", *lines, f"Model: {data.model_path.stem}"])

    def begin(self, *, is_strict: bool) -> list[str]:
        """Write the arguments that begin a run with what is chosen.

        Parameters
        ----------
        is_strict : bool
            Whether everything has to be chosen, and to lie in files.
        """
        data = self._data
        if is_strict and (data.model_path is None or not data.has_volume):
            raise CelisError(NOTHING_CHOSEN)
        words = ["blockwise", "--output", self._form.target(), "--model", str(data.model_path or "MODEL")]
        for role, layer in self._layers().items():
            if is_strict:
                _require_file(role, layer)
            words += [f"--{role}", source_of(layer, role.upper())]
        if data.affinities_file is not None:
            words += ["--affinities", data.affinities_file.name]
        if data.model is not None and len(data.model.policies) > 1:
            words += ["--policy", data.policy]
        if data.any_voxel_size:
            words.append("--any-voxel-size")
        return [*words, *self._form.who_computes()]

    def resume(self, run: BlockRun) -> list[str]:
        """Write the arguments that go on with a run."""
        from napari_celis.scale.result import resume_arguments
        from napari_celis.scale.run import MODEL

        path = run.store.path(MODEL) if run.store.is_local else self._data.model_path
        if path is None:
            raise CelisError("Choose the model of this result on the tab Data first.")
        return [*resume_arguments(run, path), *self._form.who_computes()]

    def _layers(self) -> dict[str, Layer]:
        """Return the layers that are computed from, by role."""
        data = self._data
        layers = {"image": data.image_layer, "affinities": data.affinities_layer}
        if self._form.use_supervoxels.value:
            layers["supervoxels"] = data.supervoxels_layer
        return {role: layer for role, layer in layers.items() if layer is not None}


def _require_file(role: str, layer: Layer) -> None:
    """Refuse a layer that another process cannot read; nothing is copied, for it may be large."""
    is_there = bool(source_of(layer, ""))
    if is_there and role != "affinities":
        is_there = file_of(layer, role, Path()).is_written
    if not is_there:
        raise CelisError(
            f"The {role} layer “{layer.name}” does not lie in a file, so another process cannot read it. "
            "Save it, for example as OME-Zarr on the tab Export, and open that file."
        )

"""The command lines that do the same as the window."""

from __future__ import annotations

from collections.abc import Mapping

from napari.layers import Layer

from napari_celis.gui.layers.volume_layers import source_of
from napari_celis.gui.session.background.celis_process import celis_command
from napari_celis.gui.session.workspace import Workspace


def unsaved_note(layers: Mapping[str, Layer | None]) -> str:
    """Say which layers have to be saved before a command can be used; "" if all lie in files.

    Parameters
    ----------
    layers : mapping of str to Layer
        By the word that stands for each in the command where it lies in no file.
    """
    unsaved = {
        word: layer for word, layer in layers.items() if layer is not None and not source_of(layer, "")
    }
    if not unsaved:
        return ""
    named = [f"“{layer.name}” for {word}" for word, layer in unsaved.items()]
    it, its = ("it", "its path") if len(named) == 1 else ("them", "their paths")
    return (
        f"No file holds {', '.join(named)}. Before you use the command, save {it}, for example with "
        f"“Export volume…”, and write {its} there."
    )


def agglomerate_command(workspace: Workspace, output: str = "segmentation.zarr") -> str:
    """Write the command that does the same run without a window, with what was decided by hand.

    Parameters
    ----------
    workspace : Workspace
        What is chosen, and the run.
    output : str
        The file to write.
    """
    data, engine = workspace.data, workspace.run.engine
    by_hand = [] if engine is None else [step for step in engine.snapshot.steps if step.kind != "greedy"]
    path = workspace.run.session_path
    if engine is not None and by_hand and path is not None and not workspace.is_stale:
        # Only the session knows them; it can be used when the window is closed.
        going_on = ["--session", str(path), "--threshold", f"{engine.threshold:.4g}"]
        return celis_command(["agglomerate", *going_on, "-o", output])
    parts = ["agglomerate"]
    if data.image_layer is not None or not data.has_affinities:
        parts += ["--image", source_of(data.image_layer, "IMAGE")]
    parts += ["--model", str(data.model_path or "MODEL.safetensors")]
    if data.affinities_file is not None:
        parts += ["--affinities", data.affinities_file.name]
    elif data.affinities_layer is not None:
        parts += ["--affinities", source_of(data.affinities_layer, "AFFINITIES")]
    if data.supervoxels_layer is not None:
        parts += ["--supervoxels", source_of(data.supervoxels_layer, "SUPERVOXELS")]
    if data.model is not None and len(data.model.policies) > 1:
        parts += ["--policy", data.policy]
    if engine is not None and not workspace.is_stale:
        parts += ["--threshold", f"{engine.threshold:.4g}"]
    if data.any_voxel_size:
        parts.append("--any-voxel-size")
    return celis_command([*parts, "-o", output])

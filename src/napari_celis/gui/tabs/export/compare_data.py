"""What a comparison of methods runs on, and what it found."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from napari.layers import Layer

from napari_celis.gui.layers.volume_files import VolumeFile, file_of, volume_of
from napari_celis.io.blocks import Kind
from napari_celis.io.failures import reading
from napari_celis.pipeline.halves import halves

ALL, INSIDE = "all", "ignore_boundary"
"""The two sets of voxels of the figures."""


@dataclass(frozen=True, eq=False)
class CompareOptions:
    """What `celis compare` is told."""

    volumes: Mapping[str, str]
    """By option: image, truth and supervoxels, and the same of what to tune on; without that, on halves."""
    model: Path | str
    ignore_boundary: int = 2
    any_voxel_size: bool = False
    outputs: Mapping[str, Path] = field(default_factory=dict)
    """By option: json and plot."""

    def arguments(self) -> list[str]:
        """Write them as arguments of `celis`."""
        words = ["compare"]
        for option, target in self.volumes.items():
            words += [f"--{option}", target]
        words += ["--model", str(self.model), "--ignore-boundary", str(self.ignore_boundary)]
        words += ["--any-voxel-size"] if self.any_voxel_size else []
        for option, path in self.outputs.items():
            words += [f"--{option}", str(path)]
        return words


def half_files(layers: Mapping[str, Layer], folder: Path) -> dict[str, VolumeFile]:
    """Cut layers in two along z: the first half to tune on, the second to judge on.

    Parameters
    ----------
    layers : mapping of str to Layer
        By role.
    folder : Path
        Where the halves go.
    """
    files = {}
    for role, layer in layers.items():
        for prefix, part in zip(("train-", ""), halves(volume_of(layer)), strict=True):
            kind: Kind = "image" if role == "image" else "labels"
            files[f"{prefix}{role}"] = VolumeFile(str(folder / f"{prefix}{role}.npy"), part, kind, False)
    return files


def whole_files(
    layers: Mapping[str, Layer], train_layers: Mapping[str, Layer], folder: Path
) -> dict[str, VolumeFile]:
    """Use other layers to tune on.

    Parameters
    ----------
    layers : mapping of str to Layer
        What to judge on, by role.
    train_layers : mapping of str to Layer
        What to tune on, by role.
    folder : Path
        Where copies go.
    """
    files = {role: file_of(layer, role, folder) for role, layer in layers.items()}
    for role, layer in train_layers.items():
        # Copies lie beside those of the test volume, so they need a name of their own.
        found = file_of(layer, role, folder)
        copy = replace(found, target=str(folder / f"train-{role}.npy"))
        files[f"train-{role}"] = found if found.is_written else copy
    return files


def read_results(path: Path) -> dict[str, dict[str, Any]]:
    """Read what `celis compare --json` wrote."""
    with reading(str(path)):
        results: dict[str, dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return results


def figures_of(result: Mapping[str, Any], voxels: str) -> Mapping[str, Any]:
    """Return the figures of one method for one set of voxels.

    Parameters
    ----------
    result : mapping
        What was found for the method.
    voxels : str
        `ALL` or `INSIDE`.
    """
    found: Mapping[str, Any] = result if voxels == ALL else result[voxels]
    return found

"""Refuse outputs that are inputs of the same command, or each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from napari_celis.io.footprints import Part

LABELS = "volumes/labels/neuron_ids"
"""The dataset that a segmentation gets in an HDF5 file where none is named."""


def require_distinct(
    outputs: Mapping[str, str | Path | None],
    inputs: Mapping[str, str | Path | None],
    *,
    affinities: Mapping[str, str | None] | None = None,
    unnamed: str = LABELS,
) -> None:
    """Refuse an output that would replace an input or another output, before the work and not after it.

    Parameters
    ----------
    outputs : mapping
        By the name of the option: a volume as text, `path[:dataset]`, or a file as a path.
    inputs : mapping
        The same, for what is read.
    affinities : mapping, optional
        Inputs with four axes.
    unnamed : str
        The dataset that an output in an HDF5 file gets where none is named.

    Raises
    ------
    CelisError
        Naming both options.
    """
    from napari_celis.core.errors import CelisError
    from napari_celis.io.footprints import Part, part_to_write, parts_to_read

    written = {
        name: Part(target) if isinstance(target, Path) else part_to_write(target, unnamed)
        for name, target in outputs.items()
        if target is not None
    }
    given = [(name, target, 3) for name, target in inputs.items()]
    given += [(name, target, 4) for name, target in (affinities or {}).items()]
    for read, target, n_axes in given if written else ():
        parts = [] if target is None else parts_to_read(target, n_axes=n_axes)
        for name, part in written.items():
            if any(part.overlaps(other) for other in parts):
                raise CelisError(
                    f"{name} {outputs[name]} would replace what is read as {read} ({target}). "
                    "Choose another name."
                )
    for name, part in written.items():
        _require_new_dataset(
            name, outputs[name], part, [target for _, target, _ in given if target is not None]
        )
    for (name, part), (other_name, other) in combinations(written.items(), 2):
        if part.overlaps(other):
            raise CelisError(
                f"{name} and {other_name} would be written to the same file, {outputs[name]}. "
                "Choose another name for one of them."
            )


def _require_new_dataset(
    name: str, output: str | Path | None, part: Part, inputs: Sequence[str | Path]
) -> None:
    """Refuse to replace a dataset that nobody named in a file that is read from: it may be the truth."""
    from napari_celis.core.errors import CelisError
    from napari_celis.io.footprints import Part
    from napari_celis.io.targets import split_target
    from napari_celis.io.volumes import list_datasets

    if part.dataset is None or split_target(str(output)).dataset is not None:
        return
    is_read = any(Part(part.path).overlaps(Part(split_target(target).path)) for target in inputs)
    if is_read and part.dataset in {info.name.strip("/") for info in list_datasets(part.path)}:
        raise CelisError(
            f"{name} {output} would replace {part.dataset} in a file that this command reads. "
            f"Name a dataset, for example {output}:segmentation."
        )


def require_folder_output(name: str, path: Path) -> None:
    """Refuse a folder for outputs whose name, or the name of a folder above it, is that of a file.

    Parameters
    ----------
    name : str
        The option, for the message.
    path : Path
        The file or folder.
    """
    from napari_celis.core.errors import CelisError

    for folder in (path, *path.absolute().parents):
        if folder.is_file():
            raise CelisError(f"{name} {path} cannot be a folder: {folder} is a file. Choose another name.")

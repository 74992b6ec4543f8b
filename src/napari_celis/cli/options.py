"""Options and small services that commands share."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from napari_celis.core.volume import Volume
    from napari_celis.models.model_file import CelisModel, PolicyName
    from napari_celis.pipeline.choice import Choice


class Policy(StrEnum):
    """Ways to order merges."""

    energy = "energy"
    learned = "learned"


ImageOption = Annotated[str, typer.Option("--image", metavar="V", help="Image.")]
OptionalImageOption = Annotated[
    str | None,
    typer.Option("--image", metavar="V", help="Image; not needed where affinities are given."),
]
ModelOption = Annotated[str, typer.Option("--model", metavar="MODEL", help="Model file made by celis train.")]
SupervoxelsOption = Annotated[
    str | None,
    typer.Option("--supervoxels", metavar="V", help="Oversegmentation; made from the image if not given."),
]
AffinitiesOption = Annotated[
    str | None,
    typer.Option(
        "--affinities", metavar="V", help="Affinities of any network, to use instead of the model's."
    ),
]
PolicyOption = Annotated[
    Policy | None,
    typer.Option("--policy", help="How merges are ordered; the model's own policy by default."),
]
AnyVoxelSizeOption = Annotated[
    bool,
    typer.Option("--any-voxel-size", help="Use the model although it was trained on other voxel sizes."),
]
JsonOption = Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write the figures here.")]


PLOT_SUFFIXES = (".png", ".pdf", ".svg")


def write_json(path: Path | None, figures: dict[str, Any]) -> None:
    """Write `figures` under a temporary name, then rename; do nothing without a path.

    Parameters
    ----------
    path : Path or None
        Where to write, if anywhere.
    figures : mapping of str to any
        What JSON can hold.
    """
    if path is None:
        return
    from napari_celis.io.atomic import atomic_file

    with atomic_file(path) as temporary:
        temporary.write_text(json.dumps(figures, indent=2) + "\n")


def require_outputs(*files: Path | None, plot: Path | None = None) -> None:
    """Refuse names that nothing can be written to, before the work and not after it.

    Parameters
    ----------
    files : Path or None
        Files to write, or None.
    plot : Path, optional
        Picture to write.
    """
    from napari_celis.core.errors import CelisError

    for path in (*files, plot):
        if path is not None:
            require_folder(path)
            if path.is_dir():
                raise CelisError(f"{path} cannot be written: it is a folder. Give the name of a file.")
    if plot is not None and plot.suffix.lower() not in PLOT_SUFFIXES:
        raise CelisError(f"{plot} is no picture we can draw. Give it a name that ends in .png, .pdf or .svg.")


def require_target(target: str, *, is_affinities: bool = False) -> None:
    """Refuse a volume that cannot be written under this name, before the work and not after it.

    Parameters
    ----------
    target : str
        `path[:dataset]`.
    is_affinities : bool
        Whether affinities are to be written.
    """
    from napari_celis.io.affinities import affinities_format
    from napari_celis.io.targets import format_to_write, split_target

    split = split_target(target)
    (affinities_format if is_affinities else format_to_write)(split)
    require_folder(split.path)


def require_folder(path: Path) -> None:
    """Refuse a name in a folder that is not there."""
    from napari_celis.core.errors import CelisError

    if not path.absolute().parent.is_dir():
        raise CelisError(f"{path} cannot be written: its folder does not exist. Make the folder first.")


def open_for_model(image: str, model: str, any_voxel_size: bool) -> tuple[CelisModel, Volume]:
    """Load a model and open an image that it can be applied to.

    Parameters
    ----------
    image : str
        `path[:dataset]`.
    model : str
        Model file.
    any_voxel_size : bool
        Do not compare voxel sizes.
    """
    from napari_celis.io.volumes import open_volume
    from napari_celis.models.model_file import load_model
    from napari_celis.pipeline.checks import require_voxel_size

    loaded, volume = load_model(model), open_volume(image)
    if not any_voxel_size:
        require_voxel_size(loaded, volume.voxel_size_nm)
    return loaded, volume


def open_choice(
    given: Mapping[str, str | None],
    threshold: float | None = None,
    policy: PolicyName | None = None,
    *,
    any_voxel_size: bool = False,
) -> Choice:
    """Open the volumes and the model of a run that only wants its result.

    Parameters
    ----------
    given : mapping
        `image`, `supervoxels`, `affinities` and `model` as they were written; None for none.
    threshold, policy : optional
        The model's own by default.
    any_voxel_size : bool
        Use the model although it was trained at another voxel size.
    """
    from napari_celis.io.affinities import open_affinities
    from napari_celis.io.volumes import open_volume
    from napari_celis.models.model_file import load_model
    from napari_celis.pipeline.choice import Choice

    image, supervoxels, affinities = (given.get(role) for role in ("image", "supervoxels", "affinities"))
    return Choice(
        image=None if image is None else open_volume(image),
        supervoxels=None if supervoxels is None else open_volume(supervoxels),
        affinities=None if affinities is None else open_affinities(affinities),
        model=load_model(given["model"] or ""),
        policy=policy,
        threshold=threshold,
        any_voxel_size=any_voxel_size,
        is_lazy=True,
    )


def say(words: str) -> None:
    """Tell a sentence that stops nothing."""
    typer.echo(words, err=True)

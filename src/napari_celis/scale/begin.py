"""Begin a block-wise run: look at everything that was given, and refuse what cannot work."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from napari_celis.core.descriptors import IntTriple
from napari_celis.core.volume import require_label_type, require_numbers, require_three_axes
from napari_celis.models.model_file import CelisModel, PolicyName, load_model
from napari_celis.pipeline.checks import check_volumes, require_policy, require_threshold, require_voxel_size
from napari_celis.pipeline.choice import Choice
from napari_celis.scale.inputs import open_input, open_input_affinities, require_fitting_chunks
from napari_celis.scale.run import BlockRun
from napari_celis.scale.settings import (
    BlockwiseError,
    Rule,
    RunSettings,
    chunks_of,
    default_block,
    default_halo,
    file_checksum,
    least_halo,
    require_halo,
)
from napari_celis.scale.storage import RunStore, is_url


@dataclass(frozen=True)
class Request:
    """What somebody asks for; None leaves the choice to us."""

    model: Path
    output: str
    image: str | None = None
    supervoxels: str | None = None
    affinities: str | None = None
    block_zyx: IntTriple | None = None
    halo_zyx: IntTriple | None = None
    policy: PolicyName | None = None
    threshold: float | None = None
    rule: Rule = "all"
    rechunk: bool = False
    any_voxel_size: bool = False


def begin_run(request: Request) -> BlockRun:
    """Check a request, and begin its run or go on with it.

    Parameters
    ----------
    request : Request
        What somebody asks for.

    Returns
    -------
    run : BlockRun
        Nothing is computed yet.
    """
    store = RunStore(request.output)
    if not store.url.endswith(".zarr"):
        raise BlockwiseError(f"{request.output} must end in .zarr: the result is an OME-Zarr volume.")
    model = load_model(request.model)
    choice = _open(request, model)
    check_volumes(choice)
    policy = choice.known_policy
    require_policy(model, policy)
    require_threshold(choice.stop_at)
    if not request.any_voxel_size:
        require_voxel_size(model, choice.voxel_size_nm)
    settings = _settings(request, choice, model, policy)
    chunks_of(settings.block_zyx, settings.shape)
    window = [
        min(b + 2 * h, s)
        for b, h, s in zip(settings.block_zyx, settings.halo_zyx, settings.shape, strict=True)
    ]
    for role, volume in choice.volumes.items():
        if not (role == "image" and request.rechunk):
            require_fitting_chunks(volume, window, f"--{role}")
    return BlockRun.begin(store, settings, request.model)


def _open(request: Request, model: CelisModel) -> Choice:
    """Open what was given; nothing is read."""
    if request.image is None and request.affinities is None:
        raise BlockwiseError("There is nothing to agglomerate. Give --image or --affinities.")
    image = None if request.image is None else open_input(request.image)
    if image is not None:
        require_three_axes(image.data.shape, image.name)
        require_numbers(image.dtype, image.name)
    supervoxels = None if request.supervoxels is None else open_input(request.supervoxels)
    if supervoxels is not None:
        require_label_type(supervoxels.dtype, supervoxels.name)
    return Choice(
        image=image,
        supervoxels=supervoxels,
        affinities=None if request.affinities is None else open_input_affinities(request.affinities),
        model=model,
        policy=request.policy,
        threshold=request.threshold,
    )


def _settings(request: Request, choice: Choice, model: CelisModel, policy: PolicyName) -> RunSettings:
    """Fill in what was left to us."""
    size = choice.voxel_size_nm
    seeds = model.supervoxels if choice.supervoxels is None else None
    least = least_halo(size, model.specs, seeds)
    halo = request.halo_zyx or default_halo(size, model.specs, seeds)
    require_halo(halo, least)
    block = request.block_zyx or default_block(size)
    if any(edge < 1 for edge in block):
        raise BlockwiseError(f"A block needs a length of at least 1 along every axis, got {block}.")
    return RunSettings(
        image=_absolute(request.image),
        supervoxels=_absolute(request.supervoxels),
        affinities=_absolute(request.affinities),
        shape=choice.shape,
        voxel_size_nm=size,
        offset_nm=choice.offset_nm,
        block_zyx=block,
        halo_zyx=halo,
        policy=policy,
        threshold=choice.stop_at,
        rule=request.rule,
        model=file_checksum(request.model),
        rechunk=request.rechunk,
    )


def _absolute(target: str | None) -> str | None:
    """Name a file so that workers in other folders find it."""
    if target is None or is_url(target):
        return target
    from napari_celis.io.targets import split_target

    split = split_target(target)
    path = str(split.path.absolute())
    return path if split.dataset is None else f"{path}:{split.dataset}"

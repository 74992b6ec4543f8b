"""The volumes and the model of a session: described for the file, found again, and held against it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from napari_celis.core.errors import CelisError, VolumeError
from napari_celis.core.supervoxels import Supervoxels
from napari_celis.core.volume import Volume
from napari_celis.io.affinities import open_affinities
from napari_celis.io.session.checksums import (
    array_checksum,
    file_checksum,
    image_checksum,
    labels_checksum,
    text_checksum,
)
from napari_celis.io.session.records import ROLES, Role, SessionError, SessionHead, SessionVolume
from napari_celis.io.targets import split_target
from napari_celis.io.volumes import open_volume
from napari_celis.pipeline.choice import Choice
from napari_celis.pipeline.recipe import Inputs

if TYPE_CHECKING:
    from napari_celis.models.model_file import CelisModel, PolicyName

MODEL = "model"
"""What `relocate` calls the model."""
BEGINS_WITH = "begins_with"
"""Setting: digest of what was decided before the run began; empty where that is nothing."""


@dataclass(frozen=True)
class Sources:
    """Where what was chosen lies, as `path[:dataset]`; empty where it lies in no file."""

    volumes: Mapping[Role, str]
    model: str


class ChangedDataError(SessionError):
    """A volume or the model is not the one that decisions were made about."""


class MissingDataError(SessionError):
    """Volumes or the model are not where they were.

    Parameters
    ----------
    sentence : str
        For the user.
    missing : tuple of str
        What it is, by role; `model` for the model.
    """

    def __init__(self, sentence: str, missing: tuple[str, ...]) -> None:
        super().__init__(sentence)
        self.missing = missing


def describe(
    choice: Choice,
    inputs: Inputs,
    sources: Sources,
    session: Path,
    units_at_start: tuple[int, ...],
    time: float,
) -> SessionHead:
    """Describe what a new session is about.

    Parameters
    ----------
    choice : Choice
        What was chosen.
    inputs : Inputs
        What was read or made of it.
    sources : Sources
        Where it lies.
    session : Path
        Where the session file will be.
    units_at_start : tuple of int
        From `Agglomerator.energy_units`.
    time : float
        Seconds since 1970.
    """
    shape = inputs.atoms.supervoxels.dense.shape
    volumes = []
    for role in ROLES:
        checksum = _checksum(choice, inputs, role)
        if checksum is not None:
            path = _absolute(sources.volumes.get(role, ""))
            relative = _relative(path, session.absolute().parent)
            volumes.append(SessionVolume(role, path, relative, checksum, (shape[0], shape[1], shape[2])))
    settings = {
        "policy": choice.known_policy,
        "threshold": repr(float(choice.stop_at)),
        "any_voxel_size": str(int(choice.any_voxel_size)),
        BEGINS_WITH: choice.decided.digest,
    }
    return SessionHead(
        tuple(volumes),
        _absolute(sources.model),
        model_checksum(choice.known_model, sources.model),
        settings,
        units_at_start,
        time,
    )


def model_checksum(model: CelisModel, path: str) -> str:
    """Return the checksum of a model: of its file, or of its weights where it lies in none.

    Parameters
    ----------
    model : CelisModel
        The model.
    path : str
        Its file; empty where there is none.
    """
    if path:
        return file_checksum(Path(path))
    from napari_celis.models.affinity import to_tensors

    found = [array_checksum(spec.pairs) for spec in model.specs]
    for tensors in (to_tensors(model.affinity)[0], *(net.state_dict() for net in model.energies)):
        found += [array_checksum(tensor.detach().cpu().numpy()) for tensor in tensors.values()]
    return text_checksum(*found)


def supervoxels_checksum(supervoxels: Supervoxels) -> str:
    """Return the checksum of supervoxels, the same as that of the volume they were read from."""
    return labels_checksum(Volume(_Labels(supervoxels), name="supervoxels"))


def open_data(
    head: SessionHead, session: Path, relocate: Mapping[str, str] | None = None, *, is_lazy: bool = False
) -> tuple[Choice, Sources]:
    """Open the volumes and the model of a session where they are now.

    Parameters
    ----------
    head : SessionHead
        What the session is about.
    session : Path
        Its file: volumes that moved together with it are found.
    relocate : mapping, optional
        Where something is now, by role; `model` for the model.
    is_lazy : bool
        As in `Choice`.

    Returns
    -------
    choice : Choice
        Nothing of it is read yet; hold it against the session with `require_same`.
    sources : Sources
        Where everything was found.

    Raises
    ------
    SessionError
        Naming everything that is not where it was.
    """
    from napari_celis.models.model_file import load_model

    if head.settings.get(BEGINS_WITH):
        raise SessionError(
            f"{session} belongs to a box of a block-wise result. Open the box again, on the tab Blocks or "
            "with celis view OUT.zarr --box: there it is offered to go on with."
        )
    relocate = dict(relocate or {})
    known = {volume.role for volume in head.volumes} | {MODEL}
    for name in relocate:
        if name not in known:
            raise SessionError(f"This session has no {name}, only {', '.join(sorted(known))}.")
    found: dict[Role, str] = {}
    missing: dict[str, str] = {}
    for volume in head.volumes:
        # Supervoxels that were made lie in no file; they are made or taken from beside the session.
        if not volume.path and volume.role not in relocate:
            if volume.role != "supervoxels":
                missing[volume.role] = "in no file"
            continue
        place = _find(relocate.get(volume.role), volume.path, volume.relative, session)
        if place is None and volume.role == "truth":
            continue
        if place is None:
            missing[volume.role] = relocate.get(volume.role, volume.path)
        else:
            found[volume.role] = place
    model = _find(relocate.get(MODEL), head.model_path, "", session)
    if model is None:
        missing[MODEL] = relocate.get(MODEL, head.model_path) or "in no file"
    if missing or model is None:
        names = " and ".join(f"{role} ({place})" for role, place in missing.items())
        raise MissingDataError(
            f"{session} was made with {names}, not found there any more. Say where it is now, for example "
            f"with --relocate {next(iter(missing))}=PATH.",
            tuple(missing),
        )
    choice = Choice(
        image=open_volume(found["image"]) if "image" in found else None,
        supervoxels=open_volume(found["supervoxels"]) if "supervoxels" in found else None,
        truth=open_volume(found["truth"]) if "truth" in found else None,
        affinities=open_affinities(found["affinities"]) if "affinities" in found else None,
        model=load_model(model),
        is_lazy=is_lazy,
        **settings_of(head),
    )
    return choice, Sources(found, model)


def settings_of(head: SessionHead) -> dict[str, Any]:
    """Return how the model is used in a session, as fields of a `Choice`."""
    policy: PolicyName
    settings = head.settings
    if settings.get("policy") == "learned":
        policy = "learned"
    elif settings.get("policy") == "energy":
        policy = "energy"
    else:
        raise SessionError(
            "The session does not say by which policy merges are ordered. Use a copy that is whole."
        )
    try:
        threshold = float(settings["threshold"])
    except (KeyError, ValueError) as error:
        raise SessionError("The session has no threshold. Use a copy that is whole.") from error
    return {
        "policy": policy,
        "threshold": threshold,
        "any_voxel_size": settings.get("any_voxel_size") == "1",
    }


def require_same_start(head: SessionHead, choice: Choice) -> None:
    """Refuse a session that began with other segments, those of another state of a block-wise result.

    Parameters
    ----------
    head : SessionHead
        What the session is about.
    choice : Choice
        What is chosen.
    """
    if head.settings.get(BEGINS_WITH, "") != choice.decided.digest:
        raise SessionError(
            "The session began with other segments than these: the block-wise result has changed, or this is "
            "another box. Write its answers back first, or begin a new session."
        )


def require_same_model(head: SessionHead, model: CelisModel, path: str) -> None:
    """Refuse another model than that of a session.

    Parameters
    ----------
    head : SessionHead
        What the session is about.
    model : CelisModel
        The model that was chosen.
    path : str
        Its file; empty where there is none.
    """
    if model_checksum(model, path) != head.model_checksum:
        raise ChangedDataError(
            f"The model {path} is not the one of this session: its content is another. Give the right one "
            "with --relocate model=PATH, or begin a new session."
        )


def require_same_image(head: SessionHead, choice: Choice) -> None:
    """Refuse another image than that of a session."""
    own = head.volume("image")
    if own is not None and choice.image is not None:
        _require(own, image_checksum(choice.image), choice.image.name)


def require_same_inputs(head: SessionHead, choice: Choice, inputs: Inputs) -> None:
    """Refuse other supervoxels or affinities than those of a session, once they are read."""
    require_same_supervoxels(head, choice, inputs.atoms.supervoxels)
    given = head.volume("affinities")
    if given is not None and choice.affinities is not None:
        _require(given, array_checksum(inputs.affinities), choice.affinities.name)


def require_same_supervoxels(head: SessionHead, choice: Choice, supervoxels: Supervoxels) -> None:
    """Refuse other supervoxels than those of a session.

    Parameters
    ----------
    head : SessionHead
        What the session says.
    choice : Choice
        Where they came from.
    supervoxels : Supervoxels
        As they were read or made.
    """
    own = head.volume("supervoxels")
    assert own is not None
    name = "made from the image" if choice.supervoxels is None else choice.supervoxels.name
    _require(own, supervoxels_checksum(supervoxels), name)


def moved(head: SessionHead, sources: Sources, session: Path) -> SessionHead | None:
    """Return a head with the places where everything is now; None if nothing moved."""
    volumes = []
    for volume in head.volumes:
        path = _absolute(sources.volumes.get(volume.role, "")) or volume.path
        relative = _relative(path, session.absolute().parent)
        volumes.append(replace(volume, path=path, relative=relative))
    new = replace(head, volumes=tuple(volumes), model_path=_absolute(sources.model))
    return None if new == head else new


def _require(own: SessionVolume, checksum: str, name: str) -> None:
    if checksum != own.checksum:
        raise ChangedDataError(
            f"The content of the {own.role} volume ({name}) is not that of this session, so nothing was "
            f"applied. Give the right one with --relocate {own.role}=PATH, or begin a new session."
        )


def _checksum(choice: Choice, inputs: Inputs, role: Role) -> str | None:
    """Return the checksum of what was chosen for a role; None for nothing."""
    if role == "supervoxels":
        return supervoxels_checksum(inputs.atoms.supervoxels)
    if role == "affinities":
        return None if choice.affinities is None else array_checksum(inputs.affinities)
    if role == "truth":
        return None if choice.truth is None else labels_checksum(choice.truth)
    return None if choice.image is None else image_checksum(choice.image)


def _absolute(target: str) -> str:
    """Make the path of a target absolute, and leave its dataset."""
    if not target:
        return ""
    split = split_target(target)
    scheme = f"{target.partition('://')[0]}://" if split.format is not None else ""
    path = scheme + os.path.abspath(split.path)
    return path if split.dataset is None else f"{path}:{split.dataset}"


def _relative(target: str, folder: Path) -> str:
    """See a target from a folder; nothing where there is no way, as between two drives."""
    if not target or "://" in target:
        return ""
    try:
        return os.path.relpath(target, folder)
    except ValueError:
        return ""


def _find(given: str | None, absolute: str, relative: str, session: Path) -> str | None:
    """Return the first place where there is something; one that was given is the only one to look at."""
    if given is not None:
        places = [given]
    else:
        places = [absolute] + ([str(session.absolute().parent / relative)] if relative else [])
    for place in places:
        try:
            if place and split_target(place).path.exists():
                return place
        except (VolumeError, CelisError, OSError, ValueError):
            continue
    return None


class _Labels:
    """The labels of supervoxels, made when they are read."""

    def __init__(self, supervoxels: Supervoxels) -> None:
        self._supervoxels = supervoxels
        self.shape: tuple[int, ...] = supervoxels.dense.shape
        self.dtype = supervoxels.ids.dtype

    def __getitem__(self, key: Any, /) -> np.ndarray:
        labels: np.ndarray = self._supervoxels.ids[self._supervoxels.dense[key]]
        return labels

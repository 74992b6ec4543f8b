"""The volumes and the model of a session: described for the file, and found again."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from napari_celis.core.errors import CelisError, VolumeError
from napari_celis.io.affinities import open_affinities
from napari_celis.io.session.records import ROLES, Role, SessionError, SessionHead, SessionVolume
from napari_celis.io.targets import split_target
from napari_celis.io.volumes import open_volume
from napari_celis.models import AFFINITY_REVISION
from napari_celis.pipeline.choice import Choice
from napari_celis.pipeline.recipe import Inputs
from napari_celis.pipeline.session_identity import BEGINS_WITH, REVISION, model_checksum, role_checksum

if TYPE_CHECKING:
    from napari_celis.models.model_file import PolicyName

MODEL = "model"
"""What `relocate` calls the model."""


@dataclass(frozen=True)
class Sources:
    """Where what was chosen lies, as `path[:dataset]`; empty where it lies in no file."""

    volumes: Mapping[Role, str]
    model: str


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
        checksum = role_checksum(choice, inputs, role)
        if checksum is not None:
            path = _absolute(sources.volumes.get(role, ""))
            relative = _relative(path, session.absolute().parent)
            volumes.append(SessionVolume(role, path, relative, checksum, (shape[0], shape[1], shape[2])))
    settings = {
        "policy": choice.known_policy,
        "threshold": repr(float(choice.stop_at)),
        "any_voxel_size": str(int(choice.any_voxel_size)),
        BEGINS_WITH: choice.decided.digest,
        REVISION: str(AFFINITY_REVISION),
    }
    return SessionHead(
        tuple(volumes),
        _absolute(sources.model),
        model_checksum(choice.known_model, sources.model),
        settings,
        units_at_start,
        time,
    )


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


def moved(head: SessionHead, sources: Sources, session: Path) -> SessionHead | None:
    """Return a head with the places where everything is now; None if nothing moved."""
    volumes = []
    for volume in head.volumes:
        path = _absolute(sources.volumes.get(volume.role, "")) or volume.path
        relative = _relative(path, session.absolute().parent)
        volumes.append(replace(volume, path=path, relative=relative))
    new = replace(head, volumes=tuple(volumes), model_path=_absolute(sources.model))
    return None if new == head else new


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

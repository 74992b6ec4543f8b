"""Whether volumes and model are those of a session: their checksums, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from napari_celis.core.supervoxels import Supervoxels
from napari_celis.core.volume import Volume
from napari_celis.io.session.checksums import (
    array_checksum,
    file_checksum,
    image_checksum,
    labels_checksum,
    text_checksum,
)
from napari_celis.io.session.records import Role, SessionError, SessionHead, SessionVolume
from napari_celis.models import AFFINITY_REVISION
from napari_celis.pipeline.choice import Choice
from napari_celis.pipeline.recipe import Inputs

if TYPE_CHECKING:
    from napari_celis.models.model_file import CelisModel

BEGINS_WITH = "begins_with"
"""Setting: digest of what was decided before the run began; empty where that is nothing."""


REVISION = "affinity_revision"
"""Setting: `AFFINITY_REVISION` of the program that computed the affinities; sessions of before have none."""


class ChangedDataError(SessionError):
    """A volume or the model is not the one that decisions were made about."""


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


def role_checksum(choice: Choice, inputs: Inputs, role: Role) -> str | None:
    """Return the checksum of what was chosen for a role; None for nothing.

    Parameters
    ----------
    choice : Choice
        What was chosen.
    inputs : Inputs
        What was read or made of it.
    role : {"image", "supervoxels", "truth", "affinities"}
        Which of them.
    """
    if role == "supervoxels":
        return supervoxels_checksum(inputs.atoms.supervoxels)
    if role == "affinities":
        return None if choice.affinities is None else array_checksum(inputs.affinities)
    if role == "truth":
        return None if choice.truth is None else labels_checksum(choice.truth)
    return None if choice.image is None else image_checksum(choice.image)


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


def remark_on_affinities(head: SessionHead) -> str:
    """Say that affinities were computed in another way when a session was made; empty if they were not."""
    if head.volume("affinities") is not None or head.settings.get(REVISION, "1") == str(AFFINITY_REVISION):
        return ""
    return (
        "The session was made by a version of napari-celis that computes other affinities from the same "
        "image, so its scores cannot come out the same."
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


def _require(own: SessionVolume, checksum: str, name: str) -> None:
    if checksum != own.checksum:
        raise ChangedDataError(
            f"The content of the {own.role} volume ({name}) is not that of this session, so nothing was "
            f"applied. Give the right one with --relocate {own.role}=PATH, or begin a new session."
        )


class _Labels:
    """The labels of supervoxels, made when they are read."""

    def __init__(self, supervoxels: Supervoxels) -> None:
        self._supervoxels = supervoxels
        self.shape: tuple[int, ...] = supervoxels.dense.shape
        self.dtype = supervoxels.ids.dtype

    def __getitem__(self, key: Any, /) -> np.ndarray:
        labels: np.ndarray = self._supervoxels.ids[self._supervoxels.dense[key]]
        return labels

"""The checkpoint of a training run: its finished parts on disk, from which an interrupted run continues."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from napari_celis.core.errors import TrainingError
from napari_celis.models.tensor_file import write_tensors

DESCRIPTION = "training.json"
RESTART = "To delete it and start again, use --restart instead of --resume."

Kept = tuple[dict[str, Tensor], dict[str, Any]]
"""Named tensors, and plain JSON."""


def fingerprint(settings: Mapping[str, Any], *arrays: np.ndarray | None) -> str:
    """Identify settings and data: a run continues only with the same ones.

    Parameters
    ----------
    settings : mapping
        Anything that JSON can hold, or that has a text.
    arrays : ndarray or None
        The data; None stands for data that was not given.

    Returns
    -------
    digest : str
    """
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True, default=str).encode())
    for array in arrays:
        digest.update(b"none" if array is None else f"{array.dtype}{array.shape}".encode())
        if array is not None:
            digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


class Checkpoint:
    """A folder with one safetensors file per finished part; without a folder nothing is kept.

    Parameters
    ----------
    folder : Path, optional
        Made when the first part is kept.
    identity : str
        From `fingerprint`.
    resume : bool
        Continue from what is there; otherwise delete it.
    """

    def __init__(self, folder: Path | None, identity: str, *, resume: bool) -> None:
        self._folder, self._identity = folder, identity
        if folder is None or not folder.exists():
            return
        if not resume:
            self.clear()
            return
        if not any(folder.iterdir()):
            return
        kept = self._read_identity(folder)
        if kept is None:
            raise TrainingError(f"The unfinished training in {folder} is damaged. {RESTART}")
        if kept != identity:
            raise TrainingError(
                f"The unfinished training in {folder} was started with other data or settings. Give those "
                f"again. {RESTART}"
            )

    def load(self, part: str) -> Kept | None:
        """Return a kept part, or None."""
        path = self._path(part)
        if path is None or not path.is_file():
            return None
        try:
            with safe_open(path, framework="pt") as file:
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
                facts = json.loads((file.metadata() or {})["facts"])
        except (SafetensorError, OSError, ValueError, KeyError) as error:
            raise TrainingError(f"{path} is damaged ({error}). {RESTART}") from error
        return tensors, facts

    def keep(self, part: str, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
        """Write a part under a temporary name, then rename it.

        Parameters
        ----------
        part : str
            Its name.
        tensors : mapping of str to Tensor
            What it consists of.
        facts : mapping
            Whatever else it needs, as JSON can hold it.
        """
        path = self._path(part)
        if path is None:
            return
        description = path.parent / DESCRIPTION
        if not description.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary = description.with_name(f".{DESCRIPTION}.{os.getpid()}.part")
            temporary.write_text(json.dumps({"identity": self._identity}))
            temporary.replace(description)
        write_tensors(path, tensors or {"nothing": torch.zeros(1)}, {"facts": json.dumps(dict(facts))})

    def drop(self, part: str) -> None:
        """Delete a part that is no longer needed."""
        path = self._path(part)
        if path is not None:
            path.unlink(missing_ok=True)

    def clear(self) -> None:
        """Delete everything."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _path(self, part: str) -> Path | None:
        return None if self._folder is None else self._folder / f"{part}.safetensors"

    @staticmethod
    def _read_identity(folder: Path) -> str | None:
        try:
            identity: str = json.loads((folder / DESCRIPTION).read_text())["identity"]
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return identity

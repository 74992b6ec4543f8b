"""Write named tensors so that the final name never holds half a file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import save_file
from torch import Tensor

from napari_celis.core.errors import ModelError


def write_tensors(path: Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> None:
    """Write a safetensors file under a temporary name, then rename.

    Parameters
    ----------
    path : Path
        The file or folder.
    tensors : mapping of str to Tensor
        By name.
    metadata : mapping of str to str
        Text by name.

    Raises
    ------
    ModelError
        If it cannot be written; what was there before stays.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    whole = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    try:
        save_file(whole, temporary, dict(metadata))
        temporary.chmod(0o644)
        _sync(temporary)
        temporary.replace(path)
        _sync(path.parent)
    except (SafetensorError, OSError) as error:
        raise ModelError(
            f"{path} cannot be written ({error}). Check its folder and the room on the disk."
        ) from error
    finally:
        temporary.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk; Windows does the latter by itself."""
    if path.is_dir() and os.name != "posix":
        return
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)

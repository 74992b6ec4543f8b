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
        temporary.replace(path)
    except (SafetensorError, OSError) as error:
        raise ModelError(
            f"{path} cannot be written ({error}). Check its folder and the room on the disk."
        ) from error
    finally:
        temporary.unlink(missing_ok=True)

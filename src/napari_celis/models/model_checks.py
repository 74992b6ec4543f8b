"""Check the numbers of a model file before anything is built from them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from napari_celis.core.errors import ModelError

MAX_FILE_BYTES = 2**32
"""The largest preset takes a fortieth of it."""
MAX_TEXT = 2**24
"""Letters of the description; what training measured takes some thousand."""
MAX_SPECS = 64
RANGES: dict[str, tuple[float, float]] = {
    "turns": (1, 48),
    "layout_grid": (1, 64),
    "share": (0, 1e9),
    "threshold": (-1e12, 1e12),
    "voxel_size_nm": (1e-6, 1e9),
    "box_zyx": (1, 1023),
    "region_zyx": (1, 4095),
    "stride_zyx": (1, 1023),
    "n_bits": (1, 2**16),
    "n_features": (1, 2**16),
    "hidden": (1, 2**16),
    "dropout": (0, 0.999),
    "width": (1, 2**12),
    "levels": (1, 8),
    "mean": (-1e30, 1e30),
    "deviation": (1e-30, 1e30),
    "offset": (-1023, 1023),
}
"""From the smallest to the largest that makes sense."""
WHOLE = {
    *("turns", "layout_grid", "box_zyx", "region_zyx", "stride_zyx", "n_bits", "n_features", "hidden"),
    *("width", "levels", "offset"),
}


def require_number(name: str, value: Any, where: str = "") -> None:
    """Refuse a number that cannot be meant.

    Parameters
    ----------
    name : str
        One of `RANGES`.
    value : object
        What the file says.
    where : str
        Which part of the model it belongs to, for the message.
    """
    low, high = RANGES[name]
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number or not low <= value <= high or (name in WHOLE and value != int(value)):
        kind = "a whole number" if name in WHOLE else "a number"
        raise ModelError(
            f"it says that `{name}`{where} is {value!r:.40}, but that is {kind} from {low:g} to "
            f"{high:g}. The file is damaged, or not from napari-celis."
        )


def require_sense(described: Mapping[str, Any]) -> None:
    """Check every number of a description that something will be built from.

    Parameters
    ----------
    described : mapping
        The JSON of a model file, of a format that is read.

    Raises
    ------
    ModelError
        Naming the first number that cannot be meant.
    """
    for name in ("turns", "layout_grid"):
        require_number(name, described[name])
    _require_each("voxel_size_nm", described["voxel_size_nm"], 3)
    for policy, threshold in described["thresholds"].items():
        require_number("threshold", threshold, f" of {policy}")
    if len(described["specs"]) > MAX_SPECS or not described["specs"]:
        raise ModelError(
            f"it has {len(described['specs']):,} specs, but a model has 1 to {MAX_SPECS}. It is damaged."
        )
    for item in described["specs"]:
        where = f" of spec {str(item['name'])[:40]}"
        require_number("share", item["share"], where)
        for name in ("box_zyx", "region_zyx", "stride_zyx"):
            _require_each(name, item[name], 3, where)
        for name in ("n_bits", "n_features", "hidden", "dropout"):
            require_number(name, item["energy"][name], where)
    network = described["affinity"]
    for name in ("width", "levels", "n_features"):
        require_number(name, network[name], " of the affinity network")
    _require_each("voxel_size_nm", network["voxel_size_nm"], 3, " of the affinity network")
    mean, deviation = network["intensity"]
    require_number("mean", mean, " of the grey values")
    require_number("deviation", deviation, " of the grey values")
    if len(network["long_range"]) > MAX_SPECS:
        raise ModelError(f"its network has {len(network['long_range']):,} offsets. It is damaged.")
    for offset in network["long_range"]:
        _require_each("offset", offset, 3, " of the affinity network")


def require_finite_weights(tensors: Mapping[str, Tensor]) -> None:
    """Refuse weights that are NaN or infinite."""
    for name, tensor in tensors.items():
        if tensor.is_floating_point() and not bool(torch.isfinite(tensor).all()):
            raise ModelError(
                f"its weights `{name}` hold values that are NaN or infinite. Train the model again."
            )


def require_shapes(network: nn.Module, tensors: Mapping[str, Tensor], what: str) -> None:
    """Hold the shapes of stored weights against a network that was built without memory for its own.

    Parameters
    ----------
    network : nn.Module
        On the device `meta`.
    tensors : mapping of str to Tensor
        What the file holds for it.
    what : str
        What messages call the network.
    """
    expected = network.state_dict()
    wrong = sorted(set(expected) ^ set(tensors))
    wrong += [name for name in expected if name in tensors and tensors[name].shape != expected[name].shape]
    if wrong:
        raise ModelError(
            f"The weights do not fit {what}: {', '.join(wrong[:3])}"
            f"{' and others' if len(wrong) > 3 else ''} are missing, unknown or of another shape. "
            "The model file is damaged or was made by another version."
        )


def is_plain_number(value: Any) -> bool:
    """Tell whether a value is a finite number."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _require_each(name: str, values: Sequence[Any], n: int, where: str = "") -> None:
    """Check `n` numbers."""
    if not isinstance(values, (list, tuple)) or len(values) != n:
        raise ModelError(f"it has {values!r:.60} as `{name}`{where}, but that is {n} numbers. It is damaged.")
    for value in values:
        require_number(name, value, where)

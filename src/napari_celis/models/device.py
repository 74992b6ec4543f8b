"""Which processor runs the networks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from napari_celis.core.errors import ModelError, NotEnoughMemoryError

OUT_OF_MEMORY = ("out of memory", "not enough memory", "allocate memory")
"""What torch says on CUDA, MPS and the CPU."""


def choose_device(name: str = "auto") -> torch.device:
    """Find the processor for a network.

    Parameters
    ----------
    name : str
        `auto` takes CUDA if there is one, then Apple's MPS, then the CPU. Otherwise a name that torch knows,
        such as `cpu`, `cuda`, `cuda:1` or `mps`.

    Returns
    -------
    device : torch.device

    Raises
    ------
    ModelError
        If the named device does not exist on this machine.
    """
    if name == "auto":
        return torch.device(available_devices()[0])
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise ModelError(
            f"`{name}` is not a device. Choose auto, {', '.join(available_devices())}."
        ) from error
    present = available_devices()
    too_high = device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count()
    if device.type not in present or too_high:
        raise ModelError(f"The device `{name}` is not there. This machine has {', '.join(present)}.")
    return device


def available_devices() -> list[str]:
    """List the kinds of processor on this machine, fastest first."""
    found = []
    if torch.cuda.is_available():
        found.append("cuda")
    if torch.backends.mps.is_available():
        found.append("mps")
    return [*found, "cpu"]


def has_fast_bfloat16(device: torch.device) -> bool:
    """Tell whether a processor multiplies in bfloat16 by itself; elsewhere that is slower than float32."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    if device.type != "cpu":
        return False
    # Older versions of torch do not say what the CPU can do.
    capabilities: dict[str, bool] = getattr(torch.cpu, "get_capabilities", dict)()
    return any(capabilities.get(name, False) for name in ("avx512_bf16", "amx_bf16"))


@contextmanager
def explained_memory(device: torch.device, way_out: str) -> Iterator[None]:
    """Turn torch's out-of-memory errors into one that says what to do.

    Parameters
    ----------
    device : torch.device
        Where the work is done.
    way_out : str
        What the user can change, a sentence.

    Raises
    ------
    NotEnoughMemoryError
        Instead of a RuntimeError about memory; other errors pass as they are.
    """
    try:
        yield
    except RuntimeError as error:
        is_known = any(words in str(error) for words in OUT_OF_MEMORY)
        if not isinstance(error, torch.cuda.OutOfMemoryError) and not is_known:
            raise
        raise NotEnoughMemoryError(f"The device `{device}` ran out of memory. {way_out}") from error


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """Keep torch on the calling thread: the agglomerator's own pool already uses every core."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)

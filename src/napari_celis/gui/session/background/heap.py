"""Memory: give freed memory back to the system, and spare lasting objects the garbage collector."""

from __future__ import annotations

import ctypes
import gc
import platform

MMAP_THRESHOLD, LARGE_BYTES = -3, 1 << 24
"""The number by which glibc knows the setting, and the size from which an array has memory of its own.
Smaller ones are made and freed so often that asking the system each time would hold up the window."""


def give_back_freed_memory() -> None:
    """Keep large arrays out of the heap, where freed ones would leave holes that stay with the program.

    By default glibc does so too, until the first large array is freed. Other systems are left as they are.
    """
    if platform.libc_ver()[0] == "glibc":
        ctypes.CDLL(None).mallopt(MMAP_THRESHOLD, LARGE_BYTES)


def set_garbage_aside() -> None:
    """Collect garbage now, and spare later collections all that is left.

    Python looks through every object again and again, and napari has it do so whenever a layer goes: with a
    million objects the window stands still for a third of a second each time.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()

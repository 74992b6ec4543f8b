"""Checksums of what decisions depend on: the same content has the same one, whatever file it lies in."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np

from napari_celis.core.volume import Volume
from napari_celis.io.failures import reading
from napari_celis.io.session.records import SessionError

BLOCK_BYTES = 64 * 2**20
"""Read at a time."""
DIGEST_BYTES = 16


def labels_checksum(volume: Volume) -> str:
    """Return the checksum of labels; how wide their integers are stored does not count."""
    return _of_sections(volume, np.dtype("<u8"))


def image_checksum(volume: Volume) -> str:
    """Return the checksum of an image; the type of its voxels counts, their byte order does not."""
    return _of_sections(volume, volume.dtype.newbyteorder("<"))


def array_checksum(array: np.ndarray) -> str:
    """Return the checksum of an array of any shape, such as affinities."""
    dtype = array.dtype.newbyteorder("<")
    found = _begin(array.shape, dtype)
    for part in array.reshape(array.shape[0], -1) if array.ndim else [array]:
        found.update(np.ascontiguousarray(part, dtype=dtype).data)
    return found.hexdigest()


def file_checksum(path: Path) -> str:
    """Return the checksum of the bytes of a file."""
    found = hashlib.blake2b(digest_size=DIGEST_BYTES)
    try:
        with path.open("rb") as file:
            while block := file.read(BLOCK_BYTES):
                found.update(block)
    except OSError as error:
        raise SessionError(f"{path} cannot be read: {error.strerror}. Check its name.") from error
    return found.hexdigest()


def text_checksum(*parts: str) -> str:
    """Return the checksum of some texts together."""
    return hashlib.blake2b("\x00".join(parts).encode(), digest_size=DIGEST_BYTES).hexdigest()


def _begin(shape: tuple[int, ...], dtype: np.dtype[np.generic]) -> hashlib.blake2b:
    found = hashlib.blake2b(digest_size=DIGEST_BYTES)
    found.update(f"{tuple(int(size) for size in shape)} {dtype.str}".encode())
    return found


def _of_sections(volume: Volume, dtype: np.dtype[np.generic]) -> str:
    """Read a volume section by section; the bytes follow each other whatever is read at a time."""
    found = _begin(volume.shape, dtype)
    depth, height, width = volume.shape
    n_sections = max(1, BLOCK_BYTES // max(1, height * width * max(dtype.itemsize, volume.dtype.itemsize)))
    with reading(volume.name):
        for first in range(0, depth, n_sections):
            sections = np.asarray(volume.data[first : first + n_sections, :, :])
            found.update(np.ascontiguousarray(sections, dtype=dtype).data)
    return found.hexdigest()

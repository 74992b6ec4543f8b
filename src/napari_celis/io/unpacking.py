"""Unpack compressed bytes up to a size: a few of them can stand for terabytes.

Every `unpack_…(packed, limit)` returns the content, or raises if it has more than `limit` bytes.
"""

from __future__ import annotations

import bz2
import lzma
import struct
import zlib
from collections.abc import Callable
from typing import Any

import imagecodecs

from napari_celis.io.memory import format_gb

GZIP, ZLIB = 31, 15
"""Ways to frame a stream, as zlib counts them."""
BLOSC_HEADER_BYTES = 16
BLOSC_SIZE_AT, BLOSC_LENGTH_AT = 4, 12
LZMA_MEMORY = 2**28
"""What a dictionary may take."""


class _Stream:
    """What the decompressors of the standard library have in common."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make

    def unpack(self, packed: bytes, limit: int) -> bytes:
        """Unpack one stream after the other."""
        parts: list[bytes] = []
        n_bytes = 0
        while packed:
            stream = self._make()
            part = stream.decompress(packed, limit - n_bytes + 1)
            n_bytes += len(part)
            require_size(n_bytes, limit)
            parts.append(part)
            if not stream.eof:
                raise ValueError("a chunk ends too early")
            # Zeros behind a stream are padding.
            packed = stream.unused_data.lstrip(b"\0")
        return parts[0] if len(parts) == 1 else b"".join(parts)


def require_size(n_bytes: int, limit: int) -> None:
    """Refuse a chunk that unpacks to more than it may hold.

    Parameters
    ----------
    n_bytes : int
        What it unpacks to.
    limit : int
        What it may hold.
    """
    if n_bytes > limit:
        raise ValueError(
            f"a chunk unpacks to {format_gb(n_bytes)} or more, but holds {format_gb(limit)} at most"
        )


def unpack_gzip(packed: bytes, limit: int) -> bytes:
    """Unpack what gzip packed."""
    return _Stream(lambda: zlib.decompressobj(GZIP)).unpack(packed, limit)


def unpack_zlib(packed: bytes, limit: int) -> bytes:
    """Unpack what zlib packed."""
    return _Stream(lambda: zlib.decompressobj(ZLIB)).unpack(packed, limit)


def unpack_bz2(packed: bytes, limit: int) -> bytes:
    """Unpack what bzip2 packed."""
    return _Stream(bz2.BZ2Decompressor).unpack(packed, limit)


def unpack_lzma(packed: bytes, limit: int) -> bytes:
    """Unpack what lzma packed, in one of the two formats that say how they were made."""
    return _Stream(lambda: lzma.LZMADecompressor(lzma.FORMAT_AUTO, LZMA_MEMORY)).unpack(packed, limit)


def unpack_zstd(packed: bytes, limit: int) -> bytes:
    """Unpack what Zstandard packed."""
    try:
        return bytes(imagecodecs.zstd_decode(packed, out=bytearray(limit)))
    except imagecodecs.ZstdError as error:
        if "too small" in str(error):
            require_size(limit + 1, limit)
        raise


def require_lz4(packed: bytes, limit: int) -> None:
    """Check the size that an LZ4 chunk states before its content.

    Parameters
    ----------
    packed : bytes
        The bytes of a chunk.
    limit : int
        Bytes that it may unpack to.
    """
    if len(packed) < 4:
        raise ValueError(f"an LZ4 chunk has {len(packed)} bytes, fewer than its header")
    require_size(struct.unpack_from("<I", packed)[0], limit)


def require_blosc(packed: Any, limit: int | None) -> None:
    """Check the sizes that a Blosc chunk states.

    The decoder believes them and reads past the end of a damaged chunk, which can end the process. See
    https://github.com/zarr-developers/numcodecs/issues/228.

    Parameters
    ----------
    packed : buffer
        The chunk.
    limit : int or None
        Bytes that it may unpack to, where that is known.
    """
    content = memoryview(packed).cast("B")
    if len(content) < BLOSC_HEADER_BYTES:
        raise ValueError(f"a Blosc chunk has {len(content)} bytes, fewer than its header")
    stated = struct.unpack_from("<I", content, BLOSC_LENGTH_AT)[0]
    if stated > len(content):
        raise ValueError(f"a Blosc chunk should have {stated} bytes but has {len(content)}")
    if limit is not None:
        require_size(struct.unpack_from("<I", content, BLOSC_SIZE_AT)[0], limit)

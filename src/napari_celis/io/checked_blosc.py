"""Blosc chunks of Zarr arrays, looked at before they are decoded.

The decoder believes the size that a chunk states about itself and reads past the end of a damaged one, which
can end the process. See https://github.com/zarr-developers/numcodecs/issues/228.
"""

from __future__ import annotations

import struct
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import zarr
from numcodecs import register_codec as register_version_2  # type: ignore[import-untyped]
from numcodecs.blosc import Blosc  # type: ignore[import-untyped]
from zarr.codecs import BloscCodec
from zarr.registry import register_codec as register_version_3

if TYPE_CHECKING:
    from zarr.core.array_spec import ArraySpec
    from zarr.core.buffer import Buffer

HEADER_BYTES = 16
STATED_SIZE_AT = 12


def require_whole(chunk: Any) -> None:
    """Refuse a chunk that says it is longer than it is."""
    content = memoryview(chunk).cast("B")
    if len(content) < HEADER_BYTES:
        raise ValueError(f"a Blosc chunk has {len(content)} bytes, fewer than its header")
    stated = struct.unpack_from("<I", content, STATED_SIZE_AT)[0]
    if stated > len(content):
        raise ValueError(f"a Blosc chunk should have {stated} bytes but has {len(content)}")


class CheckedBlosc(Blosc):  # type: ignore[misc]
    """The codec of Zarr version 2."""

    def decode(self, buf: Any, out: Any = None) -> Any:
        """Check, then decode."""
        require_whole(buf)
        return super().decode(buf, out)


class CheckedBloscCodec(BloscCodec):
    """The codec of Zarr version 3, which decodes through one or the other of these, depending on its age."""

    async def _decode_single(self, chunk_bytes: Buffer, chunk_spec: ArraySpec) -> Buffer:
        require_whole(chunk_bytes.as_numpy_array())
        return await super()._decode_single(chunk_bytes, chunk_spec)

    def _decode_sync(self, chunk_bytes: Buffer, chunk_spec: ArraySpec) -> Buffer:
        require_whole(chunk_bytes.as_numpy_array())
        return super()._decode_sync(chunk_bytes, chunk_spec)


def checking() -> AbstractContextManager[Any]:
    """Make arrays that are opened meanwhile decode with the checked codecs."""
    context: AbstractContextManager[Any] = zarr.config.set(
        {"codecs.blosc": f"{__name__}.{CheckedBloscCodec.__name__}"}
    )
    return context


# Version 2 looks codecs up in one table for the whole process; ours decodes the same chunks.
register_version_2(CheckedBlosc)
register_version_3("blosc", CheckedBloscCodec)

"""The codecs of Zarr arrays, which look at a chunk before they unpack it and stop where it should end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import zarr
from numcodecs import bz2, gzip, lz4, lzma, zlib, zstd  # type: ignore[import-untyped]
from numcodecs import register_codec as register_version_2
from numcodecs.blosc import Blosc  # type: ignore[import-untyped]
from numcodecs.compat import ensure_bytes, ndarray_copy  # type: ignore[import-untyped]
from zarr.codecs import BloscCodec, GzipCodec, ZstdCodec
from zarr.registry import register_codec as register_version_3

from napari_celis.core.volume import count_voxels
from napari_celis.io import unpacking

if TYPE_CHECKING:
    from zarr.core.array_spec import ArraySpec
    from zarr.core.buffer import Buffer

LARGEST_VOXEL = 16
"""Bytes that a filter may make of a voxel on the way."""
SPARE_BYTES = 2**16
"""Checksums and headers that other codecs add."""


def largest_content(n_voxels: int) -> int:
    """Count the bytes that a chunk may unpack to, whatever its filters make of it."""
    return n_voxels * LARGEST_VOXEL + SPARE_BYTES


class _Bounded:
    """Of a codec of Zarr version 2: it knows its limit when `set_limits` has told it."""

    limit: int | None = None
    unpack: Callable[[bytes, int], bytes]

    def decode(self, buf: Any, out: Any = None) -> Any:
        """Unpack as far as the limit."""
        if self.limit is None:
            return super().decode(buf, out)  # type: ignore[misc]
        return ndarray_copy(type(self).unpack(ensure_bytes(buf), self.limit), out)


class BoundedGzip(_Bounded, gzip.GZip):  # type: ignore[misc]
    """Bounded gzip."""

    unpack = staticmethod(unpacking.unpack_gzip)


class BoundedZlib(_Bounded, zlib.Zlib):  # type: ignore[misc]
    """Bounded zlib."""

    unpack = staticmethod(unpacking.unpack_zlib)


class BoundedBz2(_Bounded, bz2.BZ2):  # type: ignore[misc]
    """Bounded bzip2."""

    unpack = staticmethod(unpacking.unpack_bz2)


class BoundedLzma(_Bounded, lzma.LZMA):  # type: ignore[misc]
    """Bounded lzma."""

    unpack = staticmethod(unpacking.unpack_lzma)


class BoundedZstd(_Bounded, zstd.Zstd):  # type: ignore[misc]
    """Bounded Zstandard."""

    unpack = staticmethod(unpacking.unpack_zstd)


class BoundedLz4(lz4.LZ4):  # type: ignore[misc]
    """LZ4, which states its size."""

    limit: int | None = None

    def decode(self, buf: Any, out: Any = None) -> Any:
        """Check, then decode."""
        if self.limit is not None:
            unpacking.require_lz4(ensure_bytes(buf), self.limit)
        return super().decode(buf, out)


class CheckedBlosc(Blosc):  # type: ignore[misc]
    """Blosc, which states its sizes."""

    limit: int | None = None

    def decode(self, buf: Any, out: Any = None) -> Any:
        """Check, then decode."""
        unpacking.require_blosc(buf, self.limit)
        return super().decode(buf, out)


class CheckedBloscCodec(BloscCodec):
    """Of version 3, which decodes through one or the other of these, depending on its age."""

    async def _decode_single(self, chunk_bytes: Buffer, chunk_spec: ArraySpec) -> Buffer:
        unpacking.require_blosc(chunk_bytes.as_numpy_array(), _limit(chunk_spec))
        return await super()._decode_single(chunk_bytes, chunk_spec)

    def _decode_sync(self, chunk_bytes: Buffer, chunk_spec: ArraySpec) -> Buffer:
        unpacking.require_blosc(chunk_bytes.as_numpy_array(), _limit(chunk_spec))
        return super()._decode_sync(chunk_bytes, chunk_spec)


class BoundedGzipCodec(GzipCodec):
    """Bounded gzip of version 3."""

    async def _decode_single(self, chunk_bytes: Buffer, chunk_spec: ArraySpec) -> Buffer:
        return await asyncio.to_thread(self._decode_sync, chunk_bytes, chunk_spec)

    def _decode_sync(self, chunk_bytes: Buffer, chunk_spec: ArraySpec) -> Buffer:
        return _unpack(unpacking.unpack_gzip, chunk_bytes, chunk_spec)


class BoundedZstdCodec(ZstdCodec):
    """Bounded Zstandard of version 3."""

    async def _decode_single(self, chunk_bytes: Buffer, chunk_spec: ArraySpec) -> Buffer:
        return await asyncio.to_thread(self._decode_sync, chunk_bytes, chunk_spec)

    def _decode_sync(self, chunk_bytes: Buffer, chunk_spec: ArraySpec) -> Buffer:
        return _unpack(unpacking.unpack_zstd, chunk_bytes, chunk_spec)


VERSION_2 = (CheckedBlosc, BoundedBz2, BoundedGzip, BoundedLz4, BoundedLzma, BoundedZlib, BoundedZstd)
VERSION_3 = {"blosc": CheckedBloscCodec, "gzip": BoundedGzipCodec, "zstd": BoundedZstdCodec}


def checking() -> AbstractContextManager[Any]:
    """Make arrays that are opened meanwhile decode with these codecs."""
    context: AbstractContextManager[Any] = zarr.config.set(
        {f"codecs.{name}": f"{__name__}.{codec.__name__}" for name, codec in VERSION_3.items()}
    )
    return context


def set_limits(array: Any) -> None:
    """Tell the codecs of an open array how much a chunk may hold, where they cannot see it themselves."""
    limit = largest_content(count_voxels(getattr(array, "shards", None) or array.chunks))
    for codec in _version_2_codecs(array.metadata):
        codec.limit = limit


def _version_2_codecs(metadata: Any) -> Iterator[Any]:
    """Find codecs of version 2, also where an array of version 3 uses them."""
    if metadata.zarr_format == 2:
        yield from (codec for codec in (metadata.compressor, *(metadata.filters or ())) if codec is not None)
        return
    waiting = list(metadata.codecs)
    while waiting:
        codec = waiting.pop()
        waiting += [*getattr(codec, "codecs", ()), *getattr(codec, "index_codecs", ())]
        if hasattr(codec, "codec_config"):
            yield codec._codec


def _limit(chunk_spec: ArraySpec) -> int:
    return largest_content(count_voxels(chunk_spec.shape))


def _unpack(function: Callable[[bytes, int], bytes], chunk_bytes: Buffer, chunk_spec: ArraySpec) -> Buffer:
    """Unpack a chunk of version 3."""
    return chunk_spec.prototype.buffer.from_bytes(function(chunk_bytes.to_bytes(), _limit(chunk_spec)))


# Version 2 looks codecs up in one table for the whole process; without a limit ours do what the others do.
for _codec in VERSION_2:
    register_version_2(_codec)
for _name, _checked in VERSION_3.items():
    register_version_3(_name, _checked)

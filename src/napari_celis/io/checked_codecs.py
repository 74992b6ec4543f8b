"""Codecs of Zarr arrays that check a chunk before they unpack it, and stop where it should end.

Written by hand: zarr and numcodecs trust the sizes that a chunk states, so a damaged or hostile one crashes
the process or fills the memory. Only arrays that went through `guarded` decode with these codecs. Nothing is
registered, so arrays of other libraries in the same process keep theirs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import zarr
from numcodecs import bz2, gzip, lz4, lzma, zlib, zstd  # type: ignore[import-untyped]
from numcodecs.blosc import Blosc  # type: ignore[import-untyped]
from numcodecs.compat import ensure_bytes, ndarray_copy  # type: ignore[import-untyped]
from zarr.codecs import BloscCodec, GzipCodec, ShardingCodec, ZstdCodec

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
    """Part of a codec of Zarr version 2; `guarded` sets its limit."""

    limit: int
    unpack: Callable[[bytes, int], bytes]

    def decode(self, buf: Any, out: Any = None) -> Any:
        """Unpack as far as the limit."""
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

    limit: int

    def decode(self, buf: Any, out: Any = None) -> Any:
        """Check, then decode."""
        unpacking.require_lz4(ensure_bytes(buf), self.limit)
        return super().decode(buf, out)


class CheckedBlosc(Blosc):  # type: ignore[misc]
    """Blosc, which states its sizes."""

    limit: int

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


VERSION_2 = {
    codec.codec_id: codec
    for codec in (CheckedBlosc, BoundedBz2, BoundedGzip, BoundedLz4, BoundedLzma, BoundedZlib, BoundedZstd)
}
VERSION_3: dict[type, type[CheckedBloscCodec | BoundedGzipCodec | BoundedZstdCodec]] = {
    BloscCodec: CheckedBloscCodec,
    GzipCodec: BoundedGzipCodec,
    ZstdCodec: BoundedZstdCodec,
}


def guarded(array: zarr.Array[Any]) -> zarr.Array[Any]:
    """Return an array that reads the same chunks and decodes them with the codecs of this file."""
    metadata: Any = array.metadata
    if metadata.zarr_format == 2:
        limit = largest_content(count_voxels(array.chunks))
        filters = metadata.filters and [_of_version_2(codec, limit) for codec in metadata.filters]
        own = replace(metadata, compressor=_of_version_2(metadata.compressor, limit), filters=filters)
    else:
        limit = largest_content(count_voxels(array.shards or array.chunks))
        own = replace(metadata, codecs=[_of_version_3(codec, limit) for codec in metadata.codecs])
    return zarr.Array(zarr.AsyncArray(own, array.store_path, array.config))


def _of_version_2(codec: Any, limit: int) -> Any:
    """Return our codec in place of one of Zarr version 2; others, and none, stay as they are."""
    checked = None if codec is None else VERSION_2.get(codec.codec_id)
    if checked is None:
        return codec
    own = checked.from_config({key: value for key, value in codec.get_config().items() if key != "id"})
    own.limit = limit
    return own


def _of_version_3(codec: Any, limit: int) -> Any:
    """Return our codec in place of one of Zarr version 3, also inside shards."""
    if isinstance(codec, ShardingCodec):
        inner, index = (
            [_of_version_3(part, limit) for part in parts] for parts in (codec.codecs, codec.index_codecs)
        )
        return replace(codec, codecs=tuple(inner), index_codecs=tuple(index))
    if hasattr(codec, "codec_config"):
        # A codec of version 2 in an array of version 3: it makes the real one when it is first asked.
        codec.__dict__["_codec"] = _of_version_2(codec._codec, limit)
        return codec
    checked = VERSION_3.get(type(codec))
    return codec if checked is None else checked.from_dict(codec.to_dict())


def _limit(chunk_spec: ArraySpec) -> int:
    return largest_content(count_voxels(chunk_spec.shape))


def _unpack(function: Callable[[bytes, int], bytes], chunk_bytes: Buffer, chunk_spec: ArraySpec) -> Buffer:
    """Unpack a chunk of version 3."""
    return chunk_spec.prototype.buffer.from_bytes(function(chunk_bytes.to_bytes(), _limit(chunk_spec)))

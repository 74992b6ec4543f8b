"""Everything of a block-wise run under one URL: files, tables and arrays, in a folder or an object store.

Files appear under their names when they are complete, chunks of arrays likewise; a process that is killed
leaves nothing that looks finished.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Sequence
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import zarr
from zarr.codecs import BloscCodec
from zarr.storage import FsspecStore, LocalStore

from napari_celis.core.errors import MissingExtraError
from napari_celis.io.atomic import sibling
from napari_celis.io.durable import sync_file
from napari_celis.io.failures import reading, writing

MAX_BYTES = 2**28
"""No file of a run is larger; one that claims to be is not ours."""
PARTIAL, CHUNKS = ".partial", "c"
"""How zarr names files that it has not finished, and the folder of an array's chunks."""


def is_url(target: str) -> bool:
    """Tell an address such as `s3://bucket/run.zarr` from a path."""
    return "://" in target and not target.startswith("file://")


class RunStore:
    """The files of a run.

    Parameters
    ----------
    url : str
        A folder, or any address that fsspec knows.
    """

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")
        self.is_local = not is_url(self.url)
        if self.is_local:
            self.url = str(Path(self.url.removeprefix("file://")).absolute())

    def __reduce__(self) -> tuple[type[RunStore], tuple[str]]:
        return RunStore, (self.url,)

    @cached_property
    def _remote(self) -> tuple[Any, str]:
        """File system and path of an object store."""
        import fsspec

        try:
            # Another process may have written since somebody listed.
            return fsspec.core.url_to_fs(self.url, use_listings_cache=False)  # type: ignore[no-any-return]
        except ImportError as error:
            scheme = self.url.partition("://")[0]
            raise MissingExtraError(
                f"Addresses that begin with {scheme}:// need another package ({error}). "
                'Install it, for s3:// with pip install "napari-celis[cluster]".'
            ) from error

    def path(self, name: str) -> Path:
        """Return the path of a file in a folder."""
        return Path(self.url) / name

    # Files.

    def read(self, name: str) -> bytes | None:
        """Read a file; None if there is none."""
        with reading(f"{self.url}/{name}"):
            try:
                if self.is_local:
                    return self.path(name).read_bytes()
                system, root = self._remote
                return bytes(system.cat_file(f"{root}/{name}"))
            except FileNotFoundError:
                return None

    def write(self, name: str, content: bytes) -> None:
        """Write a file; it appears complete or not at all.

        Parameters
        ----------
        name : str
            Path below the folder of the result.
        content : bytes
            All of the file.
        """
        with writing(f"{self.url}/{name}"):
            if not self.is_local:
                system, root = self._remote
                system.pipe_file(f"{root}/{name}", content)
                return
            path = self.path(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary = sibling(path)
            try:
                temporary.write_bytes(content)
                sync_file(temporary)
                temporary.replace(path)
            finally:
                temporary.unlink(missing_ok=True)

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        if self.is_local:
            self.path(name).unlink(missing_ok=True)
            return
        system, root = self._remote
        if system.exists(f"{root}/{name}"):
            system.rm_file(f"{root}/{name}")

    def names(self, folder: str) -> list[str]:
        """List the files of a folder, in order; empty if there is none."""
        try:
            if self.is_local:
                found = os.listdir(self.path(folder))
            else:
                system, root = self._remote
                found = [one.rsplit("/", 1)[-1] for one in system.ls(f"{root}/{folder}", detail=False)]
        except FileNotFoundError:
            return []
        # Hidden ones are what somebody has not finished.
        return sorted(name for name in found if name and not name.startswith("."))

    def read_json(self, name: str) -> Any:
        """Read a JSON file; None if there is none."""
        content = self.read(name)
        with reading(f"{self.url}/{name}"):
            return None if content is None else json.loads(content)

    def write_json(self, name: str, values: Any) -> None:
        """Write a JSON file.

        Parameters
        ----------
        name : str
            Path below the folder of the result.
        values : object
            Anything that JSON can hold.
        """
        self.write(name, (json.dumps(values, indent=1) + "\n").encode())

    def clear_leftovers(self) -> None:
        """Remove what processes that were killed left of files, once nobody is working on the run.

        What they left of chunks is removed when their blocks are computed again.
        """
        if not self.is_local:
            return
        for place, folders, files in os.walk(self.url):
            if CHUNKS in folders:
                folders.remove(CHUNKS)
            for name in files:
                if name.endswith(PARTIAL) or (name.startswith(".") and name.endswith(".part")):
                    Path(place, name).unlink(missing_ok=True)

    # Tables.

    def write_table(self, name: str, columns: dict[str, np.ndarray]) -> None:
        """Write columns of equal length as Parquet; those with two axes become lists.

        Parameters
        ----------
        name : str
            Path below the folder of the result.
        columns : dict of ndarray
            The columns by name.
        """
        arrays = {key: _as_arrow(np.asarray(values)) for key, values in columns.items()}
        buffer = io.BytesIO()
        pq.write_table(pa.table(arrays), buffer, compression="zstd")
        self.write(name, buffer.getvalue())

    def read_table(self, name: str, columns: Sequence[str] | None = None) -> dict[str, np.ndarray] | None:
        """Read columns back; None if there is no such table.

        Parameters
        ----------
        name : str
            Path below the folder of the result.
        columns : sequence of str, optional
            Which columns; all by default.
        """
        content = self.read(name)
        if content is None:
            return None
        with reading(f"{self.url}/{name}"):
            table = pq.read_table(io.BytesIO(content), columns=None if columns is None else list(columns))
            return {key: _as_numpy(table.column(key)) for key in table.column_names}

    # Arrays.

    def create_array(
        self, name: str, shape: Sequence[int], chunks: Sequence[int], dtype: Any, attributes: dict[str, Any]
    ) -> None:
        """Create an array, unless it is there; no shards: two blocks must never share a file.

        Parameters
        ----------
        name : str
            Path below the folder of the result.
        shape : sequence of int
            Shape of the array.
        chunks : sequence of int
            Shape of a chunk.
        dtype : dtype-like
            Type of the values.
        attributes : dict
            Metadata to write with it.
        """
        if self.read(f"{name}/zarr.json") is not None:
            return
        with writing(f"{self.url}/{name}"):
            zarr.create_array(
                self._zarr_store(),
                name=name,
                shape=tuple(shape),
                chunks=tuple(min(c, s) for c, s in zip(chunks, shape, strict=True)),
                dtype=dtype,
                compressors=BloscCodec(cname="zstd", clevel=3, shuffle="shuffle"),
                fill_value=0,
                zarr_format=3,
                attributes=attributes,
                overwrite=True,
            )

    def array(self, name: str, *, mode: str = "r") -> Any:
        """Open an array.

        Parameters
        ----------
        name : str
            Path below the folder of the result.
        mode : str
            "r" to read, "r+" to write into it.
        """
        with reading(f"{self.url}/{name}"):
            return zarr.open_array(
                self._zarr_store(is_read_only=mode == "r"), path=name, mode=mode, zarr_format=3
            )

    def write_group(self, name: str, attributes: dict[str, Any]) -> None:
        """Write the metadata of a group.

        Parameters
        ----------
        name : str
            Path below the folder of the result.
        attributes : dict
            Its metadata.
        """
        fields = {"zarr_format": 3, "node_type": "group", "attributes": attributes}
        self.write(f"{name}/zarr.json" if name else "zarr.json", json.dumps(fields, indent=2).encode())

    def _zarr_store(self, *, is_read_only: bool = False) -> Any:
        if self.is_local:
            return LocalStore(self.url, read_only=is_read_only)
        return FsspecStore.from_url(self.url, read_only=is_read_only)


def write_box(array: Any, box: Sequence[slice], voxels: np.ndarray) -> None:
    """Write the core of a block into an array, the last three axes of which are z, y, x.

    The box must hold whole chunks: two blocks that wrote parts of one chunk would lose voxels in silence.

    Parameters
    ----------
    array : zarr.Array
        Opened for writing.
    box : sequence of slice
        Where, in voxels.
    voxels : ndarray
        What to write.
    """
    first = array.ndim - 3
    for part, chunk, size in zip(box, array.chunks[first:], array.shape[first:], strict=True):
        assert part.start % chunk == 0
        assert part.stop % chunk == 0 or part.stop == size
    with writing(str(array.store_path)):
        _clear_partials(array, box)
        array[(*(slice(None),) * first, *box)] = voxels


def _clear_partials(array: Any, box: Sequence[slice]) -> None:
    """Remove what a worker that was killed left beside the chunks of a box in a folder."""
    if not isinstance(array.store, LocalStore):
        return
    first = array.ndim - 3
    spans = [range(-(-size // chunk)) for size, chunk in zip(array.shape, array.chunks, strict=True)][:first]
    spans += [
        range(part.start // chunk, -(-part.stop // chunk))
        for part, chunk in zip(box, array.chunks[first:], strict=True)
    ]
    for position in product(*spans):
        path = array.store.root / array.path / array.metadata.encode_chunk_key(position)
        for left in path.parent.glob(f"{path.name}.*{PARTIAL}"):
            left.unlink(missing_ok=True)


def _as_arrow(values: np.ndarray) -> Any:
    if values.ndim == 1:
        return pa.array(values)
    return pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1)), values.shape[1])


def _as_numpy(column: Any) -> np.ndarray:
    column = column.combine_chunks()
    if not pa.types.is_fixed_size_list(column.type):
        values: np.ndarray = column.to_numpy(zero_copy_only=False)
        return values
    flat: np.ndarray = column.flatten().to_numpy(zero_copy_only=False)
    return flat.reshape(-1, column.type.list_size)

"""The files of a Zarr array, read only from inside its folder and only where they fit into memory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from zarr.storage import LocalStore

from napari_celis.io.confinement import require_inside, require_regular
from napari_celis.io.memory import require_memory

if TYPE_CHECKING:
    from zarr.abc.store import ByteRequest
    from zarr.core.buffer import Buffer, BufferPrototype


class ConfinedStore(LocalStore):
    """A folder for reading.

    Parameters
    ----------
    folder : Path
        Of the array.
    root : Path
        Of the volume that the array belongs to; links may not lead out of it.
    """

    def __init__(self, folder: Path, root: Path | None = None, *, read_only: bool = True) -> None:
        super().__init__(folder, read_only=read_only)
        self._home = folder if root is None else root

    def with_read_only(self, read_only: bool = True) -> ConfinedStore:
        """Make the same store again."""
        return ConfinedStore(self.root, self._home, read_only=read_only)

    async def get(
        self, key: str, prototype: BufferPrototype | None = None, byte_range: ByteRequest | None = None
    ) -> Buffer | None:
        """Look at the file, then read it."""
        self._require_readable(key)
        return await super().get(key, prototype, byte_range)

    def get_sync(
        self,
        key: str,
        *,
        prototype: BufferPrototype | None = None,
        byte_range: ByteRequest | None = None,
    ) -> Buffer | None:
        """Look at the file, then read it; newer versions of the library use this for small reads.

        Parameters
        ----------
        key : str
            Name of the chunk.
        prototype : BufferPrototype, optional
            Kind of buffer to return.
        byte_range : ByteRequest, optional
            Part of the file; all of it by default.
        """
        self._require_readable(key)
        return super().get_sync(key, prototype=prototype, byte_range=byte_range)

    def _require_readable(self, key: str) -> None:
        """Refuse links out of the volume, pipes, and files larger than memory."""
        path = self.root / key
        require_inside(path, self._home)
        require_regular(path)
        if path.is_file():
            require_memory(path.stat().st_size, str(path))

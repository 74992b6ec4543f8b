"""One driver at a time: two would give the same blocks to their workers twice."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from napari_celis.core.errors import VolumeError
from napari_celis.io.locks import locked
from napari_celis.scale.run import SETTINGS
from napari_celis.scale.settings import BlockwiseError
from napari_celis.scale.storage import RunStore


@contextmanager
def driving(store: RunStore) -> Iterator[None]:
    """Hold a run for as long as the block lasts; object stores cannot lock, there the user has to know.

    Parameters
    ----------
    store : RunStore
        Of the run.
    """
    if not store.is_local:
        yield
        return
    entered = False
    try:
        with locked(store.path(SETTINGS), patience=1.0):
            entered = True
            yield
    except VolumeError as error:
        if entered:
            raise
        raise BlockwiseError(
            f"{store.url} is being worked on by another celis blockwise. Wait for it, or look at it with "
            "--status."
        ) from error

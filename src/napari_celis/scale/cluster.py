"""Who does the work: workers of a local cluster, or of a scheduler that somebody started."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from napari_celis import __version__
from napari_celis.core.parallel import default_threads
from napari_celis.scale.settings import BlockwiseError

if TYPE_CHECKING:
    from distributed import Client

PATIENCE = 15
"""Seconds to wait for a scheduler, and for its first worker."""
LOOPBACK = "127.0.0.1"
LOGGERS = (
    "distributed",
    *(f"distributed.{part}" for part in ("client", "core", "nanny", "scheduler", "worker")),
)


@contextmanager
def connect(
    address: str | None = None, *, n_workers: int | None = None, dashboard: str = f"{LOOPBACK}:0"
) -> Iterator[Client]:
    """Connect to a scheduler, or start workers on this computer.

    Parameters
    ----------
    address : str, optional
        Of a scheduler, such as `tcp://10.0.0.1:8786`; without one, workers are started here and end with
        the block.
    n_workers : int, optional
        Workers to start; one per processor by default.
    dashboard : str
        Where a local cluster shows its dashboard; on this computer only, unless asked otherwise.

    Yields
    ------
    client : distributed.Client
    """
    from distributed import Client, LocalCluster

    # What killed workers and schedulers leave is told by the run itself, in a sentence.
    for name in LOGGERS:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    if address is not None:
        with _connected(Client, address) as client:
            require_same_versions(client, address)
            yield client
        return
    with (
        LocalCluster(
            n_workers=n_workers or default_threads(),
            threads_per_worker=1,
            processes=True,
            host=LOOPBACK,
            dashboard_address=dashboard,
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


@contextmanager
def _connected(client_class: type[Client], address: str) -> Iterator[Client]:
    try:
        client = client_class(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, TimeoutError, ValueError, RuntimeError) as error:
        raise BlockwiseError(
            f"No scheduler answers at {address}. Start one with `dask scheduler`, or leave --scheduler out "
            "to use this computer."
        ) from error
    try:
        yield client
    finally:
        client.close(timeout=5)


def _version() -> str:
    """Return the version that a worker has; runs there."""
    from napari_celis import __version__

    return __version__


def require_same_versions(client: Client, address: str) -> None:
    """Refuse workers with other packages than ours, and a scheduler without workers.

    Parameters
    ----------
    client : distributed.Client
        Connected.
    address : str
        What the user gave.
    """
    try:
        client.wait_for_workers(1, timeout=PATIENCE)
    except TimeoutError as error:
        raise BlockwiseError(
            f"The scheduler at {address} has no workers. Start some: dask worker {address} --nthreads 1"
        ) from error
    try:
        found = client.run(_version)
    except Exception as error:
        raise BlockwiseError(
            f"A worker of {address} cannot use napari-celis ({error}). Install napari-celis[cluster] there."
        ) from error
    for worker, version in found.items():
        if version != __version__:
            raise BlockwiseError(
                f"The worker {worker} has napari-celis {version}, this computer has {__version__}. "
                "Install the same version everywhere."
            )
    try:
        client.get_versions(check=True)
    except ValueError as error:
        lines = [line.strip() for line in str(error).splitlines() if "|" in line]
        packages = sorted({line.split("|")[1].strip() for line in lines[1:]} - {"", "Package"})
        raise BlockwiseError(
            f"Workers of {address} have other versions of {', '.join(packages) or 'some packages'} than this "
            "computer. Install the same ones everywhere."
        ) from error

"""What a block-wise run is worth when workers, its driver or the scheduler are killed, at any moment.

The command is given again until it ends well. Its result must be that of a run that nobody disturbed, and no
block may be computed again that was finished before.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import numpy as np
import psutil

from napari_celis.core.errors import CelisError

Victim = Literal["worker", "driver", "scheduler"]
PATIENCE = 240.0
"""Seconds that one attempt may take."""
DONE = Path("celis", "done")


def done_flags(output: Path) -> dict[str, tuple[bytes, int]]:
    """Read what every finished block noted, and when."""
    found = {}
    for path in (output / DONE).glob("*/*.json"):
        with suppress(FileNotFoundError):
            found[str(path.relative_to(output / DONE))] = path.read_bytes(), path.stat().st_mtime_ns
    return found


@dataclass
class Disturbed:
    """One output that was made in spite of kills."""

    output: Path
    kills: list[Victim] = field(default_factory=list)
    """Those that happened."""
    attempts: int = 0
    seen: dict[str, tuple[bytes, int]] = field(default_factory=dict)
    """Blocks that were finished when somebody was killed."""
    said: list[str] = field(default_factory=list)
    """What the command said on attempts that failed."""

    @property
    def computed_twice(self) -> int:
        """Count the blocks that were finished and are noted anew."""
        now = done_flags(self.output)
        return sum(now.get(name) != noted for name, noted in self.seen.items())


class Cluster:
    """A scheduler and two workers, each a process that was started here.

    Parameters
    ----------
    folder : Path
        Where workers put their files.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            self.port = one.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{self.port}"
        self.scheduler: subprocess.Popen[bytes] | None = None
        self.workers: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        """Start whatever does not run."""
        if self.scheduler is None or self.scheduler.poll() is not None:
            self.stop()
            self.scheduler = self._dask(
                "scheduler", "--host", "127.0.0.1", "--port", str(self.port), "--no-dashboard"
            )
        alive = [worker for worker in self.workers if worker.poll() is None]
        while len(alive) < 2:
            alive.append(
                self._dask(
                    *("worker", self.address, "--nthreads", "1", "--no-nanny", "--no-dashboard"),
                    *("--host", "127.0.0.1", "--local-directory", str(self._folder), "--death-timeout", "60"),
                )
            )
        self.workers = alive

    def stop(self) -> None:
        """End all processes that were started."""
        for one in [*self.workers, *([self.scheduler] if self.scheduler else [])]:
            one.kill()
            one.wait()
        self.workers, self.scheduler = [], None

    def _dask(self, *arguments: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "dask", *arguments],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=quiet_environment(),
        )


@contextmanager
def own_cluster(folder: Path) -> Iterator[Cluster]:
    """Start a scheduler and two workers, and end them with the block.

    Parameters
    ----------
    folder : Path
        Where workers put their files.
    """
    cluster = Cluster(folder)
    cluster.start()
    try:
        yield cluster
    finally:
        cluster.stop()


def quiet_environment() -> dict[str, str]:
    """Return the environment of processes that share one computer: one thread each."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
    return {**os.environ, **threads, "PYTHONUNBUFFERED": "1"}


def start_command(arguments: Sequence[str]) -> subprocess.Popen[bytes]:
    """Start `celis blockwise` in a process of its own.

    Parameters
    ----------
    arguments : sequence of str
        Its options.
    """
    return subprocess.Popen(
        [sys.executable, "-m", "napari_celis", "blockwise", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=quiet_environment(),
    )


def disturb(
    arguments: Sequence[str],
    output: Path,
    victims: Sequence[Victim],
    rng: np.random.Generator,
    *,
    cluster: Cluster | None = None,
    most_blocks: int = 8,
) -> Disturbed:
    """Give a command again and again, killing processes, until it ends well.

    Parameters
    ----------
    arguments : sequence of str
        Options of `celis blockwise`, without scheduler and workers.
    output : Path
        What it writes.
    victims : sequence of {"worker", "driver", "scheduler"}
        Whom to kill, in this order; what is left when the run is done was not needed.
    rng : numpy.random.Generator
        Chooses the moments.
    cluster : Cluster, optional
        Who computes; two workers that the command starts by default.
    most_blocks : int
        Blocks that may be finished between two kills.
    """
    done, left = Disturbed(output), list(victims)
    where = ["--workers", "2"] if cluster is None else ["--scheduler", cluster.address]
    while True:
        if cluster is not None:
            cluster.start()
        driver = start_command([*arguments, *where])
        done.attempts += 1
        try:
            while left and _wait_for_blocks(driver, output, int(rng.integers(1, most_blocks + 1)), rng):
                if not _kill(left[0], driver, cluster, rng):
                    continue
                done.kills.append(left.pop(0))
                done.seen |= {name: one for name, one in done_flags(output).items() if name not in done.seen}
                if done.kills[-1] != "worker":
                    break
                if cluster is not None:
                    cluster.start()
            said = driver.communicate(timeout=PATIENCE)[0].decode()
        finally:
            _end(driver)
        if driver.returncode == 0:
            return done
        done.said.append(said)
        if done.attempts > len(victims) + 3:
            raise CelisError(f"A block-wise run did not end after {done.attempts} attempts:\n{said}")


def workers_of(driver: subprocess.Popen[bytes]) -> list[int]:
    """List the processes of the workers that a driver started."""
    with suppress(psutil.NoSuchProcess):
        children = psutil.Process(driver.pid).children(recursive=True)
        return [child.pid for child in children if _is_worker(child)]
    return []


def _is_worker(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
        return any("spawn_main" in part for part in process.cmdline())
    return False


def _wait_for_blocks(
    driver: subprocess.Popen[bytes], output: Path, n_more: int, rng: np.random.Generator
) -> bool:
    """Wait until some more blocks are finished and a moment longer; False if the driver ends before."""
    wanted, end = len(done_flags(output)) + n_more, time.monotonic() + PATIENCE
    while len(done_flags(output)) < wanted:
        if driver.poll() is not None or time.monotonic() > end:
            return False
        time.sleep(0.02)
    time.sleep(float(rng.uniform(0, 0.2)))
    return driver.poll() is None


def _kill(
    victim: Victim, driver: subprocess.Popen[bytes], cluster: Cluster | None, rng: np.random.Generator
) -> bool:
    """Kill one process; False if there is none just now."""
    if victim == "driver":
        driver.kill()
        return True
    if victim == "scheduler":
        assert cluster is not None
        assert cluster.scheduler is not None
        cluster.scheduler.kill()
        return True
    if cluster is not None:
        cluster.workers[int(rng.integers(len(cluster.workers)))].kill()
        return True
    found = workers_of(driver)
    if not found:
        return False
    with suppress(psutil.NoSuchProcess):
        psutil.Process(found[int(rng.integers(len(found)))]).kill()
        return True
    return False


def _end(driver: subprocess.Popen[bytes]) -> None:
    """End a driver and its workers, whatever happened to it."""
    left = workers_of(driver)
    if driver.poll() is None:
        driver.kill()
    driver.wait()
    for pid in left:
        with suppress(psutil.NoSuchProcess):
            psutil.Process(pid).kill()


def measure_kills(data: Any, n_kills: int = 30, minutes: float = 25.0) -> dict[str, float]:
    """Kill workers, drivers and schedulers of runs on a part of the bundled phantom.

    Parameters
    ----------
    data : object
        Not used; all measures of `celis bench` take their data.
    n_kills : int
        Kills in all; runs begin anew until there were so many.
    minutes : float
        After this no new run begins.

    Returns
    -------
    figures : dict
        `blockwise_kills`, and by it `blockwise_differing_voxels` and `blockwise_computed_twice`.
    """
    end, rng = time.monotonic() + 60 * minutes, np.random.default_rng(0)
    kills = differing = twice = attempts = 0
    with TemporaryDirectory() as name:
        folder = Path(name)
        arguments = _phantom_arguments(folder)
        whole = folder / "whole.zarr"
        disturb([*arguments, "--output", str(whole)], whole, (), rng)
        wanted = _labels_of(whole)
        with own_cluster(folder) as cluster:
            turn = 0
            while kills < n_kills and time.monotonic() < end:
                output = folder / f"run{turn}.zarr"
                # By turns workers of the command itself, and those of a scheduler.
                mixed = ["worker", "driver", "worker", "worker", "driver", "worker"]
                own: list[Victim] = ["scheduler" if one == "driver" and turn % 2 else one for one in mixed]  # type: ignore[misc]
                done = disturb(
                    [*arguments, "--output", str(output)],
                    output,
                    own,
                    rng,
                    cluster=cluster if turn % 2 else None,
                )
                kills, attempts, turn = kills + len(done.kills), attempts + done.attempts, turn + 1
                differing += int(np.count_nonzero(_labels_of(output) != wanted))
                twice += done.computed_twice
    return {
        "blockwise_kills": float(kills),
        "blockwise_attempts": float(attempts),
        "blockwise_differing_voxels": float(differing),
        "blockwise_computed_twice": float(twice),
    }


def _labels_of(output: Path) -> np.ndarray:
    """Read a finished segmentation."""
    import zarr

    return np.asarray(zarr.open_array(str(output / "0"), mode="r")[...])


def _phantom_arguments(folder: Path) -> list[str]:
    """Write a part of the bundled phantom, and a model whose supervoxels need narrow halos only."""
    from napari_celis.core.seeded_watershed import SeededSettings
    from napari_celis.core.volume import Volume
    from napari_celis.io.samples import bundled_models, sample_volumes
    from napari_celis.io.volumes import write_volume
    from napari_celis.models.model_file import load_model, save_model

    image = sample_volumes()["image"]
    part = Volume(np.asarray(image.data[:32, :48, :96]), image.voxel_size_nm, name="part")
    write_volume(part, folder / "image.zarr", kind="image")
    model = load_model(bundled_models()["phantom"])
    seeds = SeededSettings(reach_nm=60.0, smoothing_nm=10.0, separation_nm=10.0, smallest_nm=50.0)
    path = save_model(replace(model, supervoxels=seeds, n_symmetries=1), folder / "model.safetensors")
    return [
        *("--image", str(folder / "image.zarr"), "--model", str(path)),
        *("--block", "32", "24", "16", "--halo", "12", "12", "12"),
    ]

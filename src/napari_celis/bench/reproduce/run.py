"""Go through the sections, keep the numbers of each in a folder, and go on there another time."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from napari_celis import __version__
from napari_celis.bench.reproduce.experiment import Experiment
from napari_celis.bench.reproduce.page import write_page
from napari_celis.bench.reproduce.section import Numbers, Section
from napari_celis.core.errors import CelisError, VolumeError
from napari_celis.io.atomic import atomic_file
from napari_celis.io.locks import locked
from napari_celis.pipeline.stages import Report, silent

SETTINGS, NUMBERS, REPORT, KEPT = "settings.json", "numbers.json", "report.html", "sections"
LIBRARIES = ("numpy", "scipy", "numba", "torch", "scikit-learn")


class ReproduceError(CelisError):
    """A folder cannot be used, or what is in it does not fit."""


@dataclass(frozen=True)
class Settings:
    """What numbers depend on: a folder goes on only with the same."""

    volumes: Mapping[str, str]
    """Names of volumes and model as they were given, for the reader."""
    digest: str
    """Of their content and of all other settings."""

    def to_json(self) -> dict[str, Any]:
        """Return plain text, with the version that measures."""
        return {"volumes": dict(self.volumes), "digest": self.digest, "version": __version__}


def environment() -> dict[str, str]:
    """Name the versions and the machine that numbers come from."""
    found = {"napari-celis": __version__, "Python": platform.python_version()}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    found["system"] = f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors"
    return found


class Results:
    """The folder of a report: numbers of every finished section, all numbers together, and the page.

    Parameters
    ----------
    folder : Path
        Made when the first section is kept.
    settings : Settings
        What the numbers depend on.
    """

    def __init__(self, folder: Path, settings: Settings) -> None:
        self.folder, self._settings = folder, settings

    @contextmanager
    def opened(self, *, restart: bool = False) -> Iterator[None]:
        """Hold the folder for as long as the block lasts; refuse one that holds something else.

        Parameters
        ----------
        restart : bool
            Delete earlier numbers instead of going on from them.
        """
        require_own(self.folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        entered = False
        try:
            with locked(self.folder / SETTINGS, patience=1.0):
                entered = True
                self._begin(restart=restart)
                yield
        except VolumeError as error:
            if entered:
                raise
            raise ReproduceError(
                f"{self.folder} is being worked on by another celis reproduce. Wait for it, or choose "
                "another folder."
            ) from error

    def _begin(self, *, restart: bool) -> None:
        """Begin a folder, or make sure that it was begun with the same settings."""
        path = self.folder / SETTINGS
        if restart:
            self._clear()
        if path.exists():
            before = _read(path)
            if before != self._settings.to_json():
                raise ReproduceError(
                    f"{self.folder} was begun with other volumes, another model, other settings or another "
                    "version. Give those again, choose another folder with -o, or start again with "
                    "--restart."
                )
        else:
            _write(path, self._settings.to_json())
        (self.folder / KEPT).mkdir(exist_ok=True)

    def _clear(self) -> None:
        """Delete what an earlier run wrote, and nothing else."""
        for path in (
            *(self.folder / KEPT).glob("*.json"),
            *map(self.folder.joinpath, (REPORT, NUMBERS, SETTINGS)),
        ):
            path.unlink(missing_ok=True)

    def load(self, section: Section) -> dict[str, Any] | None:
        """Return what was kept of a section: its `numbers` and the time that they took; None if nothing."""
        path = self._path(section)
        return _read(path) if path.exists() else None

    def keep(self, section: Section, numbers: Numbers, took: Mapping[str, float]) -> None:
        """Keep the numbers of a section.

        Parameters
        ----------
        section : Section
            Which.
        numbers : dict
            What it measured.
        took : mapping
            Seconds of the clock and of the processor.
        """
        _write(self._path(section), {"numbers": numbers, "took": dict(took)})

    def write(self, sections: Sequence[Section], command: str) -> None:
        """Write all numbers that there are, and the page about them.

        Parameters
        ----------
        sections : sequence of Section
            In the order of the page.
        command : str
            As it was given.
        """
        kept = {section.name: found for section in sections if (found := self.load(section)) is not None}
        about = {**self._settings.to_json(), "command": command, "environment": environment()}
        _write(self.folder / NUMBERS, {"about": about, "sections": kept})
        with atomic_file(self.folder / REPORT) as temporary:
            temporary.write_text(write_page(about, kept, sections), encoding="utf-8")

    def _path(self, section: Section) -> Path:
        return self.folder / KEPT / f"{section.name}.json"


def require_own(folder: Path) -> None:
    """Refuse a folder that holds anything but an earlier report."""
    if folder.is_dir() and any(folder.iterdir()) and not (folder / SETTINGS).is_file():
        raise ReproduceError(
            f"{folder} exists and holds something else than a report. Choose another folder with -o."
        )


def reproduce(
    experiment: Experiment, results: Results, sections: Sequence[Section], report: Report = silent
) -> None:
    """Measure the sections of which no numbers are kept yet.

    Parameters
    ----------
    experiment : Experiment
        Volumes and model.
    results : Results
        Where numbers are kept, opened.
    sections : sequence of Section
        What to measure.
    report : callable
        Called as `report(stage, share)`.
    """
    for section in sections:
        if results.load(section) is not None:
            continue
        begin = time.perf_counter(), time.process_time()

        def tell(stage: str, share: float, title: str = section.title) -> None:
            report(f"{title}: {stage}", share)

        numbers = section.measure(experiment, tell)
        took = {
            "seconds": time.perf_counter() - begin[0],
            "processor_seconds": time.process_time() - begin[1],
        }
        results.keep(section, numbers, took)


def _read(path: Path) -> dict[str, Any]:
    """Read a file that `_write` wrote."""
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ReproduceError(
            f"{path} is damaged ({error}). Delete it, or start again with --restart."
        ) from error
    return found


def _write(path: Path, values: Mapping[str, Any]) -> None:
    """Write JSON under a temporary name, then rename."""
    with atomic_file(path) as temporary:
        temporary.write_text(json.dumps(values, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")

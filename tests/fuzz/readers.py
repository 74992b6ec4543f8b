"""The readers that strangers' files go to, each as a function of bytes that may raise `CelisError` alone."""

from __future__ import annotations

import json
import shutil
import sqlite3
import struct
import tempfile
from contextlib import closing, suppress
from functools import cache
from pathlib import Path

from napari_celis.core.errors import CelisError
from napari_celis.io import memory
from napari_celis.io.session.file import Session
from napari_celis.io.session.json_lines import read_json_lines
from napari_celis.io.session.kept_arrays import KeptArrays
from napari_celis.io.volumes import list_datasets, open_volume, read_image, read_labels
from napari_celis.models.model_file import KEY, load_model

FILES = Path(__file__).parents[1] / "io" / "session_files"
MEMORY_BYTES = 2**26
"""What the process is told to have free: sizes must be judged by this, before the system runs out."""
LAYOUTS = (
    "x.npy", "x.npz", "x.tif", "x.h5", "x.zarr/zarr.json", "x.zarr/.zarray", "x.n5/attributes.json",
    "x.precomputed/info", "sections/s0.png",
)  # fmt: skip
"""What the first byte of an input chooses among: where its bytes lie."""
SESSIONS = ("session", "json lines", "kept arrays", "values")
MODELS = ("file", "words")
CELLS = (
    "UPDATE head SET value = ?", "UPDATE head SET key = ? WHERE key = 'created'",
    "UPDATE settings SET value = ?", "UPDATE volumes SET shape = ?",
    "UPDATE volumes SET role = ? WHERE role = 'image'", "UPDATE volumes SET path = ?",
    "UPDATE events SET event = ?", "UPDATE events SET kind = ?", "UPDATE events SET u_id = ?",
    "UPDATE events SET score = ?", "UPDATE events SET time = ?", "UPDATE events SET who = ?",
    "UPDATE events SET n_segments = ?", "UPDATE segments SET name = ?", "UPDATE questions SET answer = ?",
    "UPDATE events SET number = number + ?",
)  # fmt: skip
"""What a stranger may have written into a session whose tables are in order."""
EXPECTED = {"u": ((None,), "<i4"), "centroid": ((None, 3), "<f8"), "taken": ((None,), "|b1")}


def _check(error: CelisError) -> None:
    assert str(error), "no sentence"
    assert "\n" not in str(error), f"several lines: {error}"


def read_session(data: bytes, folder: Path) -> None:
    """Open a session, an old list of decisions, or arrays kept beside one."""
    kind, data = SESSIONS[data[0] % len(SESSIONS)] if data else SESSIONS[0], data[1:]
    if kind == "kept arrays":
        (folder / "contacts-key.npz").write_bytes(data)
        found = KeptArrays(folder).load("contacts", "key", EXPECTED)
        assert found is None or set(found) == set(EXPECTED)
        return
    path = folder / "x.celis"
    if kind == "values":
        _write_values(path, data)
    else:
        path.write_bytes(data)
    try:
        if kind == "json lines":
            read_json_lines(path)
            return
        with Session.open(path, read_only=True) as session:
            session.problems()
            assert session.head.volume("supervoxels") is not None
    except CelisError as error:
        _check(error)


def _write_values(path: Path, data: bytes) -> None:
    """Write a value into a cell of a whole session; the first byte says which."""
    shutil.copy(FILES / "version1.celis", path)
    text = data[1:].decode("utf-8", "replace")
    value: object = text
    with suppress(ValueError):
        value = int(text)
    with (
        closing(sqlite3.connect(path, isolation_level=None)) as connection,
        suppress(sqlite3.Error, OverflowError),
    ):
        connection.execute(CELLS[data[0] % len(CELLS)] if data else CELLS[0], (value,))


def read_model(data: bytes, folder: Path) -> None:
    """Load a model: any bytes, or any words about networks that are there."""
    kind, data = MODELS[data[0] % len(MODELS)] if data else MODELS[0], data[1:]
    path = folder / "x.safetensors"
    path.write_bytes(_with_words(data) if kind == "words" else data)
    try:
        load_model(path)
    except CelisError as error:
        _check(error)


@cache
def _small_model() -> tuple[dict[str, object], bytes]:
    """Return header and weights of a model in the corpus."""
    data = (Path(__file__).parent / "corpus" / "model" / "small").read_bytes()[1:]
    (length,) = struct.unpack("<Q", data[:8])
    header: dict[str, object] = json.loads(data[8 : 8 + length])
    return header, data[8 + length :]


def _with_words(words: bytes) -> bytes:
    header, weights = _small_model()
    metadata = {KEY: words.decode("utf-8", "replace")}
    text = json.dumps({**header, "__metadata__": metadata}).encode()
    return struct.pack("<Q", len(text)) + text + weights


def read_volume(data: bytes, folder: Path) -> None:
    """List, open and read a volume of some format."""
    layout, data = LAYOUTS[data[0] % len(LAYOUTS)] if data else LAYOUTS[0], data[1:]
    path = folder / layout
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    target = path if path.parent == folder else path.parent
    for work in (
        list_datasets,
        lambda name: read_image(open_volume(name)),
        lambda name: read_labels(open_volume(name)),
    ):
        try:
            work(str(target))
        except CelisError as error:
            _check(error)


READERS = {"session": read_session, "model": read_model, "volume": read_volume}


def read_bytes(reader: str, data: bytes) -> None:
    """Give bytes to a reader, in a folder of their own."""
    place = "/dev/shm" if Path("/dev/shm").is_dir() else None
    folder = Path(tempfile.mkdtemp(dir=place))
    known, memory.available_bytes = memory.available_bytes, lambda: MEMORY_BYTES
    try:
        READERS[reader](data, folder)
    finally:
        memory.available_bytes = known
        shutil.rmtree(folder, ignore_errors=True)

"""Writers that are killed, that meet, or that lose their power."""

import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import torch
from numpy.testing import assert_array_equal

from napari_celis.cli.options import write_json
from napari_celis.core.errors import VolumeError
from napari_celis.core.volume import Volume
from napari_celis.io import atomic, durable
from napari_celis.io.locks import locked
from napari_celis.io.volumes import list_datasets, open_volume, write_volume
from napari_celis.models.tensor_file import write_tensors

OLD, NEW = (np.full((4, 5, 6), value, np.uint8) for value in (1, 2))
WRITE = "from napari_celis.core.volume import Volume; from napari_celis.io.volumes import write_volume; "


def run(program, *arguments):
    return subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def test_writers_of_one_hdf5_file_wait_for_each_other(tmp_path):
    """Each of them copies the file, adds its dataset and puts the copy in place."""
    program = (
        "import sys, time, numpy as np; " + WRITE + "target, moment = sys.argv[1:]; "
        "time.sleep(max(0, float(moment) - time.time())); "
        "write_volume(Volume(np.full((60, 80, 80), 3, np.uint8)), target, kind='image')"
    )
    moment = time.time() + 5
    writers = [run(program, f"{tmp_path / 'o.h5'}:d{number}", moment) for number in range(4)]
    assert [writer.wait(timeout=60) for writer in writers] == [0] * 4
    for writer in writers:
        writer.stdout.close()
        writer.stderr.close()
    assert [info.name for info in list_datasets(tmp_path / "o.h5")] == ["d0", "d1", "d2", "d3"]
    assert [entry.name for entry in tmp_path.iterdir()] == ["o.h5"]


def test_threads_that_write_one_hdf5_file(tmp_path):
    threads = [
        threading.Thread(
            target=write_volume,
            args=(Volume(OLD), f"{tmp_path / 'o.h5'}:d{number}"),
            kwargs={"kind": "image"},
        )
        for number in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(list_datasets(tmp_path / "o.h5")) == 6


def test_a_lock_ends_with_its_process_and_patience_ends_too(tmp_path):
    program = (
        "import sys, time; from pathlib import Path; from napari_celis.io.locks import locked\n"
        "with locked(Path(sys.argv[1])):\n    print('held', flush=True); time.sleep(600)"
    )
    holder = run(program, tmp_path / "o.h5")
    assert holder.stdout.readline() == b"held\n"
    with (
        pytest.raises(VolumeError, match=r"o\.h5 is being written by another program"),
        locked(tmp_path / "o.h5", patience=0.2),
    ):
        pass
    holder.kill()
    holder.wait()
    holder.stdout.close()
    holder.stderr.close()
    with locked(tmp_path / "o.h5", patience=5):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_lock_that_was_removed_is_taken_anew(tmp_path):
    """Whoever waited for a lock that is gone must not believe that he has it."""
    order = []

    def work(number):
        with locked(tmp_path / "o.h5", patience=60):
            order.append(number)
            time.sleep(0.02)
            order.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert order[::2] == order[1::2]
    assert sorted(order[::2]) == list(range(8))


@pytest.mark.parametrize("can_exchange", [True, False])
@pytest.mark.parametrize("name", ["v.zarr", "v.precomputed"])
def test_folders_are_replaced(tmp_path, name, can_exchange, monkeypatch):
    if not can_exchange:
        monkeypatch.setattr(atomic, "exchange", lambda a, b: False)
    for voxels in (OLD, NEW):
        write_volume(Volume(voxels), tmp_path / name, kind="image")
    assert_array_equal(open_volume(tmp_path / name).read(), NEW)
    assert [entry.name for entry in tmp_path.iterdir()] == [name]


@pytest.mark.skipif(sys.platform not in ("linux", "darwin"), reason="the system cannot exchange folders")
def test_the_name_is_never_gone(tmp_path, monkeypatch):
    """The old folder must not be renamed before the new one is there."""
    write_volume(Volume(OLD), tmp_path / "v.zarr", kind="image")
    monkeypatch.setattr("pathlib.Path.rename", None)
    write_volume(Volume(NEW), tmp_path / "v.zarr", kind="image")
    assert_array_equal(open_volume(tmp_path / "v.zarr").read(), NEW)


def test_a_disk_that_cannot_exchange_folders(tmp_path, monkeypatch):
    (tmp_path / "a").mkdir()
    with pytest.raises(FileNotFoundError):
        durable.exchange(tmp_path / "a", tmp_path / "b")
    monkeypatch.setattr(durable, "_rename_function", lambda: None)
    assert not durable.exchange(tmp_path / "a", tmp_path / "b")


KILLED = """
import os, signal, sys
from pathlib import Path
import numpy as np
from napari_celis.core.volume import Volume
from napari_celis.io import atomic
from napari_celis.io.volumes import write_volume
place, point = sys.argv[1:]
rename = Path.rename
def renamed(self, target):
    if point == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    rename(self, target)
    os.kill(os.getpid(), signal.SIGKILL)
atomic.exchange = lambda a, b: False
Path.rename = renamed
write_volume(Volume(np.full((4, 5, 6), 2, np.uint8)), place, kind="image")
"""


@pytest.mark.parametrize("point", ["before", "between"])
@pytest.mark.parametrize("name", ["v.zarr", "v.precomputed"])
def test_a_kill_between_two_renames(tmp_path, name, point):
    write_volume(Volume(OLD), tmp_path / name, kind="image")
    process = run(KILLED, tmp_path / name, point)
    assert process.wait() == -9
    process.stdout.close()
    process.stderr.close()
    assert (tmp_path / name).exists() == (point == "before")
    assert len(list(tmp_path.iterdir())) == 2
    assert_array_equal(open_volume(tmp_path / name).read(), OLD)
    write_volume(Volume(NEW), tmp_path / name, kind="image")
    assert_array_equal(open_volume(tmp_path / name).read(), NEW)
    assert [entry.name for entry in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", ["v.zarr", "v.h5", "v.npy"])
def test_kills_at_random_moments(tmp_path, name):
    """Whatever has the final name is one complete volume."""
    program = (
        "import sys, numpy as np; " + WRITE + "print('now', flush=True)\n"
        "for value in range(10_000):\n"
        "    write_volume(Volume(np.full((40, 80, 80), value % 200, np.uint8)), sys.argv[1], kind='image')"
    )
    write_volume(Volume(np.full((40, 80, 80), 7, np.uint8)), tmp_path / name, kind="image")
    rng = np.random.default_rng(0)
    for _ in range(3):
        process = run(program, tmp_path / name)
        process.stdout.readline()
        time.sleep(rng.uniform(0.1, 0.6))
        process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()
        voxels = open_volume(tmp_path / name).read()
        assert voxels.min() == voxels.max()
    write_volume(Volume(OLD), tmp_path / name, kind="image")
    assert [entry.name for entry in tmp_path.iterdir()] == [name]


def test_leftovers_of_the_living_and_of_other_computers_stay(tmp_path):
    (tmp_path / f".v.npy.{atomic.HOST}-{os.getpid()}-0123abcd.part").touch()
    (tmp_path / ".v.npy.ffffff-999999-0123abcd.part").touch()
    (tmp_path / f".v.npy.{atomic.HOST}-999999999-0123abcd.part").touch()
    (tmp_path / f".w.npy.{atomic.HOST}-999999999-0123abcd.part").touch()
    write_volume(Volume(OLD), tmp_path / "v.npy", kind="image")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == sorted(
        [
            f".v.npy.{atomic.HOST}-{os.getpid()}-0123abcd.part",
            ".v.npy.ffffff-999999-0123abcd.part",
            f".w.npy.{atomic.HOST}-999999999-0123abcd.part",
            "v.npy",
        ]
    )


def test_unfinished_volumes_in_a_group_are_not_listed(tmp_path):
    write_volume(Volume(OLD), f"{tmp_path / 'v.zarr'}:a", kind="image")
    write_volume(Volume(OLD), f"{tmp_path / 'v.zarr'}:.b.0123.part", kind="image")
    assert [info.name for info in list_datasets(tmp_path / "v.zarr")] == ["a"]


@pytest.fixture
def synced(monkeypatch):
    """Collect what is brought to the disk, and whether it had its final name by then."""
    found, original = {}, os.fsync

    def fsync(handle):
        state = os.fstat(handle)
        found.setdefault((state.st_dev, state.st_ino), len(found))
        original(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    return found


def identity(path):
    return path.stat().st_dev, path.stat().st_ino


@pytest.mark.parametrize("name", ["m.safetensors", "f.json", "v.npy", "v.h5", "v.zarr"])
def test_content_reaches_the_disk_before_the_name(tmp_path, name, synced):
    path = tmp_path / name
    if name == "m.safetensors":
        write_tensors(path, {"a": torch.zeros(3)}, {})
    elif name == "f.json":
        write_json(path, {"a": 1})
    else:
        write_volume(Volume(OLD), path, kind="image")
    files = [file for file in (path, *path.rglob("*")) if file.is_file()]
    assert files
    assert all(synced[identity(file)] < synced[identity(tmp_path)] for file in files)


def test_many_files_are_synced_at_once(tmp_path, synced):
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(durable.MANY_FILES):
        (folder / str(number)).touch()
    durable.sync_tree(folder)
    assert bool(synced) == (not sys.platform.startswith("linux"))

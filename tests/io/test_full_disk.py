"""A disk without room: one sentence, nothing left under any name, and a process that lives on."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from napari_celis.core.errors import VolumeError
from napari_celis.core.volume import Volume
from napari_celis.io.volumes import write_volume

PROGRAM = """
import json, resource, sys, threading
import numpy as np
from napari_celis.core.errors import CelisError
from napari_celis.core.volume import Volume
from napari_celis.io.affinities import Affinities, write_affinities
from napari_celis.io.volumes import write_volume

target, kind = sys.argv[1:]
noise = np.random.default_rng(0).integers(0, 255, (3, 32, 64, 64), dtype=np.uint8)
said = []

def write():
    try:
        if kind == "affinities":
            write_affinities(Affinities(noise), target)
        else:
            write_volume(Volume(noise[0]), target, kind=kind)
    except CelisError as error:
        said.append(str(error))

write()
resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000))
assert not said
for _ in range(2):
    thread = threading.Thread(target=write)
    thread.start()
    thread.join()
write()
import gc
gc.collect()
print(json.dumps(said))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit to the size of files")
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("v.h5", "image"),
        ("v.h5", "affinities"),
        ("v.zarr", "image"),
        ("v.zarr", "affinities"),
        ("v.tif", "image"),
        ("v.npy", "image"),
        ("v.precomputed", "image"),
    ],
)
def test_a_full_disk(tmp_path, name, kind):
    """HDF5 would end the process, a moment after the sentence."""
    first = tmp_path / "disk"
    first.mkdir()
    process = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(first / name), kind], capture_output=True, text=True, check=False
    )
    assert process.returncode == 0, process.stderr
    said = json.loads(process.stdout)
    assert len(said) == 3
    for sentence in said:
        assert f"{name} could not be written: " in sentence
        assert "Free some space or write somewhere else." in sentence
    assert [entry.name for entry in first.iterdir()] == [name]


@pytest.mark.skipif(not Path("/sys/kernel").is_dir(), reason="needs a folder that nobody may write to")
@pytest.mark.parametrize("name", ["v.h5", "v.npy", "v.tif", "v.zarr", "v.precomputed"])
def test_a_folder_that_nobody_may_write_to(name):
    """An HDF5 file was called damaged there."""
    with pytest.raises(VolumeError, match=r"could not be written: .*Check the folder's access rights"):
        write_volume(Volume(np.ones((3, 4, 5), np.uint8)), f"/sys/kernel/{name}", kind="image")

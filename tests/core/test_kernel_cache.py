"""A cache of compiled code that is full, damaged or not there costs time, and nothing else."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import resource, sys
import numpy as np
if sys.argv[1] == "full":
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
from napari_celis.evaluation.contingency import contingency_table
from napari_celis.core.supervoxels import Supervoxels
labels = np.arange(64).reshape(4, 4, 4) // 8 + 1
assert contingency_table(labels, labels).n_voxels == 64
assert Supervoxels.from_labels(labels.astype(np.uint64)).n == 8
"""

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a limit to the size of files")


def run(cache, how="whole"):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    environment.pop("NUMBA_DISABLE_JIT", None)
    process = subprocess.run(
        [sys.executable, "-c", PROGRAM, how], capture_output=True, text=True, check=False, env=environment
    )
    assert process.returncode == 0, process.stderr
    return process.stderr


def test_a_full_disk_and_damaged_files_under_the_cache(tmp_path):
    said = run(tmp_path / "full", "full")
    assert f"Compiled code cannot be kept in {tmp_path / 'full'}" in said
    assert "NUMBA_CACHE_DIR" in said
    assert not [path for path in (tmp_path / "full").rglob("*") if path.is_file()]

    assert run(tmp_path / "kept") == ""
    kept = {path: path.read_bytes() for path in (tmp_path / "kept").rglob("*.nb?")}
    assert kept
    for suffix, share in ((".nbi", 0.0), (".nbi", 0.5), (".nbc", 0.0), (".nbc", 0.9)):
        for path, content in kept.items():
            path.write_bytes(content[: int(share * len(content))] if path.suffix == suffix else content)
        said = run(tmp_path / "kept")
        assert f"Compiled code in {tmp_path / 'kept'}" in said, (suffix, share)
        assert "is damaged" in said
        assert run(tmp_path / "kept") == ""


def test_no_folder_for_the_cache(tmp_path, monkeypatch):
    """A home that nobody may write to."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("NUMBA_CACHE_LOCATOR_CLASSES", "UserProvidedCacheLocator")
    assert "There is no folder to keep compiled code in" in run(tmp_path / "file" / "cache")

"""Damaged files: a volume or one sentence, never a traceback, a crash, a hang or noise on stderr."""

import os
from concurrent.futures import ThreadPoolExecutor

import fuzz_worker
import pytest
from volume_samples import FORMATS

N_FILES = 2000


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Start all formats, as many at a time as there are processors."""
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        folders = {name: tmp_path_factory.mktemp(name) for name in FORMATS}
        yield {
            name: pool.submit(fuzz_worker.run, name, 0, N_FILES, folder) for name, folder in folders.items()
        }


@pytest.mark.parametrize("format_name", FORMATS)
def test_damaged_files(runs, format_name):
    outcomes, failures = runs[format_name].result()
    assert not failures, "\n".join(failures[:10])
    assert outcomes["read"] + outcomes["refused"] == N_FILES
    assert outcomes["refused"] > N_FILES // 4

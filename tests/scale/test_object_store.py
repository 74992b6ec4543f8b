"""Volumes and runs in object stores: s3:// on a server of our own, and a store in memory."""

import os
import subprocess
import sys

import numpy as np
import pytest
import zarr
from numpy.testing import assert_array_equal
from typer.testing import CliRunner

from napari_celis.cli import app
from napari_celis.io.volumes import open_volume
from napari_celis.scale.lock import driving
from napari_celis.scale.run import BlockRun
from napari_celis.scale.runner import run_stages
from napari_celis.scale.storage import RunStore
from scale.worlds import BLOCK, HALO, request_for, result_of, run_blocks


@pytest.fixture
def s3(monkeypatch):
    """A server that speaks S3, and an environment that leads there; also for processes that are started."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    for name, value in {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "nobody",
        "AWS_SECRET_ACCESS_KEY": "nothing",
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    import s3fs

    s3fs.S3FileSystem.clear_instance_cache()
    system = s3fs.S3FileSystem(use_listings_cache=False)
    system.mkdir("bucket")
    yield system
    s3fs.S3FileSystem.clear_instance_cache()
    server.stop()


def celis(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "napari_celis", "blockwise", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=240,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


def invoke(*arguments):
    """Give a command in this process."""
    return CliRunner().invoke(app, ["blockwise", *map(str, arguments)])


def test_a_run_from_s3_to_s3(s3, model_path, image_path, finished):
    s3.put(image_path, "bucket/image.zarr", recursive=True)
    arguments = [
        *("--image", "s3://bucket/image.zarr", "--model", model_path, "--output", "s3://bucket/run/out.zarr"),
        *("--block", *BLOCK, "--halo", *HALO, "--workers", 1),
    ]
    done = celis(*arguments)
    assert done.returncode == 0, done.stderr
    found = zarr.open_array("s3://bucket/run/out.zarr/0", mode="r")[...]
    assert_array_equal(found, result_of(finished))
    # Nothing is left to do, and the same is said about it.
    flags = {path: s3.info(path)["LastModified"] for path in s3.glob("bucket/run/out.zarr/celis/done/*/*")}
    assert len(flags) > 50
    status = invoke("--output", "s3://bucket/run/out.zarr", "--status")
    assert status.exit_code == 0
    assert "Finished." in status.stdout
    other = invoke(*arguments, "--threshold", "0.25")
    assert "belongs to a run with other settings: its threshold" in str(other.exception)
    missing = invoke("--image", "s3://bucket/nothing.zarr", *arguments[2:])
    assert "There is no Zarr volume at s3://bucket/nothing.zarr" in str(missing.exception)
    assert {path: s3.info(path)["LastModified"] for path in flags} == flags


@pytest.mark.usefixtures("one_thread")
def test_a_run_in_any_store_that_fsspec_knows(client, model_path, image_path, finished):
    import fsspec

    system = fsspec.filesystem("memory")
    system.put(image_path, "/test/image.zarr", recursive=True)
    try:
        request = request_for(model_path, "memory://test/out.zarr", image="memory://test/image.zarr")
        run, outcome = run_blocks(client, request)
        assert not outcome.failures
        assert_array_equal(run.store.array("0")[...], result_of(finished))
        again = BlockRun(RunStore("memory://test/out.zarr"))
        again.clear_flag("labels", "00000001")
        assert run_stages(again, client).computed == {"labels": 1, "metadata": 1}
        # Locks are for folders only.
        with driving(run.store), driving(run.store):
            pass
        volume = open_volume(image_path)
        assert_array_equal(np.asarray(run.image.data[:, :, 3:9]), volume.read()[:, :, 3:9])
    finally:
        system.rm("/test", recursive=True)

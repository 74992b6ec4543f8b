"""What the tests of block-wise runs share: a small model, an image, and a cluster in this process."""

import pytest
import torch

from napari_celis.core import parallel
from napari_celis.models.model_file import save_model
from scale.worlds import make_image, make_model, request_for, run_blocks, store


@pytest.fixture(scope="session")
def client():
    """A real scheduler and one worker with one thread, in this process: quick, and stages can be patched."""
    from distributed import Client, LocalCluster

    n_threads, limits = torch.get_num_threads(), list(parallel._most_threads)
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0"
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client
    torch.set_num_threads(n_threads)
    parallel._most_threads[:] = limits


@pytest.fixture(scope="session")
def model_path(tmp_path_factory):
    return save_model(make_model(), tmp_path_factory.mktemp("model") / "small.safetensors")


@pytest.fixture(scope="session")
def image_path(tmp_path_factory):
    return store(tmp_path_factory.mktemp("image") / "image.zarr", make_image())


@pytest.fixture(scope="session")
def finished(client, model_path, image_path, tmp_path_factory):
    """A run that nobody disturbed."""
    output = tmp_path_factory.mktemp("finished") / "out.zarr"
    run, outcome = run_blocks(client, request_for(model_path, output, image=image_path))
    assert not outcome.failures
    return run

"""With a halo as large as the volume, blocks give what the whole volume gives at once."""

import pytest
from numpy.testing import assert_array_equal

from napari_celis.io.volumes import open_volume
from napari_celis.models.model_file import save_model
from napari_celis.scale.status import read_status
from scale.worlds import (
    CUBES,
    SECTIONS,
    as_partition,
    cut_cells,
    make_cells,
    make_image,
    make_model,
    request_for,
    result_of,
    run_blocks,
    single_shot,
    store,
)

pytestmark = pytest.mark.usefixtures("one_thread")
SMALL, BLOCK = (12, 20, 24), (6, 10, 12)
"""Eight blocks that meet in one corner."""


@pytest.fixture(scope="module", params=[CUBES, SECTIONS], ids=["cubes", "sections"])
def world(request, tmp_path_factory):
    """Voxel size, model, image and given supervoxels."""
    folder, size = tmp_path_factory.mktemp("world"), request.param
    return (
        save_model(make_model(size), folder / "model.safetensors"),
        store(folder / "image.zarr", make_image(SMALL), size, (80.0, 8.0, 16.0)),
        store(folder / "sv.zarr", cut_cells(make_cells(SMALL)), size, (80.0, 8.0, 16.0)),
    )


@pytest.mark.parametrize("policy", ["energy", "learned"])
@pytest.mark.parametrize("has_supervoxels", [False, True])
def test_a_halo_as_large_as_the_volume_gives_the_single_shot(
    client, world, tmp_path, policy, has_supervoxels
):
    model, image, given = world
    supervoxels = given if has_supervoxels else None
    run, outcome = run_blocks(
        client,
        request_for(
            model,
            tmp_path / "out.zarr",
            image=image,
            supervoxels=supervoxels,
            policy=policy,
            block_zyx=BLOCK,
            halo_zyx=SMALL,
        ),
    )
    assert not outcome.failures
    assert not outcome.lost
    wanted = single_shot(model, image, supervoxels, policy=policy)
    found = result_of(run)
    figures = read_status(run).figures
    assert figures["disputed"] == figures["joined"] == 0
    assert 1 < figures["segments"] < figures["supervoxels"]
    assert_array_equal(as_partition(found), as_partition(wanted))
    volume = open_volume(run.store.url)
    assert (volume.voxel_size_nm, volume.offset_nm) == (open_volume(image).voxel_size_nm, (80.0, 8.0, 16.0))

"""`celis blockwise`: what it prints, and what it refuses in one sentence without harming any file."""

import json
import socket
from contextlib import contextmanager

import numpy as np
import pytest
import zarr

from napari_celis.core.volume import Volume
from napari_celis.io.volumes import open_volume, write_volume
from napari_celis.models.model_file import save_model
from napari_celis.scale import cluster
from napari_celis.scale.begin import begin_run
from napari_celis.scale.lock import driving
from napari_celis.scale.storage import RunStore
from scale.worlds import (
    BLOCK,
    CUBES,
    HALO,
    cut_cells,
    make_cells,
    make_image,
    make_model,
    request_for,
    store,
)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return save_model(make_model(), tmp_path_factory.mktemp("model") / "model.safetensors")


@pytest.fixture
def image(tmp_path):
    return store(tmp_path / "image.zarr", make_image())


@pytest.fixture
def blockwise(celis, model, image, tmp_path):
    """Give the command with blocks that fit, and what a test changes."""

    def run(*arguments, output="out.zarr", **changed):
        options = {"image": image, "model": model, "block": BLOCK, "halo": HALO, "workers": 1, **changed}
        words = [] if output is None else ["--output", str(tmp_path / output)]
        for name, value in options.items():
            if value is not None:
                values = value if isinstance(value, tuple) else (value,)
                words += [f"--{name}", *map(str, values)]
        return celis("blockwise", *words, *arguments)

    return run


def snapshot(folder):
    """Every file with its content."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != ".run.json.lock"
    }


def refused(found, sentence, code=1):
    """One sentence, an exit code, no traceback."""
    got, out, err = found
    assert got == code, out + err
    assert sentence in err.replace("\n", " "), err
    assert "Traceback" not in err


def test_a_run_tells_what_it_did_and_how_far_it_is(blockwise, celis, tmp_path):
    code, out, err = blockwise("--json", tmp_path / "figures.json", workers=2)
    assert code == 0, err
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert figures["failed"] == []
    assert figures["lost"] == 0
    assert 1 < figures["segments"] < figures["supervoxels"]
    assert f"{figures['supervoxels']:,} supervoxels became {figures['segments']:,} segments" in out
    assert "Dashboard: http://127.0.0.1:" in err
    labels = open_volume(tmp_path / "out.zarr").read()
    assert len(np.unique(labels)) == figures["segments"]
    code, out, _ = celis(
        "blockwise", "--output", tmp_path / "out.zarr", "--status", "--json", tmp_path / "s.json"
    )
    assert code == 0
    assert "10 of 10 blocks" in out
    assert out.splitlines()[-1] == "Finished."
    assert json.loads((tmp_path / "s.json").read_text())["is_finished"]
    refused(
        blockwise(threshold=0.5),
        "belongs to a run with other settings: its threshold is -0.3, now it is 0.5.",
    )
    refused(blockwise(halo=(11, 11, 11)), "its halo is 10 × 10 × 10, now it is 11 × 11 × 11.")
    assert (open_volume(tmp_path / "out.zarr").read() == labels).all()


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"halo": (2, 2, 2)}, "A halo of 2 × 2 × 2 voxels is too narrow"),
        ({"halo": (2, 2, 2)}, "Give --halo 9 9 9 or more."),
        ({"block": (12, 12, 67)}, "Blocks of 67 voxels along x cannot be stored in whole chunks."),
        ({"block": (0, 12, 16)}, "A block needs a length of at least 1 along every axis"),
        ({"image": None}, "There is nothing to agglomerate. Give --image or --affinities."),
        ({"threshold": "nan"}, "The threshold is nan"),
        ({"output": "out.h5"}, "must end in .zarr"),
        ({"image": "s3x://bucket/image.zarr"}, "s3x"),
        ({"affinities": "s3://bucket/affinities.zarr"}, "are read from files. Copy them first."),
    ],
)
def test_what_cannot_work_is_refused_before_anything_is_written(blockwise, tmp_path, changed, sentence):
    before = snapshot(tmp_path)
    refused(blockwise(**changed), sentence)
    assert snapshot(tmp_path) == before


def test_without_a_model_it_is_a_wrong_command(blockwise):
    refused(blockwise(model=None), "A model is needed: give --model.", code=2)


def test_another_voxel_size_is_refused_unless_wanted(blockwise, model, tmp_path):
    other = store(tmp_path / "other.zarr", make_image((12, 12, 16)), (20.0, 20.0, 20.0))
    refused(blockwise(image=other), "The model was trained on voxels of 10 × 10 × 10 nm")
    assert not (tmp_path / "out.zarr").exists()
    request = request_for(model, tmp_path / "out.zarr", image=other, any_voxel_size=True)
    assert begin_run(request).settings.voxel_size_nm == (20.0, 20.0, 20.0)


def test_chunks_that_do_not_fit_are_told_and_can_be_copied(blockwise, model, tmp_path):
    voxels = make_image((6, 24, 600))
    array = zarr.create_array(
        str(tmp_path / "slab.zarr"),
        shape=voxels.shape,
        chunks=voxels.shape,
        dtype="uint8",
        attributes={"resolution": list(CUBES)},
    )
    array[...] = voxels
    changed = {"image": tmp_path / "slab.zarr", "block": (6, 24, 16), "threshold": -9}
    refused(blockwise(**changed), "is stored in chunks of 6 × 24 × 600 voxels, so every block would unpack")
    assert not (tmp_path / "out.zarr").exists()
    request = request_for(
        model, tmp_path / "out.zarr", image=str(tmp_path / "slab.zarr"), block_zyx=(6, 24, 16), rechunk=True
    )
    assert begin_run(request).chunks == (6, 24, 16)


def test_an_output_that_is_something_else_stays_as_it_is(blockwise, image, tmp_path):
    (tmp_path / "folder.zarr").mkdir()
    (tmp_path / "folder.zarr" / "letters.txt").write_text("Dear Santiago,")
    (tmp_path / "file.zarr").write_text("no folder")
    given = store(tmp_path / "sv.zarr", cut_cells(make_cells()))
    before = snapshot(tmp_path)
    refused(blockwise(output="folder.zarr"), "exists and is no block-wise run")
    refused(blockwise(output="file.zarr"), "file.zarr")
    refused(blockwise(output="image.zarr"), "would replace what is read as --image")
    refused(blockwise(output="sv.zarr", supervoxels=given), "would replace what is read as --supervoxels")
    refused(blockwise(output="image.zarr/0/run.zarr"), "would replace what is read as --image")
    refused(blockwise("--json", image), "it is a folder")
    assert snapshot(tmp_path) == before


def test_figures_never_replace_an_input(blockwise, model, tmp_path):
    content = model.read_bytes()
    refused(blockwise("--json", model), "would replace what is read as --model")
    assert model.read_bytes() == content


def test_volumes_of_other_shapes_are_refused(blockwise, tmp_path):
    given = store(tmp_path / "sv.zarr", cut_cells(make_cells((6, 6, 6))))
    refused(blockwise(supervoxels=given), "has the shape 6 × 6 × 6")
    flat = Volume(np.ones((12, 24, 80), np.float32) * 0.5, CUBES, name="labels")
    write_volume(flat, tmp_path / "floats.zarr", kind="image")
    refused(blockwise(supervoxels=tmp_path / "floats.zarr"), "float32")
    assert not (tmp_path / "out.zarr").exists()


def test_status_of_what_is_no_run(celis, tmp_path):
    refused(celis("blockwise", "--output", tmp_path / "nothing.zarr", "--status"), "holds no block-wise run")


def test_settings_that_were_damaged_are_told(blockwise, celis, tmp_path):
    (tmp_path / "out.zarr" / "celis").mkdir(parents=True)
    settings = tmp_path / "out.zarr" / "celis" / "run.json"
    for content in ("{", "[]", '{"format": 99}', '{"format": 1}'):
        settings.write_text(content)
        refused(celis("blockwise", "--output", tmp_path / "out.zarr", "--status"), "out.zarr")
        refused(blockwise(), "out.zarr")
        assert settings.read_text() == content


def test_a_second_driver_waits_for_the_first(blockwise, tmp_path, model, image):
    run = begin_run(request_for(model, tmp_path / "out.zarr", image=image))
    before = snapshot(tmp_path)
    with driving(run.store):
        refused(blockwise(), "is being worked on by another celis blockwise. Wait for it")
        assert snapshot(tmp_path) == before
    with driving(RunStore(run.store.url)):
        pass


def test_nobody_answers_at_the_address(blockwise, tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "PATIENCE", 1)
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    refused(
        blockwise(scheduler=f"tcp://127.0.0.1:{port}", workers=None),
        f"No scheduler answers at tcp://127.0.0.1:{port}. Start one with `dask scheduler`",
    )
    refused(blockwise(scheduler="nonsense://x", workers=None), "No scheduler answers at nonsense://x")


@contextmanager
def scheduler(n_workers):
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=n_workers,
        threads_per_worker=1,
        processes=False,
        protocol="tcp",
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
    ) as found:
        yield found


def test_a_scheduler_without_workers(blockwise, monkeypatch):
    monkeypatch.setattr(cluster, "PATIENCE", 1)
    with scheduler(0) as found:
        address = found.scheduler_address
        refused(
            blockwise(scheduler=address, workers=None),
            f"The scheduler at {address} has no workers. Start some",
        )


def other_version():
    return "0.0.1"


def no_version():
    raise ModuleNotFoundError("No module named 'napari_celis'")


def test_workers_with_other_packages(blockwise, monkeypatch, tmp_path):
    with scheduler(1) as found:
        address = found.scheduler_address
        monkeypatch.setattr(cluster, "_version", other_version)
        refused(blockwise(scheduler=address, workers=None), "has napari-celis 0.0.1, this computer has")
        monkeypatch.setattr(cluster, "_version", no_version)
        refused(blockwise(scheduler=address, workers=None), "cannot use napari-celis")
        monkeypatch.undo()
        from distributed import Client

        def check(self, check=False, packages=None):
            raise ValueError("Mismatched versions found\n+---+\n| Package | Client |\n| numpy | 1.0 |\n+---+")

        monkeypatch.setattr(Client, "get_versions", check)
        refused(blockwise(scheduler=address, workers=None), "have other versions of numpy than this computer")


def test_a_failed_block_is_named_and_can_be_retried(blockwise, celis, tmp_path):
    voxels = make_image((6, 12, 48), dtype=np.float32)
    damaged = voxels.copy()
    damaged[2, 3, 40] = np.nan
    path = store(tmp_path / "floats.zarr", damaged)
    code, out, err = blockwise(image=path)
    assert code == 1
    assert "Failed: grey values, block 00000002 (z 0–5, y 0–11, x 32–47): " in err
    assert "1 block failed and is empty in it." in err
    assert "Wrote " in out
    assert not open_volume(tmp_path / "out.zarr").read()[:, :, 32:].any()
    status = celis("blockwise", "--output", tmp_path / "out.zarr", "--status")
    assert "grey values                        2 of 3 blocks, 1 failed" in status[1]
    zarr.open_array(f"{path}/0", mode="r+")[...] = voxels
    code, _, err = blockwise("--retry-failed", image=path)
    assert code == 0, err
    assert open_volume(tmp_path / "out.zarr").read().all()

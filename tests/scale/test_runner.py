"""Runs block by block: going on, failures and what comes after them, leftovers, answers, a full disk."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import zarr
from numpy.testing import assert_array_equal

from napari_celis.core.errors import VolumeError
from napari_celis.io.volumes import open_volume
from napari_celis.models.model_file import save_model
from napari_celis.scale import task
from napari_celis.scale.answers import add_answers
from napari_celis.scale.begin import begin_run
from napari_celis.scale.reconcile import Answer
from napari_celis.scale.run import BlockRun, open_run
from napari_celis.scale.runner import run_stages
from napari_celis.scale.settings import BlockwiseError
from napari_celis.scale.stages import listing
from napari_celis.scale.status import read_status
from napari_celis.scale.storage import RunStore
from scale.worlds import (
    CUBES,
    SECTIONS,
    SHAPE,
    as_partition,
    cut_cells,
    make_cells,
    make_image,
    make_model,
    request_for,
    result_of,
    run_blocks,
    store,
)

pytestmark = pytest.mark.usefixtures("one_thread")


def flags_of(run):
    """Content and time of every note that a block is done."""
    folder = run.store.path("celis/done")
    return {
        str(path.relative_to(folder)): (path.read_text(), path.stat().st_mtime_ns)
        for path in folder.rglob("*.json")
    }


@pytest.fixture
def copy(finished, tmp_path):
    """The same, to be damaged."""
    shutil.copytree(finished.store.url, tmp_path / "out.zarr")
    return BlockRun(RunStore(str(tmp_path / "out.zarr")))


def test_a_finished_run_computes_nothing_again(client, finished):
    before = flags_of(finished)
    assert run_stages(finished, client).computed == {}
    assert flags_of(finished) == before
    status = read_status(finished)
    assert status.is_finished
    assert all(stage.done == stage.total for stage in status.stages)
    assert json.loads(json.dumps(status.to_json()))["is_finished"]


def test_supervoxels_of_all_blocks_fill_the_volume_and_every_id_tells_its_block(finished):
    supervoxels = finished.read_supervoxels(tuple(slice(0, size) for size in finished.settings.shape))
    assert supervoxels.all()
    holders = np.unique(supervoxels >> np.uint64(32))
    assert holders.min() >= 1
    assert holders.max() <= len(finished.grid)
    # Some supervoxel goes on across the face between two blocks.
    assert (supervoxels[..., 15] == supervoxels[..., 16]).any()


def test_lost_blocks_of_the_last_stages_are_computed_again_and_nothing_else(client, finished, copy):
    before = flags_of(copy)
    lost = ["labels/00000003.json", "decisions/00000005.json", "metadata/00000000.json"]
    for name in lost:
        copy.store.remove(f"celis/done/{name}")
    outcome = run_stages(copy, client)
    assert outcome.computed == {"labels": 1, "decisions": 1, "metadata": 1}
    after = flags_of(copy)
    assert after.keys() == before.keys()
    changed = {name for name in before if before[name] != after[name]}
    assert {name for name in changed if not name.endswith("all.json")} == set(lost)
    assert_array_equal(result_of(copy), result_of(finished))


@pytest.mark.parametrize(
    ("stage", "block"),
    [
        ("affinities", 2),
        ("foreground", 0),
        ("supervoxels", 7),
        ("contacts", 4),
        ("decisions", 1),
        ("labels", 6),
    ],
)
def test_a_block_that_fails_is_reported_and_taken_up_again(
    client, finished, model_path, image_path, tmp_path, monkeypatch, stage, block
):
    work = _failing(monkeypatch, stage, block)
    run, outcome = run_blocks(client, request_for(model_path, tmp_path / "out.zarr", image=image_path))
    [failure] = outcome.failures
    assert (failure.block, failure.place) == (f"{block:08d}", run.grid.block(block).place)
    assert failure.error == "RuntimeError: the dog ate it"
    assert read_status(run).is_finished
    broken = result_of(run)
    if stage != "foreground":
        # Failed blocks are empty; elsewhere there are segments.
        assert not broken[run.grid.block(block).core].any()
    assert broken.any()
    # Without being asked for, it is not tried again.
    again = run_stages(run, client)
    assert again.failures == outcome.failures
    assert again.computed == {}
    work.is_broken = False
    retried = run_stages(run, client, retry_failed=True)
    assert not retried.failures
    assert retried.computed[stage] >= 1
    _require_equal_runs(run, finished)


def _failing(monkeypatch, name, index):
    """Let one block of a stage fail, until `is_broken` is set to False."""
    from dataclasses import replace
    from types import SimpleNamespace

    switch = SimpleNamespace(is_broken=True)
    stages_of = listing.stages_of

    def changed(run):
        def work(run, block, report):
            if switch.is_broken and block.index == index:
                raise RuntimeError("the dog ate it")
            return original.work(run, block, report)

        stages = stages_of(run)
        original = next(stage for stage in stages if stage.name == name)
        return [replace(stage, work=work) if stage is original else stage for stage in stages]

    monkeypatch.setattr(listing, "stages_of", changed)
    return switch


def _require_equal_runs(run, other):
    """All arrays and tables of two runs are alike, voxel by voxel and row by row."""
    for name in ("celis/affinities", "celis/supervoxels", "0"):
        assert_array_equal(run.store.array(name)[...], other.store.array(name)[...])
    for folder in ("celis/contacts", "celis/sizes", "celis/decisions", "celis/segments"):
        assert run.store.names(folder) == other.store.names(folder)
        for name in run.store.names(folder):
            tables = [one.store.read_table(f"{folder}/{name}") for one in (run, other)]
            assert tables[0].keys() == tables[1].keys()
            for key in tables[0]:
                assert_array_equal(tables[0][key], tables[1][key])


@pytest.mark.parametrize("size", [CUBES, SECTIONS], ids=["cubes", "sections"])
def test_nan_in_a_part_of_the_image_costs_that_block_and_is_put_right(client, tmp_path, size):
    model = save_model(make_model(size), tmp_path / "model.safetensors")
    # Another recording: its grey values are changed by what is known of the whole image.
    image = make_image((6, 24, 80), dtype=np.float32) * 8 + 500
    healthy = store(tmp_path / "healthy.zarr", image, size)
    wanted, _ = run_blocks(client, request_for(model, tmp_path / "wanted.zarr", image=healthy))
    damaged = image.copy()
    damaged[2, 20, 70] = np.nan
    path = store(tmp_path / "image.zarr", damaged, size)
    run, outcome = run_blocks(client, request_for(model, tmp_path / "out.zarr", image=path))
    [failure] = outcome.failures
    assert failure.block == "00000009"
    assert failure.place == "z 0–5, y 12–23, x 64–79"
    assert "NaN" in failure.error
    assert not result_of(run)[:, 12:, 64:].any()
    assert result_of(run)[:, :12].all()
    zarr.open_array(f"{path}/0", mode="r+")[...] = image
    assert not run_stages(run, client, retry_failed=True).failures
    _require_equal_runs(run, wanted)


def test_when_every_block_fails_the_run_stops_with_the_reason(client, model_path, tmp_path):
    image = np.full(SHAPE, np.nan, dtype=np.float32)
    path = store(tmp_path / "image.zarr", image)
    with pytest.raises(BlockwiseError, match=r"All 10 blocks failed .* NaN .* --retry-failed"):
        run_blocks(client, request_for(model_path, tmp_path / "out.zarr", image=path))
    assert not read_status(BlockRun(RunStore(str(tmp_path / "out.zarr")))).is_finished


def test_what_killed_workers_left_is_removed(client, finished, copy):
    """Zarr leaves `.partial` beside chunks, we leave `.part` beside files."""
    root = Path(copy.store.url)
    left = [
        root / "celis/affinities/c/0/0/0/3.0123abcd.partial",
        root / "0/c/0/0/4.89ab.partial",
        root / "celis/supervoxels/zarr.77.partial",
        root / "celis/done/labels/.00000001.json.abc-1-00000000.part",
        root / "celis/decisions/.00000001.parquet.abc-1-00000000.part",
    ]
    for path in left:
        path.write_bytes(b"half")
    for stage, block in (("affinities", 3), ("labels", 4)):
        copy.clear_flag(stage, f"{block:08d}")
    run_stages(copy, client)
    assert [path for path in root.rglob("*") if path.suffix in (".part", ".partial")] == []
    assert_array_equal(result_of(copy), result_of(finished))


def test_a_worker_does_not_touch_what_others_are_writing(copy):
    """Beside the chunks of a block lie those of its neighbours, which may be half written just now."""
    other = Path(copy.store.url) / "0/c/0/0/0.89ab.partial"
    other.write_bytes(b"half")
    found = task.run_task(task.Task(copy.store.url, copy.checksum, "labels", 1, "another digest", False))
    assert found.error is None
    assert other.exists()


def test_a_block_that_another_worker_finished_meanwhile_is_left_alone(copy):
    before = flags_of(copy)
    done = task.run_task(task.Task(copy.store.url, copy.checksum, "contacts", 1, "", False))
    assert (done.error, done.seconds) == (None, 0.0)
    assert flags_of(copy) == before


def test_a_worker_that_outlives_a_run_sees_the_new_one(client, model_path, image_path, tmp_path):
    request = request_for(model_path, tmp_path / "out.zarr", image=image_path)
    first = begin_run(request)
    # The worker is a thread of this process.
    assert task.run_task(task.Task(first.store.url, first.checksum, "survey", 0, "", False)).error is None
    shutil.rmtree(first.store.url)
    other = request_for(
        model_path, tmp_path / "out.zarr", image=image_path, block_zyx=(12, 24, 40), halo_zyx=SHAPE
    )
    second, outcome = run_blocks(client, other)
    assert outcome.computed["decisions"] == 2
    open_run.cache_clear()
    with pytest.raises(BlockwiseError, match="replaced by a run with other settings"):
        task.run_task(task.Task(second.store.url, first.checksum, "labels", 0, "", False))


@pytest.mark.parametrize("kept", [["celis/run.json"], ["celis/run.json", "celis/model.safetensors"], []])
def test_a_driver_that_was_killed_while_it_began_goes_on(model_path, image_path, tmp_path, kept, finished):
    request = request_for(model_path, tmp_path / "out.zarr", image=image_path)
    for name in kept:
        target = tmp_path / "out.zarr" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(finished.store.path(name), target)
    (tmp_path / "out.zarr/celis").mkdir(parents=True, exist_ok=True)
    (tmp_path / "out.zarr/celis/.run.json.abc-1-00000000.part").write_bytes(b"{")
    run = begin_run(request)
    assert run.settings == finished.settings
    for name in ("zarr.json", "celis/zarr.json", "celis/model.safetensors"):
        assert run.store.read(name) is not None
    assert task.run_task(task.Task(run.store.url, run.checksum, "survey", 0, "", False)).error is None


def test_answers_survive_every_pass(client, finished, copy):
    labels = result_of(copy)
    supervoxels = copy.read_supervoxels(tuple(slice(0, n) for n in copy.settings.shape))
    ids = np.unique(supervoxels)
    segment = {int(sv): int(labels[supervoxels == sv][0]) for sv in ids}
    one, other = ids[0], next(sv for sv in ids if segment[int(sv)] != segment[int(ids[0])])
    held = [int(sv) for sv in ids if segment[int(sv)] == segment[int(ids[0])]]
    add_answers(copy.store, [Answer("merge", int(one), int(other))], "somebody")
    outcome = run_stages(copy, client)
    assert "decisions" not in outcome.computed
    merged = result_of(copy)
    assert len(np.unique(merged[np.isin(supervoxels, [one, other])])) == 1
    add_answers(copy.store, [Answer("keep-apart", int(other), int(one))])
    run_stages(copy, client)
    apart = result_of(copy)
    assert apart[supervoxels == one][0] != apart[supervoxels == other][0]
    assert len(held) >= 1
    assert run_stages(copy, client).computed == {}


def test_given_supervoxels_and_affinities_need_no_image(client, model_path, tmp_path):
    from napari_celis.io.affinities import Affinities, open_affinities, write_affinities
    from scale.worlds import single_shot

    cells = make_cells()
    rng = np.random.default_rng(0)
    affinities = rng.integers(100, 256, (3, *cells.shape), dtype=np.uint8)
    for axis in range(3):
        affinities[axis][cells != np.roll(cells, 1, axis)] //= 4
    write_affinities(Affinities(affinities, CUBES, (0.0, 0.0, 0.0)), tmp_path / "affinities.zarr")
    given = store(tmp_path / "sv.zarr", cut_cells(cells))
    request = request_for(
        model_path,
        tmp_path / "out.zarr",
        affinities=str(tmp_path / "affinities.zarr"),
        supervoxels=given,
        block_zyx=(12, 24, 40),
        halo_zyx=cells.shape,
    )
    run, outcome = run_blocks(client, request)
    assert "affinities" not in outcome.computed
    wanted = single_shot(model_path, None, given, open_affinities(tmp_path / "affinities.zarr"))
    assert_array_equal(as_partition(result_of(run)), as_partition(wanted))


def test_rechunked_or_not_the_result_is_the_same(client, finished, model_path, tmp_path):
    image = open_volume(finished.settings.image).read()
    path = store(tmp_path / "image.h5", image)
    run, outcome = run_blocks(
        client, request_for(model_path, tmp_path / "out.zarr", image=path, rechunk=True)
    )
    assert outcome.computed["image"] >= 1
    assert_array_equal(run.store.array("celis/image")[...], image)
    assert_array_equal(result_of(run), result_of(finished))


def test_coarser_levels_are_those_of_the_finest(client, model_path, tmp_path):
    from napari_celis.io.pyramid import choose_factors, shrink_labels

    shape = (16, 40, 160)
    given = store(tmp_path / "sv.zarr", cut_cells(make_cells(shape), 20))
    image = store(tmp_path / "image.zarr", make_image(shape))
    run, _ = run_blocks(
        client,
        request_for(
            model_path, tmp_path / "out.zarr", image=image, supervoxels=given, block_zyx=(16, 40, 32)
        ),
    )
    fine = result_of(run)
    factors = choose_factors(shape, CUBES)
    assert factors is not None
    assert_array_equal(open_volume(run.store.url, level=1).read(), shrink_labels(fine, factors))


def test_a_full_disk_stops_the_run_and_the_same_command_goes_on(
    client, finished, model_path, image_path, tmp_path, monkeypatch
):
    """The disk fills up while a chunk is written, and while a note is."""
    request = request_for(model_path, tmp_path / "out.zarr", image=image_path)
    original = RunStore.write

    def full(self, name, content):
        if "done/contacts/00000005" in name:
            with task_writing(name):
                raise OSError(28, os.strerror(28))
        original(self, name, content)

    from napari_celis.io.failures import writing as task_writing

    monkeypatch.setattr(RunStore, "write", full)
    with pytest.raises((BlockwiseError, VolumeError), match=r"[Ff]ull|No space left"):
        run_blocks(client, request)
    monkeypatch.setattr(RunStore, "write", original)
    run = BlockRun(RunStore(request.output))
    before = flags_of(run)
    assert len(before) > 30
    assert not run.failures("contacts")
    run_stages(run, client)
    after = flags_of(run)
    assert {name: after[name] for name in before} == before
    assert_array_equal(result_of(run), result_of(finished))


@pytest.fixture
def small_disk(tmp_path):
    """A disk of its own that can be made larger; only where the system lets us."""
    place = tmp_path / "disk"
    place.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", place], capture_output=True
    ).returncode:
        pytest.skip("needs the right to mount a disk in memory")
    yield place
    subprocess.run(["umount", "-l", place], check=True)


@pytest.mark.skipif(sys.platform != "linux", reason="needs tmpfs")
def test_a_disk_that_is_really_full(client, finished, model_path, image_path, small_disk):
    request = request_for(model_path, small_disk / "out.zarr", image=image_path)
    with pytest.raises((BlockwiseError, VolumeError), match=r"disk is full|No space left"):
        run_blocks(client, request)
    run = BlockRun(RunStore(request.output))
    before = flags_of(run)
    assert before
    assert not any(run.failures(stage) for stage in ("survey", "affinities", "foreground", "supervoxels"))
    subprocess.run(["mount", "-o", "remount,size=64m", small_disk], check=True)
    assert not run_stages(run, client).failures
    assert {name: flags_of(run)[name] for name in before} == before
    assert_array_equal(result_of(run), result_of(finished))

"""Processes are killed at any moment; the same command again gives the same, and computes nothing twice."""

import subprocess
import sys

import numpy as np
import pytest
import zarr
from numpy.testing import assert_array_equal

from napari_celis.bench.blockwise_faults import disturb, done_flags, own_cluster
from scale.worlds import BLOCK, HALO, result_of


def words(option, values):
    return [option, *(str(value) for value in values)]


@pytest.fixture
def arguments(model_path, image_path):
    return [
        *("--image", image_path, "--model", str(model_path)),
        *words("--block", BLOCK),
        *words("--halo", HALO),
    ]


def require_undamaged(done, finished):
    assert done.computed_twice == 0
    assert_array_equal(zarr.open_array(str(done.output / "0"), mode="r")[...], result_of(finished))
    left = [path.name for path in done.output.rglob("*") if path.suffix in (".part", ".partial")]
    assert left == []


def test_killed_workers_and_drivers_lose_nothing(arguments, finished, tmp_path):
    output = tmp_path / "out.zarr"
    victims = "worker", "driver", "worker"
    done = disturb(
        [*arguments, "--output", str(output)], output, victims, np.random.default_rng(0), most_blocks=20
    )
    assert done.kills == list(victims)
    assert done.attempts == 2
    assert len(done.seen) > 2
    require_undamaged(done, finished)


def test_a_scheduler_of_others_and_its_workers_may_die(arguments, finished, tmp_path):
    output = tmp_path / "out.zarr"
    victims = "worker", "scheduler"
    with own_cluster(tmp_path) as cluster:
        done = disturb(
            [*arguments, "--output", str(output)],
            output,
            victims,
            np.random.default_rng(1),
            cluster=cluster,
            most_blocks=20,
        )
        assert done.kills == list(victims)
        assert len(done.said) == 1
        assert "scheduler" in done.said[0].splitlines()[-1]
        assert "Traceback" not in done.said[0]
        require_undamaged(done, finished)
        before = done_flags(output)
        again = subprocess.run(
            [
                sys.executable,
                "-m",
                "napari_celis",
                "blockwise",
                *arguments,
                "-o",
                output,
                "--scheduler",
                cluster.address,
            ],
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert again.returncode == 0, again.stderr
        assert done_flags(output) == before

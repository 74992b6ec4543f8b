"""Model files from strangers: every number is looked at before something is built from it."""

import json
import subprocess
import sys

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from napari_celis.core.errors import ModelError
from napari_celis.io.samples import bundled_models
from napari_celis.models.model_file import KEY, load_model

SOURCE = bundled_models()["phantom"]
INFINITY, NAN = float("inf"), float("nan")


@pytest.fixture(scope="module")
def original():
    with safe_open(SOURCE, framework="pt") as file:
        return file.metadata()[KEY], load_file(SOURCE)


def write(path, original, change):
    """Write the bundled model with another description."""
    described = json.loads(original[0])
    change(described)
    save_file(original[1], path, metadata={KEY: json.dumps(described)})
    return path


def energy(**changes):
    return lambda d: d["specs"][0]["energy"].update(changes)


def spec(**changes):
    return lambda d: d["specs"][0].update(changes)


def network(**changes):
    return lambda d: d["affinity"].update(changes)


def whole(**changes):
    return lambda d: d.update(changes)


LARGE = {
    "hidden": energy(hidden=40000),
    "hidden-huge": energy(hidden=10**12),
    "width": network(width=3000),
    "levels": network(levels=7),
    "levels-12": network(levels=12),
    "levels-1000": network(levels=1000),
    "features": network(n_features=4096),
    "specs": lambda d: d.update(specs=d["specs"] * 20_000),
    "box": spec(box_zyx=[1001, 1001, 1001], region_zyx=[2001, 2001, 2001]),
    "grid": whole(layout_grid=64),
}
SENSELESS = {
    **{f"grid {value}": whole(layout_grid=value) for value in (0, -1, 300, 10**6, 2.5, "5", None, True)},
    **{f"turns {value}": whole(turns=value) for value in (0, -1, 49, NAN)},
    **{f"format {value}": whole(format=value) for value in (NAN, INFINITY, "5", None, [5])},
    **{f"voxel size {v}": whole(voxel_size_nm=[v, 10, 10]) for v in (0, -1, NAN, INFINITY, "10")},
    **{f"network voxel size {v}": network(voxel_size_nm=[v, 10, 10]) for v in (0, NAN, INFINITY)},
    **{f"threshold {v}": whole(thresholds={"energy": v, "learned": 0.0}) for v in (NAN, INFINITY, "0")},
    **{f"share {value}": spec(share=value) for value in (1e308, NAN, -1, INFINITY)},
    **{f"width {value}": network(width=value) for value in (0, INFINITY, NAN, -4)},
    **{f"intensity {v}": network(intensity=v) for v in ([NAN, 1], [0, 0], [0, INFINITY], [1e300, 1])},
    "two lengths": whole(voxel_size_nm=[10, 10]),
    "no specs": whole(specs=[]),
    "dropout": energy(dropout=2),
    "long range": network(long_range=[[10**9, 0, 0]]),
    "stride": spec(stride_zyx=[0, 2, 2]),
    "thresholds": whole(thresholds=[1, 2]),
    "figures": whole(figures=7),
    "energy": spec(energy=[]),
    "specs of numbers": whole(specs=[1, 2, 3]),
    "unknown setting": energy(surprise=1),
    "preset": network(preset={"a": 1}),
}


@pytest.mark.parametrize("name", SENSELESS)
def test_numbers_without_sense(tmp_path, original, name):
    with pytest.raises(ModelError) as caught:
        load_model(write(tmp_path / "m.safetensors", original, SENSELESS[name]))
    assert "m.safetensors" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500


PROGRAM = """
import json, sys
from pathlib import Path
from napari_celis.core.errors import ModelError
from napari_celis.models.model_file import load_model
load_model(sys.argv[1])
def peak():
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 1024
before = peak()
for path in sys.argv[2:]:
    try:
        load_model(path)
    except ModelError as error:
        print(json.dumps([path, str(error), peak() - before]), flush=True)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs the peak of a process")
def test_networks_are_not_built_before_their_shapes_are_known(tmp_path, original):
    paths = [str(write(tmp_path / f"{name}.safetensors", original, LARGE[name])) for name in LARGE]
    process = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(SOURCE), *paths],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert process.returncode == 0, process.stderr
    rows = [json.loads(line) for line in process.stdout.splitlines()]
    assert [row[0] for row in rows] == paths
    for path, _, megabytes in rows:
        assert megabytes < 200, path


@pytest.mark.parametrize("value", [NAN, INFINITY])
def test_weights_without_sense(tmp_path, original, value):
    tensors = dict(original[1])
    name = next(name for name in tensors if name.startswith("energy") and tensors[name].ndim == 2)
    tensors[name] = tensors[name].clone()
    tensors[name][0, 0] = value
    save_file(tensors, tmp_path / "m.safetensors", metadata={KEY: original[0]})
    with pytest.raises(ModelError, match="NaN or infinite"):
        load_model(tmp_path / "m.safetensors")


def test_descriptions_of_any_length_and_depth(tmp_path):
    tensors = {"a": torch.zeros(1)}
    for text in ("[" * 100_000, '{"format": ' + "[" * 50_000 + "]" * 50_000 + "}", " " * 2**25):
        save_file(tensors, tmp_path / "m.safetensors", metadata={KEY: text})
        with pytest.raises(ModelError):
            load_model(tmp_path / "m.safetensors")


def test_a_file_too_large_for_a_model(tmp_path):
    with (tmp_path / "m.safetensors").open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(ModelError, match="too much for a model"):
        load_model(tmp_path / "m.safetensors")

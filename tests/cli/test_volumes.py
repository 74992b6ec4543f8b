import json
import subprocess
import sys

import h5py
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from napari_celis.io.volumes import open_volume


@pytest.fixture
def sample(tmp_path):
    path = tmp_path / "sample.h5"
    with h5py.File(path, "w") as file:
        for name, data in (
            ("volumes/raw", np.arange(60, dtype=np.uint8).reshape(3, 4, 5)),
            ("volumes/labels/neuron_ids", np.arange(60, dtype=np.uint64).reshape(3, 4, 5) // 7),
        ):
            file[name] = data
            file[name].attrs["resolution"] = [40.0, 4.0, 4.0]
            file[name].attrs["offset"] = [0.0, 8.0, 12.0]
    return path


def test_info_lists_what_a_file_holds(celis, sample, tmp_path):
    code, out, _ = celis("info", sample, "--json", tmp_path / "figures.json")
    assert code == 0
    assert "volumes/raw: 3 × 4 × 5 uint8, voxels 40 × 4 × 4 nm" in out
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert figures["format"] == "HDF5"
    assert [dataset["name"] for dataset in figures["datasets"]] == [
        "volumes/labels/neuron_ids",
        "volumes/raw",
    ]


def test_info_describes_labels(celis, sample, tmp_path):
    code, out, _ = celis("info", f"{sample}:volumes/labels/neuron_ids", "--json", tmp_path / "figures.json")
    assert code == 0
    assert "3 × 4 × 5" in out
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert figures["shape"] == [3, 4, 5]
    assert figures["voxel_size_nm"] == [40.0, 4.0, 4.0]
    assert figures["offset_nm"] == [0.0, 8.0, 12.0]
    assert (figures["kind"], figures["n_ids"], figures["maximum"]) == ("labels", 8, 8)


def test_info_does_not_read_large_volumes(celis, sample, tmp_path, monkeypatch):
    monkeypatch.setattr("napari_celis.cli.volumes.MAX_SCANNED_BYTES", 10)
    celis("info", f"{sample}:volumes/raw", "--json", tmp_path / "figures.json")
    assert "maximum" not in json.loads((tmp_path / "figures.json").read_text())


@pytest.mark.parametrize("name", ["copy.zarr", "copy.h5", "copy.tif", "copy.npy", "copy.precomputed"])
@pytest.mark.parametrize("dataset", ["volumes/raw", "volumes/labels/neuron_ids"])
def test_convert_keeps_everything(celis, sample, tmp_path, name, dataset):
    code, out, _ = celis(
        "convert", f"{sample}:{dataset}", tmp_path / name, "--json", tmp_path / "figures.json"
    )
    assert code == 0
    source, copy = open_volume(f"{sample}:{dataset}"), open_volume(tmp_path / name)
    assert_array_equal(copy.read(), source.read())
    assert copy.dtype == source.dtype
    assert copy.voxel_size_nm == source.voxel_size_nm
    assert copy.offset_nm == source.offset_nm
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert figures["kind"] == ("image" if dataset == "volumes/raw" else "labels")
    assert figures["kind"] in out


def test_convert_takes_kind_and_voxel_size(celis, sample, tmp_path):
    arguments = ("--kind", "labels", "--voxel-size", "30", "5", "6")
    code, _, _ = celis("convert", f"{sample}:volumes/raw", tmp_path / "copy.h5", *arguments)
    assert code == 0
    volume = open_volume(f"{tmp_path / 'copy.h5'}:volumes/labels/neuron_ids")
    assert volume.voxel_size_nm == (30.0, 5.0, 6.0)


def test_levels(celis, tmp_path):
    np.save(tmp_path / "v.npy", np.ones((70, 70, 70), np.uint8))
    celis("convert", tmp_path / "v.npy", tmp_path / "v.zarr")
    celis("convert", tmp_path / "v.zarr", tmp_path / "small.npy", "--level", "1")
    assert open_volume(tmp_path / "small.npy").shape == (35, 35, 35)
    assert "not stored" in celis("info", tmp_path / "v.npy")[1]
    code, out, _ = celis("info", tmp_path / "v.zarr", "--level", "1")
    assert code == 0
    assert "35 × 35 × 35" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["info", "nowhere.h5"], "does not exist"),
        (["info", "SAMPLE:nope"], "has no dataset `nope`"),
        (["convert", "SAMPLE", "copy.zarr"], "several volumes"),
        (["convert", "SAMPLE:volumes/raw", "copy.docx"], "cannot be written"),
        (["convert", "SAMPLE:volumes/raw", "copy.h5", "--voxel-size", "0", "1", "1"], "cannot be stored"),
    ],
)
def test_mistakes_end_in_one_sentence(celis, sample, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    code, out, err = celis(*(argument.replace("SAMPLE", str(sample)) for argument in arguments))
    assert code == 1
    assert out == ""
    assert message in err
    assert err.count("\n") == 1
    assert [entry.name for entry in tmp_path.iterdir()] == ["sample.h5"]


def test_wrong_usage(celis, sample):
    assert celis("convert", sample)[0] == 2
    assert celis("info", sample, "--level", "-1")[0] == 2


def test_describing_a_file_loads_neither_torch_nor_napari(sample):
    program = (
        "import sys; from napari_celis import cli\n"
        f"sys.argv = ['celis', 'info', {str(sample)!r}]\n"
        "try: cli.main()\n"
        "except SystemExit: pass\n"
        "assert not {'torch', 'napari', 'zarr', 'tensorstore'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)


def test_convert_resamples_images_and_labels(celis, sample, tmp_path):
    for name, out in (("volumes/raw", "raw.h5:raw"), ("volumes/labels/neuron_ids", "ids.h5:ids")):
        options = ("--resample", 20, 8, 8, "--json", tmp_path / "c.json")
        code, printed, _ = celis("convert", f"{sample}:{name}", tmp_path / out, *options)
        assert code == 0
        assert "6 × 2 × 2" in printed
        written = open_volume(tmp_path / out)
        assert written.voxel_size_nm == (20.0, 8.0, 8.0)
        assert written.offset_nm == (-10.0, 10.0, 14.0)
        assert json.loads((tmp_path / "c.json").read_text())["shape"] == [6, 2, 2]
    ids = np.unique(open_volume(f"{sample}:volumes/labels/neuron_ids").read())
    assert set(np.unique(written.read())) <= set(ids)
    code, _, said = celis("convert", f"{sample}:volumes/raw", tmp_path / "no.h5", "--resample", 0, 8, 8)
    assert code == 1
    assert "above 0" in said

"""Files as other programs write them: layouts, axes, units, laziness."""

import json
import warnings

import h5py
import numpy as np
import pytest
import tifffile
import volume_samples
import zarr
from numpy.testing import assert_array_equal
from volume_samples import image, labels

from napari_celis.io.sections import natural_key
from napari_celis.io.volumes import list_datasets, open_volume, read_image, read_labels

CREMI_NM = (40.0, 4.0, 4.0)


@pytest.mark.parametrize("format_name", volume_samples.FORMATS)
def test_every_sample_opens(tmp_path, format_name):
    for target in volume_samples.FORMATS[format_name](tmp_path):
        infos = list_datasets(target)
        if sum(info.is_volume for info in infos) > 1 and ":" not in target:
            continue
        voxels = open_volume(target).read()
        if target.endswith(":bodies"):
            assert_array_equal(voxels, labels() // 7 + 1)
        else:
            assert_array_equal(voxels, labels() if voxels.dtype == np.uint64 else image())
        assert voxels.dtype.isnative


def test_cremi(tmp_path):
    raw, _, ids, _, path, _ = volume_samples.cremi(tmp_path)
    volume = open_volume(raw)
    assert volume.voxel_size_nm == CREMI_NM
    assert volume.offset_nm == (0.0, 8.0, 12.0)
    assert_array_equal(read_labels(open_volume(ids)), labels())
    found = {info.name: info for info in list_datasets(path)}
    assert found["volumes/raw"].shape == (6, 7, 8)
    assert found["volumes/raw"].voxel_size_nm == CREMI_NM


def test_the_file_stays_open_as_long_as_the_volume(tmp_path):
    volume = open_volume(volume_samples.cremi(tmp_path)[0])
    assert_array_equal(volume.data[2, 3:5], image()[2, 3:5])


def test_micrometres_in_hdf5(tmp_path):
    with h5py.File(tmp_path / "v.h5", "w") as file:
        file["exported"] = image()
        file["exported"].attrs["element_size_um"] = [0.04, 0.004, 0.004]
    assert open_volume(tmp_path / "v.h5").voxel_size_nm == CREMI_NM


def test_flyem_tables_leave_background_alone(tmp_path):
    with h5py.File(tmp_path / "v.h5", "w") as file:
        file["group/stack"] = np.array([[[0, 2**60 + 3], [5, 2**60 + 3]]], np.int64)
        file["group/transforms"] = np.array([[5, 2**60], [2**60 + 3, 7], [2**60 + 2, 8]], np.uint64)
    found = open_volume(f"{tmp_path / 'v.h5'}:group/bodies")
    assert found.dtype == np.uint64
    assert_array_equal(found.read(), [[[0, 7], [2**60, 7]]])


def test_a_real_dataset_called_bodies_wins(tmp_path):
    path = tmp_path / "v.h5"
    with h5py.File(path, "w") as file:
        file["stack"] = file["bodies"] = labels()
        file["transforms"] = np.array([[1, 1]], np.uint64)
    assert_array_equal(open_volume(f"{path}:bodies").read(), labels())
    assert [info.name for info in list_datasets(path)] == ["bodies", "stack", "transforms"]


@pytest.mark.parametrize(
    ("unit", "factor"),
    [("nm", 1), ("micron", 1e3), ("\\u00B5m", 1e3), ("um", 1e3), ("mm", 1e6), ("inch", 2.54e7)],
)
def test_imagej_units(tmp_path, unit, factor):
    metadata = {"axes": "ZYX", "spacing": 8.0, "unit": unit}
    tifffile.imwrite(tmp_path / "v.tif", image(), imagej=True, metadata=metadata, resolution=(0.5, 0.25))
    assert open_volume(tmp_path / "v.tif").voxel_size_nm == pytest.approx(
        (8 * factor, 4 * factor, 2 * factor)
    )


def test_tiff_without_a_unit_has_no_voxel_size(tmp_path):
    tifffile.imwrite(tmp_path / "v.tif", image(), imagej=True, metadata={"axes": "ZYX"}, resolution=(72, 72))
    assert list_datasets(tmp_path / "v.tif")[0].voxel_size_nm is None
    assert open_volume(tmp_path / "v.tif").voxel_size_nm == (1.0, 1.0, 1.0)


@pytest.mark.parametrize("unit", [None, "nm"])
def test_ome_tiff(tmp_path, unit):
    metadata = {"axes": "ZYX", "PhysicalSizeX": 4.0, "PhysicalSizeY": 5.0, "PhysicalSizeZ": 40.0}
    if unit:
        metadata |= {f"PhysicalSize{axis}Unit": unit for axis in "XYZ"}
    tifffile.imwrite(tmp_path / "v.ome.tif", image(), metadata=metadata)
    factor = 1 if unit else 1000
    assert open_volume(tmp_path / "v.ome.tif").voxel_size_nm == (40.0 * factor, 5.0 * factor, 4.0 * factor)


@pytest.mark.parametrize(
    "options", [{"bigtiff": True}, {"byteorder": ">"}, {"compression": "zlib"}, {"tile": (16, 16)}]
)
def test_kinds_of_tiff(tmp_path, options):
    data = (labels() % 65521).astype(np.uint16)
    tifffile.imwrite(tmp_path / "v.tif", data, photometric="minisblack", metadata=None, **options)
    volume = open_volume(tmp_path / "v.tif")
    assert volume.data.dtype.isnative
    assert_array_equal(volume.data[1:4, 2, ::3], data[1:4, 2, ::3])
    assert_array_equal(volume.read(), data)


def test_time_stands_in_for_z_in_tiff(tmp_path):
    tifffile.imwrite(tmp_path / "v.tif", image(), imagej=True, metadata={"axes": "TYX"})
    assert_array_equal(open_volume(tmp_path / "v.tif").read(), image())


def test_sections_are_counted_as_people_do(tmp_path):
    for z in range(12):
        tifffile.imwrite(tmp_path / f"Slice{z}.TIF", np.full((4, 5), z, np.uint16))
    (tmp_path / ".hidden.tif").write_text("")
    (tmp_path / "notes.txt").write_text("")
    assert_array_equal(open_volume(tmp_path).read()[:, 0, 0], np.arange(12))
    assert sorted(["z10", "Z2", "z1a", "z1"], key=natural_key) == ["z1", "z1a", "Z2", "z10"]


def test_npy_is_mapped_and_fortran_order_is_turned(tmp_path):
    np.save(tmp_path / "v.npy", np.asfortranarray(image()))
    assert_array_equal(open_volume(tmp_path / "v.npy").read(), image())


def test_npz(tmp_path):
    raw, ids, path = volume_samples.npz(tmp_path)
    assert open_volume(raw).voxel_size_nm == CREMI_NM
    assert_array_equal(open_volume(ids).read(), labels())
    assert {info.name for info in list_datasets(path)} == {"raw", "ids"}


def test_zarr_attributes(tmp_path):
    raw, _, path = volume_samples.zarr2(tmp_path)
    assert open_volume(raw).voxel_size_nm == CREMI_NM
    assert open_volume(raw).offset_nm == (0.0, 8.0, 12.0)
    assert open_volume(f"{path}/raw").voxel_size_nm == CREMI_NM
    attributes = {"voxel_size": [40, 4, 4], "offset": [4, 0, 0], "units": ["nm", "um", "angstrom"]}
    zarr.create_array(tmp_path / "units.zarr", data=image(), attributes=attributes)
    assert open_volume(tmp_path / "units.zarr").voxel_size_nm == pytest.approx((40, 4000, 0.4))


def test_peculiar_but_readable_zarr_makes_no_noise(tmp_path):
    zarr.create_array(tmp_path / "v.zarr", data=image(), zarr_format=2)
    metadata = tmp_path / "v.zarr" / ".zarray"
    metadata.write_text(json.dumps(json.loads(metadata.read_text()) | {"filters": []}))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_array_equal(open_volume(tmp_path / "v.zarr").read(), image())


def test_opening_a_huge_zarr_costs_nothing(tmp_path):
    zarr.create_array(
        tmp_path / "v.zarr", shape=(5000, 5000, 5000), chunks=(64, 64, 64), dtype="u1", fill_value=3
    )
    volume = open_volume(tmp_path / "v.zarr")
    assert volume.nbytes == 125_000_000_000
    assert_array_equal(volume.data[4999, 10:12, -1], [3, 3])


def test_n5(tmp_path):
    raw, ids, path = volume_samples.n5(tmp_path)
    assert open_volume(raw).voxel_size_nm == pytest.approx(CREMI_NM)
    assert_array_equal(read_labels(open_volume(ids)), labels())
    assert [info.name for info in list_datasets(path)] == ["ids", "raw"]


def test_n5_transform(tmp_path):
    raw, _, _ = volume_samples.n5(tmp_path)
    attributes = tmp_path / "volumes.n5" / "raw" / "attributes.json"
    transform = '"transform": {"axes": ["z", "y", "x"], "scale": [40, 4, 5], "translate": [1, 2, 3], '
    units = '"units": ["nm", "nm", "nm"]}'
    attributes.write_text(attributes.read_text().rstrip().removesuffix("}") + f", {transform}{units}}}")
    assert open_volume(raw).voxel_size_nm == (40.0, 4.0, 5.0)
    assert open_volume(raw).offset_nm == (1.0, 2.0, 3.0)


def test_precomputed_offsets_of_others(tmp_path):
    target = volume_samples.precomputed(tmp_path)[1]
    info = tmp_path / "image.precomputed" / "info"
    info.write_text(info.read_text().replace('"celis"', '"other"'))
    volume = open_volume(f"precomputed://{target}")
    assert volume.offset_nm == (40.0, 8.0, 12.0)
    assert_array_equal(read_image(volume), image())


@pytest.mark.parametrize("suffix", ["", ".dat"])
def test_unusual_names_are_recognised_by_content(tmp_path, suffix):
    np.save(tmp_path / "v.npy", image())
    (tmp_path / "v.npy").rename(tmp_path / f"v{suffix}")
    assert_array_equal(open_volume(tmp_path / f"v{suffix}").read(), image())

import json

import numpy as np
import pytest
import volume_samples
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_array_equal
from ome_zarr_models.v05.image import Image
from ome_zarr_models.v05.image_label import ImageLabel

from napari_celis.core.errors import CorruptFileError, VolumeError
from napari_celis.core.volume import Volume
from napari_celis.io import blocks, ome_zarr, pyramid
from napari_celis.io.volumes import list_datasets, open_volume, write_volume

FEW = settings(max_examples=40, deadline=None)


@pytest.fixture
def large():
    rng = np.random.default_rng(0)
    return np.repeat(np.repeat(rng.integers(1, 2**63, (20, 50, 45), dtype=np.uint64), 3, 1), 3, 2)


@pytest.mark.parametrize(("kind", "model"), [("image", Image), ("labels", ImageLabel)])
def test_the_metadata_is_valid(tmp_path, large, kind, model):
    write_volume(Volume(large, (40.0, 4.0, 4.0), (0.0, 8.0, 12.0)), tmp_path / "v.ome.zarr", kind=kind)
    group = zarr.open_group(tmp_path / "v.ome.zarr", mode="r")
    multiscale = model.from_zarr(group).attributes.ome.multiscales[0]
    assert [axis.name for axis in multiscale.axes] == ["z", "y", "x"]
    assert {axis.unit for axis in multiscale.axes} == {"nanometer"}
    assert group["0"].metadata.dimension_names == ("z", "y", "x")
    assert group["0"].shards is None
    assert ("image-label" in group.attrs["ome"]) == (kind == "labels")


def test_levels_lie_where_they_belong(tmp_path, large):
    write_volume(Volume(large, (40.0, 4.0, 4.0), (5.0, 8.0, 12.0)), tmp_path / "v.zarr", kind="labels")
    volumes = [open_volume(tmp_path / "v.zarr", level=level) for level in range(3)]
    assert [volume.shape for volume in volumes] == [(20, 150, 135), (20, 75, 68), (20, 38, 34)]
    assert [volume.voxel_size_nm for volume in volumes] == [
        (40.0, 4.0, 4.0),
        (40.0, 8.0, 8.0),
        (40.0, 16.0, 16.0),
    ]
    assert [volume.offset_nm for volume in volumes] == [
        (5.0, 8.0, 12.0),
        (5.0, 10.0, 14.0),
        (5.0, 14.0, 18.0),
    ]
    assert list_datasets(tmp_path / "v.zarr")[0].n_levels == 3
    assert open_volume(tmp_path / "v.zarr" / "1").offset_nm == (5.0, 10.0, 14.0)
    assert set(np.unique(volumes[2].read())) <= set(np.unique(large))


def test_levels_do_not_depend_on_the_blocks(tmp_path, large, monkeypatch):
    for kind in ("image", "labels"):
        write_volume(Volume(large), tmp_path / f"{kind}-whole.zarr", kind=kind)
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 2**12)
    monkeypatch.setattr(ome_zarr, "CHUNK", 16)
    for kind in ("image", "labels"):
        write_volume(Volume(large), tmp_path / f"{kind}-parts.zarr", kind=kind)
        for level in range(3):
            whole, parts = (
                open_volume(tmp_path / f"{kind}-{how}.zarr", level=level) for how in ("whole", "parts")
            )
            assert_array_equal(whole.read(), parts.read())


@given(hnp.arrays(np.uint64, st.tuples(*[st.integers(1, 5)] * 3), elements=st.integers(0, 3)))
@FEW
def test_labels_shrink_by_majority(labels):
    small = pyramid.shrink_labels(labels, (2, 1, 2))
    for z, y, x in np.ndindex(small.shape):
        group = labels[2 * z : 2 * z + 2, y, 2 * x : 2 * x + 2]
        ids, counts = np.unique(group, return_counts=True)
        assert small[z, y, x] in ids[counts == counts.max()]


@given(hnp.arrays(np.int16, st.tuples(*[st.integers(1, 5)] * 3)))
@FEW
def test_images_shrink_by_the_mean(image):
    small = pyramid.shrink_image(image, (2, 2, 1))
    for z, y, x in np.ndindex(small.shape):
        group = image[2 * z : 2 * z + 2, 2 * y : 2 * y + 2, x]
        assert abs(float(small[z, y, x]) - group.mean()) <= 0.5


@pytest.mark.parametrize(
    ("shape", "size", "factors"),
    [
        ((64, 64, 64), (1.0, 1.0, 1.0), None),
        ((65, 64, 64), (1.0, 1.0, 1.0), (2, 2, 2)),
        ((500, 100, 100), (40.0, 4.0, 4.0), (1, 2, 2)),
        ((500, 60, 60), (40.0, 4.0, 4.0), None),
        ((500, 100, 100), (30.0, 16.0, 16.0), (2, 2, 2)),
        ((1, 100, 100), (1.0, 4.0, 4.0), (1, 2, 2)),
        ((1, 1, 1), (1.0, 1.0, 1.0), None),
    ],
)
def test_axes_are_halved_until_voxels_are_cubes(shape, size, factors):
    assert pyramid.choose_factors(shape, size) == factors


def write_ome(folder, *, axes, scale, translation, shape, outer=None, version="0.5"):
    group = zarr.open_group(folder, mode="w", zarr_format=3 if version == "0.5" else 2)
    data = np.arange(np.prod(shape), dtype=np.uint16).reshape(shape)
    group.create_array("s0", data=data)
    transformations = [{"type": "scale", "scale": scale}, {"type": "translation", "translation": translation}]
    multiscale = {"axes": axes, "datasets": [{"path": "s0", "coordinateTransformations": transformations}]}
    if outer:
        multiscale["coordinateTransformations"] = outer
    content = {"multiscales": [multiscale]}
    group.attrs.update({"ome": {"version": "0.5", **content}} if version == "0.5" else content)
    return data


@pytest.mark.parametrize("version", ["0.4", "0.5"])
def test_units_axes_and_outer_transformations(tmp_path, version):
    space = [
        {"name": a, "type": "space", "unit": u}
        for a, u in zip("zyx", ("micrometer", "angstrom", "nm"), strict=True)
    ]
    axes = [{"name": "t", "type": "time"}, {"name": "c", "type": "channel"}, *space]
    outer = [
        {"type": "scale", "scale": [1, 1, 2, 2, 2]},
        {"type": "translation", "translation": [0, 0, 1, 1, 1]},
    ]
    data = write_ome(
        tmp_path / "v.zarr",
        axes=axes,
        scale=[1, 1, 0.5, 30.0, 4.0],
        translation=[0, 0, 1.0, 10.0, 3.0],
        shape=(1, 1, 2, 3, 4),
        outer=outer,
        version=version,
    )
    volume = open_volume(tmp_path / "v.zarr")
    assert_array_equal(volume.read(), data[0, 0])
    assert volume.voxel_size_nm == (1000.0, 6.0, 8.0)
    assert volume.offset_nm == pytest.approx((3000.0, 2.1, 7.0))


def test_axes_in_another_order(tmp_path):
    axes = [{"name": name, "type": "space", "unit": "nanometer"} for name in "xzy"]
    data = write_ome(tmp_path / "v.zarr", axes=axes, scale=[4, 40, 5], translation=[1, 2, 3], shape=(2, 3, 4))
    volume = open_volume(tmp_path / "v.zarr")
    assert volume.voxel_size_nm == (40.0, 5.0, 4.0)
    assert volume.offset_nm == (2.0, 3.0, 1.0)
    assert_array_equal(volume.read(), data.transpose(1, 2, 0))
    assert_array_equal(volume.data[2, 1:3, 0], data.transpose(1, 2, 0)[2, 1:3, 0])


NM = [{"name": axis, "type": "space", "unit": "nanometer"} for axis in "zyx"]
UM = [{"name": axis, "type": "space", "unit": "micrometer"} for axis in "zyx"]
VOXELS = [{"name": f"dim_{i}", "type": "array"} for i in range(3)]


def write_six(folder, *, systems, inner, outer=(), version="0.6"):
    """Write a volume as the standard shows it: axes in coordinate systems, one transformation per level."""
    group = zarr.open_group(folder, mode="w", zarr_format=3)
    group.create_array("s0", data=np.zeros((2, 3, 4), np.uint8))
    multiscale = {
        "coordinateSystems": [{"name": name, "axes": axes} for name, axes in systems.items()],
        "datasets": [{"path": "s0", "coordinateTransformations": [inner]}],
        "coordinateTransformations": list(outer),
    }
    group.attrs["ome"] = {"version": version, "multiscales": [multiscale]}
    return folder


def between(kind, source, target, **settings):
    return {"type": kind, "input": source, "output": target, **settings}


def test_version_06_has_axes_in_coordinate_systems(tmp_path):
    path, physical = {"path": "s0"}, {"name": "physical"}
    steps = [
        {"type": "scale", "scale": [0.04, 0.004, 0.005]},
        {"type": "translation", "translation": [0.1, 0.2, 0.3]},
    ]
    six = write_six(
        tmp_path / "a.zarr",
        systems={"aligned": NM, "physical": UM},
        inner=between("sequence", path, physical, transformations=steps),
        # Where another program put the volume says nothing about the volume itself.
        outer=[between("affine", physical, {"name": "aligned"}, affine=[[1, 0, 0, 0]] * 3)],
    )
    volume = open_volume(six)
    assert volume.voxel_size_nm == pytest.approx((40.0, 4.0, 5.0))
    assert volume.offset_nm == pytest.approx((100.0, 200.0, 300.0))
    assert list_datasets(six)[0].voxel_size_nm == pytest.approx((40.0, 4.0, 5.0))
    single = write_six(
        tmp_path / "b.zarr",
        systems={"physical": NM},
        inner=between("scale", path, physical, scale=[40, 4, 5]),
    )
    assert open_volume(single).voxel_size_nm == (40.0, 4.0, 5.0)
    # A sequence is done in its order, whatever that is.
    turned = write_six(
        tmp_path / "c.zarr",
        systems={"physical": UM},
        inner=between("sequence", path, physical, transformations=steps[::-1]),
    )
    assert open_volume(turned).offset_nm == pytest.approx((4.0, 0.8, 1.5))


@pytest.mark.parametrize("version", ["0.6.dev4", "0.6rc0"])
def test_levels_of_version_06_in_voxels_lead_on_to_lengths(tmp_path, version):
    """Drafts name systems by plain text."""
    six = write_six(
        tmp_path / "v.zarr",
        systems={"physical": UM, "array": VOXELS},
        inner=between("identity", "s0", "array"),
        outer=[between("scale", "array", "physical", scale=[0.04, 0.004, 0.005])],
        version=version,
    )
    assert open_volume(six).voxel_size_nm == pytest.approx((40.0, 4.0, 5.0))


def test_levels_of_version_06_in_unknown_systems(tmp_path):
    six = write_six(
        tmp_path / "v.zarr",
        systems={"physical": UM},
        inner=between("scale", {"path": "s0"}, {"name": "other"}, scale=[1, 1, 1]),
    )
    with pytest.raises(CorruptFileError, match="other"):
        open_volume(six)


@pytest.mark.parametrize("version", ["0.7", "0.9.dev2", "1.0", "0.60"])
def test_unknown_versions_are_refused(tmp_path, version):
    write_volume(Volume(volume_samples.image(), (40.0, 4.0, 4.0)), tmp_path / "v.zarr", kind="image")
    metadata = tmp_path / "v.zarr" / "zarr.json"
    metadata.write_text(metadata.read_text().replace('"version": "0.5"', f'"version": "{version}"'))
    with pytest.raises(VolumeError, match=f"version {version}, but versions 0.1 to 0.6 can be read"):
        open_volume(tmp_path / "v.zarr")


def test_levels_cannot_leave_the_group(tmp_path):
    write_volume(Volume(volume_samples.image()), tmp_path / "v.zarr", kind="image")
    metadata = tmp_path / "v.zarr" / "zarr.json"
    metadata.write_text(metadata.read_text().replace('"path": "0"', '"path": "../secret"'))
    with pytest.raises(CorruptFileError, match="leaves the group"):
        open_volume(tmp_path / "v.zarr")
    assert_array_equal(open_volume(f"{tmp_path / 'v.zarr'}:0").read(), volume_samples.image())


def test_adding_a_volume_drops_consolidated_metadata(tmp_path):
    write_volume(Volume(volume_samples.image()), f"{tmp_path / 'v.zarr'}:raw", kind="image")
    zarr.consolidate_metadata(tmp_path / "v.zarr")
    write_volume(Volume(volume_samples.labels()), f"{tmp_path / 'v.zarr'}:ids", kind="labels")
    assert "consolidated_metadata" not in json.loads((tmp_path / "v.zarr" / "zarr.json").read_text())
    assert sorted(zarr.open_group(tmp_path / "v.zarr", mode="r").group_keys()) == ["ids", "raw"]

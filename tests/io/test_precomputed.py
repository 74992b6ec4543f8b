"""Precomputed volumes as neuroglancer and tensorstore see them: scales, surfaces, properties."""

import json
import os

import numpy as np
import pytest
import tensorstore
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from napari_celis.core.errors import CorruptFileError, VolumeError
from napari_celis.core.volume import Volume
from napari_celis.io.neuroglancer import LinkedVolume, neuroglancer_state
from napari_celis.io.precomputed_scales import precomputed_info
from napari_celis.io.precomputed_segments import largest_segments, segment_properties
from napari_celis.io.property_table import read_properties
from napari_celis.io.volumes import list_datasets, open_volume, write_volume

SIZE, OFFSET = (40.0, 4.0, 5.0), (120.0, 12.0, -35.0)
BIG = 2**63 + 5


def labels() -> np.ndarray:
    voxels = np.zeros((6, 130, 70), np.uint64)
    voxels[1:4, 10:40, 20:60] = 7
    voxels[2:, 60:, 30:] = BIG
    return voxels


@pytest.fixture
def cells(tmp_path):
    properties = {7: {"name": "soma", "state": "to do", "length": 2.5}, 9: {"note": "gone"}}
    return write_volume(
        Volume(labels(), SIZE, OFFSET),
        tmp_path / "cells.precomputed",
        kind="labels",
        properties=properties,
        meshes=True,
    )


def their_scale(path, index):
    spec = {"driver": "neuroglancer_precomputed", "kvstore": f"file://{path}/", "scale_index": index}
    return tensorstore.open(spec, open=True, read=True).result()


def test_scales_lie_on_one_grid(cells):
    assert list_datasets(cells)[0].n_levels == 3
    fine = their_scale(cells, 0)
    assert_array_equal(fine[..., 0].read().result().T, labels())
    for level in (1, 2):
        scale = their_scale(cells, level)
        factor = 2**level
        assert [float(unit.multiplier) for unit in scale.dimension_units[:3]] == [5 * factor, 4 * factor, 40]
        # Every coarse voxel shows a label that lies in it, where both say they are.
        voxels = scale[..., 0].read().result()
        (x0, y0, z0), (fx, fy, fz) = scale.domain.origin[:3], fine.domain.origin[:3]
        for x, y, z in np.random.default_rng(0).integers(voxels.shape, size=(100, 3)):
            low = [factor * (x0 + x) - fx, factor * (y0 + y) - fy, z0 + z - fz]
            part = labels().T[
                max(low[0], 0) : low[0] + factor, max(low[1], 0) : low[1] + factor, low[2] : low[2] + 1
            ]
            assert voxels[x, y, z] in part


def test_our_reader_places_coarse_scales(cells):
    """With an offset of a multiple of the coarse voxels the pyramid of OME-Zarr has the same places."""
    offset = (40.0, 16.0, 20.0)
    place = cells.parent
    volume = Volume(labels(), SIZE, offset)
    for name in ("a.precomputed", "a.zarr"):
        write_volume(volume, place / name, kind="labels")
    for level in range(3):
        ours, theirs = (open_volume(place / name, level=level) for name in ("a.zarr", "a.precomputed"))
        assert theirs.voxel_size_nm == ours.voxel_size_nm
        assert_allclose(theirs.offset_nm, ours.offset_nm)
        assert theirs.shape == ours.shape
    assert open_volume(cells, level=1).offset_nm == pytest.approx((120.0, 10.0, -37.5))


@given(
    st.tuples(*[st.integers(1, 300)] * 3),
    st.tuples(*[st.sampled_from([1.0, 4.0, 8.0, 40.0])] * 3),
    st.tuples(*[st.integers(-50, 50)] * 3),
)
@settings(max_examples=60, deadline=None)
def test_scales_cover_the_volume(shape, size, first):
    offset = tuple(start * length for start, length in zip(first, size, strict=True))
    data = np.broadcast_to(np.uint8(0), shape)
    scales = precomputed_info(Volume(data, size, offset), "uint8", "image")["scales"]
    low, high = (
        np.multiply(np.add(scale["voxel_offset"], end), scale["resolution"])
        for scale, end in ((scales[0], [0, 0, 0]), (scales[0], scales[0]["size"]))
    )
    for scale in scales[1:]:
        coarse_low = np.multiply(scale["voxel_offset"], scale["resolution"])
        coarse_high = coarse_low + np.multiply(scale["size"], scale["resolution"])
        assert np.all(coarse_low <= low)
        assert np.all(low < coarse_low + scale["resolution"])
        assert np.all(coarse_high >= high)
        assert np.all(high > coarse_high - scale["resolution"])


def read_mesh(folder, label):
    """Read a surface as the format's page describes it."""
    manifest = json.loads((folder / "mesh" / f"{label}:0").read_text())
    [fragment] = manifest["fragments"]
    content = (folder / "mesh" / fragment).read_bytes()
    n = int(np.frombuffer(content, "<u4", 1)[0])
    positions = np.frombuffer(content, "<f4", 3 * n, 4).reshape(n, 3)
    return positions, np.frombuffer(content, "<u4", offset=4 + 12 * n).reshape(-1, 3)


def volume_inside(positions, faces):
    a, b, c = (positions[faces[:, i]].astype(float) for i in range(3))
    return np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6


@pytest.mark.skipif(os.name == "nt", reason="names of files with a colon")
def test_surfaces_lie_around_their_voxels(cells):
    info = json.loads((cells / "info").read_text())
    assert json.loads((cells / info["mesh"] / "info").read_text()) == {"@type": "neuroglancer_legacy_mesh"}
    positions, faces = read_mesh(cells, 7)
    scale = info["scales"][0]
    inside = np.argwhere(labels().T == 7)
    for extreme, voxels in (
        (positions.min(axis=0), inside.min(axis=0)),
        (positions.max(axis=0), inside.max(axis=0) + 1),
    ):
        border = (voxels + scale["voxel_offset"]) * scale["resolution"]
        assert np.all(np.abs(extreme - border) <= np.array(scale["resolution"]))
    # Turned outwards, closed, and about as large as the voxels.
    n_nm3 = len(inside) * np.prod(scale["resolution"])
    assert 0.7 * n_nm3 < volume_inside(positions, faces) < 1.1 * n_nm3
    edges = np.sort(np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]), axis=1)
    assert np.all(np.unique(edges, axis=0, return_counts=True)[1] == 2)
    assert sorted(file.name for file in (cells / "mesh").iterdir()) == sorted(
        ["info", "7", "7:0", str(BIG), f"{BIG}:0"]
    )


def test_segment_properties(cells):
    info = json.loads((cells / "info").read_text())
    stored = json.loads((cells / info["segment_properties"] / "info").read_text())
    assert stored["@type"] == "neuroglancer_segment_properties"
    assert stored["inline"]["ids"] == ["7", "9", str(BIG)]
    columns = {column["id"]: column for column in stored["inline"]["properties"]}
    assert columns["name"] == {"id": "name", "type": "label", "values": ["soma", "", ""]}
    assert columns["note"] == {"id": "note", "type": "description", "values": ["", "gone", ""]}
    assert columns["state"] == {"id": "state", "type": "tags", "tags": ["to-do"], "values": [[0], [], []]}
    assert columns["length"] == {"id": "length", "type": "string", "values": ["2.5", "", ""]}
    sizes = segment_properties({1: 10, 2: 2**40}, {})["inline"]["properties"]
    assert sizes == [{"id": "voxels", "type": "number", "data_type": "float32", "values": [10, 2**40]}]


def test_a_view_without_a_choice_shows_the_largest_segments(tmp_path):
    path = write_volume(Volume(labels(), SIZE), tmp_path / "cells.precomputed", kind="labels")
    assert largest_segments(path, 1) == (BIG,)
    state = neuroglancer_state([LinkedVolume(path, Volume(labels(), SIZE), "labels")])
    assert state["layers"][0]["segments"] == [str(BIG), "7"]
    assert largest_segments(tmp_path, 1) == ()


def test_a_volume_with_its_extras_is_replaced(cells):
    write_volume(Volume(labels()), cells, kind="image")
    assert {entry.name for entry in cells.iterdir()} == {"info", "0"} | {"1", "2"}
    (cells / "mine.txt").touch()
    with pytest.raises(VolumeError, match="will not be replaced"):
        write_volume(Volume(labels()), cells, kind="labels")


def test_properties_come_from_a_table(tmp_path):
    table = tmp_path / "cells.csv"
    table.write_text("id,name,length\n7,soma,2.5\n9,,3\n18446744073709551615,axon,\n", encoding="utf-8-sig")
    assert read_properties(table) == {
        7: {"name": "soma", "length": 2.5},
        9: {"length": 3},
        2**64 - 1: {"name": "axon"},
    }


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("segment,name\n7,a\n", "none is called `id`"),
        ("id,name\n-7,a\n", "line 2 has the id '-7'"),
        ("id,name\n7,a\n7,b\n", "line 3, names label 7 again"),
        ("id,name\n,a\n", "line 2 has the id ''"),
    ],
)
def test_tables_that_cannot_be_understood(tmp_path, text, words):
    (tmp_path / "cells.csv").write_text(text)
    with pytest.raises(CorruptFileError, match=words):
        read_properties(tmp_path / "cells.csv")

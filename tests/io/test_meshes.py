"""Surfaces lie where their segments lie, and files hold them in the order other programs expect."""

import numpy as np
import pytest

from napari_celis.core.errors import VolumeError
from napari_celis.io.meshes import Mesh, segment_mesh, write_meshes

WHOLE = (slice(0, 6), slice(0, 8), slice(0, 12))
TETRAHEDRON = Mesh(
    np.array([[0, 0, 0], [30, 0, 0], [0, 20, 0], [0, 0, 10]], np.float32),
    np.array([[0, 1, 2], [0, 3, 1], [0, 2, 3], [1, 3, 2]], np.int32),
)


def a_block():
    dense = np.zeros((6, 8, 12), np.int32)
    dense[1:3, 2:5, 3:8] = 1
    dense[1:3, 2:5, 8:10] = 4
    dense[5] = 2
    return dense


def volume_of(mesh):
    """Return the signed volume of a closed surface."""
    a, b, c = (mesh.vertices[mesh.faces[:, k]].astype(float) for k in range(3))
    return np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6


def test_a_mesh_encloses_its_voxels_in_world_coordinates():
    mesh = segment_mesh(
        a_block(), np.array([1, 4]), WHOLE, voxel_size=(40.0, 4.0, 4.0), offset=(100.0, 0.0, -8.0)
    )
    np.testing.assert_allclose(mesh.vertices.min(axis=0), (0.5 * 40 + 100, 1.5 * 4, 2.5 * 4 - 8), rtol=1e-5)
    np.testing.assert_allclose(mesh.vertices.max(axis=0), (2.5 * 40 + 100, 4.5 * 4, 9.5 * 4 - 8), rtol=1e-5)


def test_a_box_gives_a_mesh_in_the_same_place_as_the_whole_volume():
    box = (slice(1, 3), slice(2, 5), slice(3, 8))
    whole, cropped = (segment_mesh(a_block(), np.array([1]), part) for part in (WHOLE, box))
    for end in (np.min, np.max):
        np.testing.assert_allclose(end(cropped.vertices, axis=0), end(whole.vertices, axis=0), atol=0.2)


def test_the_box_is_found_if_it_is_not_given():
    box = (slice(1, 3), slice(2, 5), slice(3, 10))
    given, found = (segment_mesh(a_block(), np.array([1, 4]), part) for part in (box, None))
    np.testing.assert_array_equal(found.vertices, given.vertices)
    assert not len(segment_mesh(a_block(), np.array([9])).faces)


def test_a_segment_at_the_edge_of_the_volume_is_closed():
    mesh = segment_mesh(a_block(), np.array([2]), WHOLE)
    edges = np.sort(mesh.faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1)
    assert (np.unique(edges, axis=0, return_counts=True)[1] == 2).all()


def test_a_large_segment_is_coarser_and_stays_in_place():
    dense = np.zeros((40, 40, 40), np.int32)
    dense[8:32, 8:32, 8:32] = 1
    box = (slice(8, 32),) * 3
    fine, coarse = (segment_mesh(dense, np.array([1]), box, max_voxels=n) for n in (10**6, 2000))
    np.testing.assert_allclose(coarse.vertices.min(axis=0), fine.vertices.min(axis=0), atol=1)
    np.testing.assert_allclose(coarse.vertices.max(axis=0), fine.vertices.max(axis=0), atol=1)
    assert len(coarse.faces) < len(fine.faces)


def test_thin_processes_survive_coarsening():
    dense = np.zeros((1, 1, 64), np.int32)
    dense[:, :, 1::2] = 1
    mesh = segment_mesh(dense, np.array([1]), (slice(0, 1), slice(0, 1), slice(0, 64)), max_voxels=20)
    assert mesh.vertices[:, 2].max() > 60


def test_nothing_gives_an_empty_mesh():
    assert len(segment_mesh(a_block(), np.array([3]), WHOLE).faces) == 0


def test_an_obj_file_counts_vertices_through_all_objects(tmp_path):
    path = write_meshes(tmp_path / "two.obj", {"a": TETRAHEDRON, "b": TETRAHEDRON})
    lines = [line.split() for line in path.read_text().splitlines()]
    assert [words[1] for words in lines if words[0] == "o"] == ["a", "b"]
    assert [float(word) for word in lines[2][1:]] == [0, 0, 30]
    faces = np.array([words[1:] for words in lines if words[0] == "f"], int)
    assert (faces.min(), faces[4:].min(), faces.max()) == (1, 5, 8)
    vertices = np.array([words[1:] for words in lines if words[0] == "v"], float)
    swapped = Mesh(vertices[:4], faces[:4] - 1)
    assert np.sign(volume_of(swapped)) == np.sign(volume_of(TETRAHEDRON))


def test_a_ply_file_reads_back(tmp_path):
    path = write_meshes(tmp_path / "one.ply", {"a": TETRAHEDRON, "b": TETRAHEDRON})
    header, body = path.read_bytes().split(b"end_header\n")
    assert b"element vertex 8" in header
    assert b"element face 8" in header
    np.testing.assert_array_equal(np.frombuffer(body, "<f4", 12).reshape(4, 3), TETRAHEDRON.vertices[:, ::-1])
    rows = np.frombuffer(body, [("n", "u1"), ("corners", "<i4", 3)], offset=8 * 12)
    assert (rows["n"] == 3).all()
    np.testing.assert_array_equal(rows["corners"][:4], TETRAHEDRON.faces[:, ::-1])
    assert rows["corners"][4:].min() == 4


def test_a_failed_write_leaves_the_old_file_and_no_part(tmp_path):
    path = write_meshes(tmp_path / "cell.obj", {"a": TETRAHEDRON})
    before = path.read_bytes()
    with pytest.raises(IndexError):
        write_meshes(path, {"a": TETRAHEDRON, "b": Mesh(np.zeros(3), TETRAHEDRON.faces)})
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_wrong_suffix_and_an_empty_selection_are_refused(tmp_path):
    with pytest.raises(VolumeError, match=r"ends in \.obj or \.ply"):
        write_meshes(tmp_path / "cell.stl", {"a": TETRAHEDRON})
    with pytest.raises(VolumeError, match="no surface to write"):
        write_meshes(tmp_path / "cell.obj", {})

"""Surfaces for the 3-D view: closed, smooth, in place, whatever pieces they are made of."""

from __future__ import annotations

import numpy as np
import pytest

from napari_celis.io import surfaces
from napari_celis.io.surfaces import smooth_surface

WHOLE = (slice(0, 24), slice(0, 30), slice(0, 28))


def ball(radius=9.0):
    """Fill a ball around (12, 15, 14) with two supervoxels."""
    z, y, x = np.indices([part.stop for part in WHOLE])
    is_inside = (z - 12) ** 2 + (y - 15) ** 2 + (x - 14) ** 2 <= radius**2
    return (is_inside * (1 + (x > 14))).astype(np.int32)


def edge_counts(faces):
    edges = np.sort(np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]), axis=1)
    return set(np.unique(edges, axis=0, return_counts=True)[1].tolist())


@pytest.mark.parametrize("piece", [5, 8, 40])
def test_a_ball_is_closed_and_round_wherever_it_is_cut(monkeypatch, piece):
    monkeypatch.setattr(surfaces, "PIECE", piece)
    mesh = smooth_surface(ball(), np.array([1, 2]), WHOLE)
    assert edge_counts(mesh.faces) == {2}
    radius = np.linalg.norm(mesh.vertices - (12, 15, 14), axis=1)
    assert radius.min() > 8.5
    assert radius.max() < 9.7


def test_pieces_make_the_same_triangles_as_the_whole(monkeypatch):
    dense = np.random.default_rng(0).integers(0, 2, [part.stop for part in WHOLE]).astype(np.int32)
    whole = smooth_surface(dense, np.array([1]), WHOLE)
    monkeypatch.setattr(surfaces, "PIECE", 7)
    cut = smooth_surface(dense, np.array([1]), WHOLE)
    assert len(cut.faces) == len(whole.faces)
    np.testing.assert_allclose(cut.vertices, whole.vertices, atol=1e-4)


def test_the_box_gives_the_place_and_the_rim_of_the_volume_is_closed():
    dense = np.ones((6, 7, 8), dtype=np.int32)
    mesh = smooth_surface(dense, np.array([1]), (slice(2, 6), slice(0, 7), slice(3, 8)))
    assert edge_counts(mesh.faces) == {2}
    np.testing.assert_allclose(mesh.vertices.min(axis=0), (1.5, 0, 2.5), atol=0.2)
    np.testing.assert_allclose(mesh.vertices.max(axis=0), (5, 6, 7))


@pytest.mark.parametrize("limit", ["MAX_VOXELS", "MAX_FACES"])
def test_what_is_too_much_is_made_coarser(monkeypatch, limit):
    fine = smooth_surface(ball(), np.array([1, 2]), WHOLE)
    monkeypatch.setattr(surfaces, limit, 1000)
    coarse = smooth_surface(ball(), np.array([1, 2]), WHOLE)
    assert 0 < len(coarse.faces) < len(fine.faces) / 2
    np.testing.assert_allclose(coarse.vertices.mean(axis=0), (12, 15, 14), atol=1.5)


def test_a_thin_process_stays_whole_when_made_coarser(monkeypatch):
    dense = np.zeros((8, 8, 40), dtype=np.int32)
    dense[3, 4] = 1
    monkeypatch.setattr(surfaces, "MAX_VOXELS", 400)
    mesh = smooth_surface(dense, np.array([1]), (slice(0, 8), slice(0, 8), slice(0, 40)))
    assert edge_counts(mesh.faces) == {2}
    assert np.ptp(mesh.vertices[:, 2]) > 36


def test_nothing_has_no_surface():
    mesh = smooth_surface(ball(), np.array([], dtype=int), WHOLE)
    assert mesh.vertices.shape == (0, 3)
    assert mesh.faces.shape == (0, 3)

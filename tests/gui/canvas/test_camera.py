"""The camera goes where it is told, and shows little of what lies outside the volume."""

from __future__ import annotations

import numpy as np
import pytest
from napari.components import ViewerModel

from gui.conftest import SHAPE
from napari_celis.gui.canvas.camera import Camera


@pytest.mark.parametrize("scale", [(1, 1, 1), (4, 1, 1), (40, 4, 4)])
def test_flying_ends_at_the_voxel(scale):
    viewer = ViewerModel()
    layer = viewer.add_labels(np.ones(SHAPE, np.uint8), name="supervoxels", scale=scale, translate=(7, 0, 0))
    viewer.scene.camera.zoom = 1000
    fly_to = Camera(viewer, lambda: layer).fly_to
    fly_to((3, 15, 5))
    assert viewer.dims.point[0] == pytest.approx(7 + 3 * scale[0])
    assert viewer.scene.camera.center[1:] == pytest.approx((15 * scale[1], 5 * scale[2]))
    viewer.dims.ndisplay = 3
    fly_to((3, 15, 5))
    assert viewer.scene.camera.center == pytest.approx((7 + 3 * scale[0], 15 * scale[1], 5 * scale[2]))


def test_flying_to_an_edge_leaves_a_quarter_of_the_view_blank_at_most():
    viewer = ViewerModel()
    layer = viewer.add_labels(np.ones((4, 200, 100), np.uint8), name="supervoxels")
    viewer.canvas.size = (200, 300)
    fly_to = Camera(viewer, lambda: layer).fly_to
    camera = viewer.scene.camera
    camera.zoom = 1
    fly_to((2, 0, 0))
    assert camera.center[1:] == pytest.approx((50, 49.5))
    fly_to((2, 199, 30))
    assert camera.center[1:] == pytest.approx((149, 49.5))
    camera.zoom = 10
    fly_to((2, 0, 50))
    assert camera.center[1:] == pytest.approx((5, 50))


def test_without_a_layer_the_camera_stays():
    viewer = ViewerModel()
    before = tuple(viewer.scene.camera.center)
    Camera(viewer, lambda: None).fly_to((1, 2, 3))
    assert tuple(viewer.scene.camera.center) == before

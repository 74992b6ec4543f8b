"""A real window: what a drop, a save and the sample menu do in it."""

from __future__ import annotations

import numpy as np

from napari_celis.core.volume import Volume
from napari_celis.gui.plugin import viewer_window
from napari_celis.gui.plugin.demo import show_demo
from napari_celis.io.volumes import open_volume, write_volume

VOXEL_NM = (40.0, 4.0, 4.0)
GREY = Volume(np.arange(4 * 96 * 80, dtype=np.uint8).reshape(4, 96, 80), VOXEL_NM, name="grey")
IDS = Volume(np.repeat(np.arange(1, 5, dtype=np.uint64), 96 * 80).reshape(4, 96, 80) << 40, VOXEL_NM)


def test_drop_save_and_sample(our_plugin, make_napari_viewer, tmp_path):
    # One window for everything: each takes seconds to open.
    viewer = make_napari_viewer()
    window = viewer.window._qt_viewer

    path = write_volume(IDS, tmp_path / "ids.h5", kind="labels")
    window._qt_open([str(path)], stack=False)
    write_volume(GREY, tmp_path / "grey.zarr", kind="image")
    window._qt_open([str(tmp_path / "grey.zarr")], stack=False, plugin="napari-celis")
    ids = viewer.layers[0]
    assert len(viewer.layers) == 2
    assert ids.get_value((40.0, 100.0, 100.0), world=True) == 2 << 40
    viewer.dims.set_current_step(0, 3)
    assert viewer.dims.point[0] == 120.0

    viewer.layers.selection.active = ids
    [written] = viewer.layers.save(str(tmp_path / "saved.zarr"), selected=True, plugin="napari-celis")
    np.testing.assert_array_equal(open_volume(written).read(), IDS.data)
    assert open_volume(written).voxel_size_nm == VOXEL_NM

    viewer.layers.clear()
    image, *labels = viewer.open_sample("napari-celis", "neuropil-phantom")
    assert {layer.data.shape for layer in labels} == {image.data.shape}
    assert image._type_string == "image"
    assert {layer._type_string for layer in labels} == {"labels"}
    assert viewer.screenshot(canvas_only=False, flash=False).std() > 0


def test_demo_opens_on_the_sample_and_hands_over(make_napari_viewer, monkeypatch):
    viewer = make_napari_viewer()
    is_running = []
    monkeypatch.setattr(viewer_window, "Viewer", lambda title: viewer)
    monkeypatch.setattr(viewer_window, "run", lambda: is_running.append(True))
    show_demo()
    assert [layer.name for layer in viewer.layers] == ["image", "truth", "supervoxels"]
    assert [layer.visible for layer in viewer.layers] == [True, False, True]
    assert viewer.layers.selection.active.name == "supervoxels"
    assert is_running == [True]

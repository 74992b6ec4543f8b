"""A real window: what a drop, a save and the sample menu do in it."""

from __future__ import annotations

import numpy as np
import pytest

from gui.patience import be_patient
from napari_celis.cli import main
from napari_celis.core.volume import Volume
from napari_celis.gui.plugin import viewer_window
from napari_celis.gui.plugin.demo import show_demo
from napari_celis.gui.session.workspace import Workspace
from napari_celis.io.volumes import open_volume, write_volume
from scale.box_world import make_request, run_all, workers

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


def test_view_opens_a_box_of_a_result_with_everything_chosen(
    make_napari_viewer, monkeypatch, qtbot, tmp_path, capsys
):
    be_patient(qtbot)
    request = make_request(tmp_path)
    with workers() as client:
        run_all(request, client)

    def celis(*words):
        monkeypatch.setattr("sys.argv", ["celis", *words])
        with pytest.raises(SystemExit) as end:
            main()
        return end.value.code

    assert celis("view", request.output, "--box", "0", "99", "0", "10", "0", "10") == 1
    assert "does not lie in the volume, which has 12 × 40 × 60 voxels" in capsys.readouterr().err
    assert celis("view", str(tmp_path / "image.zarr"), "--box", "0", "9", "0", "10", "0", "10") == 1
    assert "holds no block-wise run" in capsys.readouterr().err
    arguments = ["view", request.output, "--box", "0", "12", "5", "30", "5", "45"]
    assert celis(*arguments, "--truth", "truth.h5") == 2
    assert "nothing else" in capsys.readouterr().err

    viewer = make_napari_viewer()
    monkeypatch.setattr(viewer_window, "Viewer", lambda title: viewer)

    def look():
        workspace = Workspace.of(viewer)
        qtbot.waitUntil(lambda: workspace.run.engine is not None)
        assert workspace.box.is_active
        assert workspace.data.decided.merges
        names = [layer.name for layer in viewer.layers]
        assert names[:3] == ["image of the box", "supervoxels of the box", "segmentation"]

    monkeypatch.setattr(viewer_window, "run", look)
    assert celis(*arguments) == 0

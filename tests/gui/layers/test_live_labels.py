"""The layer that recolours by a table."""

from __future__ import annotations

import numpy as np
from napari.components import ViewerModel
from napari.layers import Labels

from gui.conftest import SHAPE, block_labels
from napari_celis.core.supervoxels import Supervoxels
from napari_celis.gui.layers.live_labels import LiveLabels
from napari_celis.gui.layers.volume_layers import placement_of, segmentation_layer

LIKE = Labels(block_labels(), scale=(40, 4, 4), translate=(80, 8, 0), units="nm")


def make_layer():
    supervoxels = Supervoxels.from_labels(block_labels())
    return segmentation_layer(LiveLabels(supervoxels.dense, supervoxels.ids), placement_of(LIKE))


def test_live_labels_are_an_array_to_whoever_reads_them():
    live = make_layer().data
    assert (live.shape, live.ndim, live.dtype, len(live)) == (SHAPE, 3, np.uint64, SHAPE[0])
    assert live.nbytes == block_labels().nbytes
    np.testing.assert_array_equal(np.asarray(live), block_labels())
    np.testing.assert_array_equal(live[2, 3:7], block_labels()[2, 3:7])
    assert np.asarray(live, dtype=np.float32).dtype == np.float32


def test_another_table_recolours_in_two_and_three_dimensions():
    viewer, layer = ViewerModel(), make_layer()
    viewer.add_layer(layer)
    for n_displayed in (2, 3):
        viewer.dims.ndisplay = n_displayed
        layer.data.lut = np.full(49, 7 + n_displayed, dtype=np.uint64)
        layer.refresh()
        assert set(np.unique(layer._slice.image.raw)) == {7 + n_displayed}


def test_layer_lies_over_the_supervoxels_and_cannot_be_painted():
    viewer = ViewerModel()
    layer = viewer.add_layer(make_layer())
    viewer.dims.set_current_step(0, 0)
    np.testing.assert_allclose(layer.data_to_world((1, 2, 3)), LIKE.data_to_world((1, 2, 3)))
    assert layer.units == LIKE.units
    assert not layer.editable
    assert layer.get_value((80.0, 8.0, 0.0), world=True) == block_labels()[0, 0, 0]

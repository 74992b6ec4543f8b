"""Parts and coarser copies of volumes equal what numpy and the pyramid make."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from napari_celis.core.errors import VolumeError
from napari_celis.core.volume import Volume
from napari_celis.io.parts import at_level, cropped, level_sizes, relabelled
from napari_celis.io.pyramid import shrink_image, shrink_labels

RNG = np.random.default_rng(0)
DENSE = RNG.integers(0, 5, (6, 130, 131), dtype=np.int32)
VOLUME = Volume(DENSE, (40.0, 10.0, 10.0), (80.0, 5.0, 0.0), name="cells")


def test_relabelled_is_a_lookup():
    table = np.array([0, 7, 7, 2**63, 9], np.uint64)
    volume = relabelled(DENSE, table, VOLUME, "segmentation")
    assert_array_equal(volume.read(), table[DENSE])
    assert_array_equal(volume.data[2, 3:9, -1], table[DENSE[2, 3:9, -1]])
    assert (volume.dtype, volume.voxel_size_nm, volume.name) == (
        np.uint64,
        (40.0, 10.0, 10.0),
        "segmentation",
    )


def test_crop_keeps_its_place():
    part = cropped(VOLUME, [(1, 4), (10, 130), (0, 20)])
    assert_array_equal(part.read(), DENSE[1:4, 10:130, :20])
    assert part.offset_nm == (120.0, 105.0, 0.0)


@pytest.mark.parametrize(
    "ranges", [[(0, 7), (0, 1), (0, 1)], [(3, 3), (0, 1), (0, 1)], [(-1, 2), (0, 1), (0, 1)]]
)
def test_crop_outside_is_refused(ranges):
    with pytest.raises(VolumeError, match=r"along z.*0 to 6"):
        cropped(VOLUME, ranges)


@pytest.mark.parametrize(("kind", "shrink"), [("labels", shrink_labels), ("image", shrink_image)])
def test_levels_equal_the_pyramid(kind, shrink):
    coarse = at_level(VOLUME, 1, kind)
    assert_array_equal(coarse.read(), shrink(DENSE, (1, 2, 2)))
    assert_array_equal(coarse.data[:, 60:, 60:], shrink(DENSE, (1, 2, 2))[:, 60:, 60:])
    assert coarse.voxel_size_nm == (40.0, 20.0, 20.0)
    assert coarse.offset_nm == (80.0, 10.0, 5.0)
    assert at_level(VOLUME, 0, kind) is VOLUME


def test_levels_are_listed_and_end():
    sizes = level_sizes(VOLUME.shape, VOLUME.voxel_size_nm)
    assert sizes == [(40.0, 10.0, 10.0), (40.0, 20.0, 20.0), (40.0, 40.0, 40.0)]
    assert at_level(VOLUME, 2, "labels").voxel_size_nm == sizes[2]
    with pytest.raises(VolumeError, match="no level"):
        at_level(VOLUME, 3, "labels")

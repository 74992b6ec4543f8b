"""Halves of volumes."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from napari_celis.core.errors import VolumeError
from napari_celis.core.volume import Volume
from napari_celis.pipeline.halves import SHALLOWEST, halves

VOXELS = np.arange((SHALLOWEST + 1) * 6).reshape(SHALLOWEST + 1, 2, 3)


def test_halves_are_the_volume_and_keep_their_places():
    first, second = halves(Volume(VOXELS, (40.0, 10.0, 10.0), (80.0, 0.0, 0.0), name="cells"))
    assert_array_equal(np.concatenate([first.read(), second.read()]), VOXELS)
    assert (len(first.read()), first.offset_nm, second.offset_nm) == (16, (80.0, 0.0, 0.0), (720.0, 0.0, 0.0))


def test_half_of_a_volume_that_says_nothing_about_its_place_says_nothing():
    _, second = halves(Volume(VOXELS, name="cells"))
    assert second.offset_nm == (0.0, 0.0, 0.0)


def test_shallow_volume_is_refused():
    with pytest.raises(VolumeError, match="31 sections"):
        halves(Volume(VOXELS[:31], name="cells"))

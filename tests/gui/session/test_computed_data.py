"""What was computed once is known again by what it was made of."""

from __future__ import annotations

import numpy as np

from gui.conftest import small_volumes
from models.small import small_model
from napari_celis.gui.session.computed_data import ComputedData
from napari_celis.pipeline.choice import Choice
from napari_celis.pipeline.recipe import read_atoms


def test_affinities_belong_to_an_image_and_a_model():
    computed, volumes, model = ComputedData(), small_volumes(), small_model()
    choice = Choice(image=volumes["image"], model=model)
    assert computed.affinities_of(choice) is None
    affinities = np.zeros((3, *volumes["image"].shape), dtype=np.float32)
    computed.keep_affinities(choice, affinities)
    assert computed.affinities_of(Choice(image=volumes["image"], model=model)) is affinities
    assert computed.affinities_of(Choice(image=volumes["truth"], model=model)) is None
    assert computed.affinities_of(Choice(image=volumes["image"], model=small_model())) is None


def test_supervoxels_belong_to_their_voxels():
    computed, volume = ComputedData(), small_volumes()["supervoxels"]
    atoms = read_atoms(volume, lambda stage, share: None)
    computed.keep_atoms(volume.data, atoms)
    assert computed.atoms_of(volume) is atoms
    assert computed.atoms_of(small_volumes()["supervoxels"]) is None
    computed.forget_atoms()
    assert computed.atoms_of(volume) is None

"""What the tests of the plugin share."""

from __future__ import annotations

import dataclasses

import numpy as np
import platformdirs
import pytest
from napari.components import ViewerModel
from napari.layers import Layer

from gui.patience import be_patient
from models.small import small_model
from napari_celis.core.supervoxels import Supervoxels
from napari_celis.core.volume import Volume
from napari_celis.gui.layers.volume_layers import KINDS, volume_to_layer
from napari_celis.gui.session.workspace import Workspace
from napari_celis.models.apply import affinities_of
from napari_celis.pipeline.agglomeration import agglomerator_of

SHAPE = (12, 20, 20)
VOXEL_NM = (10.0, 10.0, 10.0)


def block_labels() -> np.ndarray:
    """Cut the small volume into 3 × 4 × 4 blocks with large ids."""
    z, y, x = (np.arange(size) // step for size, step in zip(SHAPE, (4, 5, 5), strict=True))
    return (1 + x + 4 * y[:, None] + 16 * z[:, None, None]).astype(np.uint64) + (1 << 33)


def small_volumes() -> dict[str, Volume]:
    """Make an image, supervoxels and a truth of two objects, all of one small shape."""
    rng = np.random.default_rng(0)
    labels = block_labels()
    image = rng.integers(60, 200, SHAPE).astype(np.uint8)
    truth = np.broadcast_to((1 + (np.arange(20) >= 10)).astype(np.uint64), SHAPE).copy()
    volumes = {"image": image, "supervoxels": labels, "truth": truth}
    return {role: Volume(data, VOXEL_NM, name=role) for role, data in volumes.items()}


def small_agglomerator():
    """Make an agglomerator of the small volume; takes about a second."""
    model, volumes = small_model(), small_volumes()
    supervoxels = Supervoxels.from_labels(volumes["supervoxels"].read())
    return agglomerator_of(model, supervoxels, affinities_of(model, volumes["image"].read()))


@pytest.fixture(autouse=True)
def state_folder(tmp_path_factory, monkeypatch):
    """Keep decisions in a folder of the test, not in that of the user."""
    folder = tmp_path_factory.mktemp("state")
    monkeypatch.setattr(platformdirs, "user_state_path", lambda *names, **options: folder)
    return folder


@pytest.fixture
def our_plugin(npe2pm):
    """Register this plugin, and no other that happens to be installed."""
    with npe2pm.tmp_plugin(package="napari-celis") as plugin:
        yield plugin


def asked(qtbot, engine, question):
    """Ask the engine's thread about its agglomerator, and wait for the answer."""
    answers = []
    engine.ask(question, answers.append)
    qtbot.waitUntil(lambda: bool(answers))
    return answers[0]


def kept(steps):
    """List what tells decisions apart."""
    return [(step.index, step.kind, step.u_id, step.v_id) for step in steps]


def add(viewer, *roles, **changes):
    """Add small volumes as layers, with other voxel sizes or names if wanted."""
    for role in roles:
        volume = dataclasses.replace(small_volumes()[role], **changes)
        viewer.add_layer(Layer.create(*volume_to_layer(volume, KINDS[role])))


@pytest.fixture
def workspace(qtbot):
    """The workspace of a viewer without a window."""
    be_patient(qtbot)
    workspace = Workspace.of(ViewerModel())
    yield workspace
    workspace.dispose()

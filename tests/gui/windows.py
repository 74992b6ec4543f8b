"""Open the small volumes with their model, as a person would the next day."""

from __future__ import annotations

from napari.components import ViewerModel
from napari.layers import Image, Labels

from gui.conftest import VOXEL_NM, small_volumes
from models.small import small_model
from napari_celis.gui.plugin.resume_bar import ResumeBar
from napari_celis.gui.session.workspace import Workspace
from napari_celis.io.session.file import Session
from napari_celis.pipeline.session_merge import standing


def in_file(path):
    """List the decisions that stand in a session, as `kept` does."""
    with Session.open(path, read_only=True) as session:
        steps = [record.event.step for record in standing(session.events())]
    return [(index, step.kind, step.u_id, step.v_id) for index, step in enumerate(steps)]


def open_window(qtbot):
    """Open them, and offer what was kept."""
    viewer, volumes = ViewerModel(), small_volumes()
    viewer.add_layer(Image(volumes["image"].read(), name="image", scale=VOXEL_NM))
    viewer.add_layer(Labels(volumes["supervoxels"].read(), name="supervoxels", scale=VOXEL_NM))
    workspace = Workspace.of(viewer)
    workspace.data.use_model(small_model())
    offer = ResumeBar(workspace)
    qtbot.addWidget(offer)
    workspace.preparation.count_supervoxels()
    qtbot.waitUntil(lambda: workspace.data.counted() is not None and not workspace.preparation.is_busy)
    return workspace, offer


def prepare(qtbot, workspace):
    workspace.preparation.prepare()
    qtbot.waitUntil(lambda: workspace.run.engine is not None and not workspace.preparation.is_busy)
    return workspace.run.engine

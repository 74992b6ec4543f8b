"""A small volume and model on disk, and sessions about them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gui.conftest import small_volumes
from models.small import small_model
from napari_celis.io.session.file import Session
from napari_celis.io.session.writer import SessionWriter
from napari_celis.io.volumes import write_volume
from napari_celis.models.model_file import save_model
from napari_celis.pipeline.recipe import prepare
from napari_celis.pipeline.session_data import Sources, open_data
from napari_celis.pipeline.sessions import begin_session, go_on

FIRST = 1 << 33
ROLES = ("image", "supervoxels")


def write_data(folder):
    """Write image, supervoxels and model; return where they are."""
    folder.mkdir(exist_ok=True)
    sources = {}
    for role in ROLES:
        sources[role] = f"{folder}/{role}.h5:{role}"
        write_volume(
            small_volumes()[role], sources[role], kind="labels" if role == "supervoxels" else "image"
        )
    save_model(small_model(), folder / "model.safetensors")
    return Sources(sources, str(folder / "model.safetensors"))


def open_choice(sources):
    """Open the volumes and load the model."""
    from napari_celis.io.volumes import open_volume
    from napari_celis.models.model_file import load_model
    from napari_celis.pipeline.choice import Choice

    volumes = {role: open_volume(place) for role, place in sources.volumes.items()}
    return Choice(**volumes, model=load_model(sources.model))


def begin(path, sources, **changes):
    """Begin a session; returns it and its agglomerator, whose decisions are kept."""
    choice = replace(open_choice(sources), **changes)
    prepared = prepare(choice)
    session = begin_session(path, choice, prepared, sources)
    prepared.agglomerator.journal.listener = SessionWriter(session, "ada")
    return session, prepared.agglomerator


def work(agglomerator, n_steps=12):
    """Decide something of every kind, undo and do again; all of it is written."""
    for _ in range(n_steps):
        agglomerator.step(np.inf)
    taken = agglomerator.history[3]
    agglomerator.cut(taken.u_id, taken.v_id)
    available = np.flatnonzero(agglomerator.available())
    ids, table = agglomerator.supervoxels.ids, agglomerator.actions
    pairs = [(int(ids[table.u[a]]), int(ids[table.v[a]])) for a in available]
    agglomerator.keep_apart(*pairs[0])
    agglomerator.merge(*pairs[-1])
    for name in ("undo", "undo", "undo", "redo", "undo", "redo"):
        getattr(agglomerator, name)()
    agglomerator.journal.listener.flush()


def assert_same(one, two):
    """Compare everything that two agglomerators tell."""
    np.testing.assert_array_equal(one.segment_ids(), two.segment_ids())
    np.testing.assert_array_equal(one.scores(), two.scores())
    assert one.energy == two.energy
    assert one.energy_change == two.energy_change
    assert one.constraints == two.constraints
    np.testing.assert_array_equal(one.is_done(), two.is_done())
    np.testing.assert_array_equal(one.available(), two.available())
    assert one.history == two.history
    assert [entry.step for entry in one.journal.undone] == [entry.step for entry in two.journal.undone]


__all__ = [
    "FIRST",
    "Session",
    "assert_same",
    "begin",
    "go_on",
    "open_choice",
    "open_data",
    "work",
    "write_data",
]

"""Sessions in which supervoxels were split: gone on with, replayed, exported, and refused where damaged."""

from __future__ import annotations

import shutil
import sqlite3
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from core.test_splitting import plan_between_parts
from napari_celis.cli import app
from napari_celis.core.errors import ActionError
from napari_celis.core.split_parts import SplitGround
from napari_celis.core.splitting import carry_out_split
from napari_celis.io.session.file import Session
from napari_celis.io.session.kept_arrays import folder_beside
from napari_celis.io.session.records import SessionError, SessionSplit
from napari_celis.io.session.split_rows import supervoxel_checksum
from napari_celis.io.session.writer import SessionWriter
from napari_celis.io.volumes import read_labels
from napari_celis.pipeline.choice import Atoms, Decided
from napari_celis.pipeline.recipe import prepare
from napari_celis.pipeline.replay import prepare_replay, replay
from napari_celis.pipeline.session_merge import plan_merge
from napari_celis.pipeline.sessions import begin_session, go_on
from napari_celis.pipeline.splits import Divider
from pipeline.session_run import assert_same, open_choice, work, write_data


def split_largest(agglomerator, divider, writer):
    """Split the largest supervoxel along x, and go on with the parts; all of it is written."""
    supervoxels = agglomerator.supervoxels
    largest = int(supervoxels.sizes[1:].argmax()) + 1
    voxels = np.argwhere(supervoxels.dense == largest)
    voxels = voxels[np.argsort(voxels[:, 2], kind="stable")]
    ground = SplitGround.of(supervoxels, largest, divider.prepared.inputs.affinities)
    split = ground.split(ground.sides([voxels[0]], [voxels[-1]]))
    parts = divider.divide(agglomerator, split).agglomerator
    writer.add_split(SessionSplit(split, supervoxel_checksum(supervoxels, split.supervoxel_id)))
    parts.journal.listener = writer
    carry_out_split(parts, [split], plan_between_parts(parts, split))
    writer.flush()
    agglomerator.close()
    return parts, split


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A session with two splits, closed, and the agglomerator that made it."""
    folder = tmp_path_factory.mktemp("splits")
    sources = write_data(folder / "data")
    choice = open_choice(sources)
    prepared = prepare(choice)
    divider = Divider(choice, prepared)
    with begin_session(folder / "work.celis", choice, prepared, sources) as session:
        writer = SessionWriter(session, "ada")
        agglomerator = prepared.agglomerator
        agglomerator.journal.listener = writer
        work(agglomerator)
        splits = []
        for _ in range(2):
            agglomerator, split = split_largest(agglomerator, divider, writer)
            splits.append(split)
            work(agglomerator, 4)
    yield folder, agglomerator, splits
    agglomerator.close()


@pytest.fixture
def folder(made, tmp_path):
    """A copy of everything, in another place."""
    shutil.copytree(made[0], tmp_path / "copy")
    return tmp_path / "copy"


@pytest.mark.parametrize("is_lazy", [False, True])
def test_going_on_brings_the_parts_back(made, folder, is_lazy):
    said = []
    with Session.open(folder / "work.celis") as session:
        assert [one.split.new_id for one in session.splits()] == [split.new_id for split in made[2]]
        assert session.problems() == []
        for _ in range(2):
            # The second time with what the first one kept beside the session.
            with go_on(session, is_lazy=is_lazy, say=said.append).agglomerator as agglomerator:
                assert_same(agglomerator, made[1])
                np.testing.assert_array_equal(agglomerator.labels(), made[1].labels())
                assert agglomerator.glued == made[1].glued
    assert said == []


def test_replaying_gives_the_same_scores_to_the_bit(made, folder):
    shutil.rmtree(folder_beside(folder / "work.celis"))
    with Session.open(folder / "work.celis", read_only=True) as session:
        events = list(replay(session, prepare_replay(session), 0.0))
    assert [one for event in events for one in event.differences] == []
    with events[-1].agglomerator as agglomerator:
        np.testing.assert_array_equal(agglomerator.labels(), made[1].labels())


def test_the_command_line_goes_on_checks_and_exports_the_parts(made, folder, tmp_path):
    run = CliRunner().invoke
    session, output = folder / "work.celis", tmp_path / "out.h5:labels"
    result = run(app, ["agglomerate", "--session", str(session), "-o", str(output), "--threshold=-1e9"])
    assert result.exit_code == 0, result.output
    from napari_celis.io.volumes import open_volume

    np.testing.assert_array_equal(read_labels(open_volume(output)), made[1].labels())
    assert run(app, ["replay", str(session)]).exit_code == 0
    checked = run(app, ["sessions", "check", str(session)])
    assert checked.exit_code == 0, checked.output
    shown = run(app, ["sessions", "show", str(session)])
    assert "2 split" in shown.output


def test_another_supervoxel_is_not_split(made, folder):
    with sqlite3.connect(folder / "work.celis") as connection:
        connection.execute("UPDATE splits SET checksum = ?", ("00" * 16,))
    connection.close()
    with (
        Session.open(folder / "work.celis") as session,
        pytest.raises(SessionError, match="is not the one that was split"),
    ):
        go_on(session)


@pytest.mark.parametrize("blob", [b"", b"no zlib", b"x\x9cc`\x80\x01\x00\x00\x08\x00\x01"])
def test_damaged_voxels_are_told(made, folder, blob):
    with sqlite3.connect(folder / "work.celis") as connection:
        connection.execute("UPDATE split_voxels SET runs = ?", (blob,))
    connection.close()
    with Session.open(folder / "work.celis") as session, pytest.raises(SessionError, match="is damaged"):
        session.splits()


def test_an_event_without_its_voxels_is_told(made, folder):
    with sqlite3.connect(folder / "work.celis") as connection:
        connection.execute("DELETE FROM splits")
    connection.close()
    with Session.open(folder / "work.celis") as session:
        with pytest.raises(ActionError, match="does not say where"):
            go_on(session)
        with pytest.raises(SessionError, match="does not say where"):
            list(replay(session, prepare_replay(session)))


def test_sessions_with_splits_are_not_joined(made, folder):
    base = Atoms(made[1].supervoxels, made[1].actions)
    with (
        Session.open(folder / "work.celis", read_only=True) as session,
        pytest.raises(SessionError, match="cannot be joined"),
    ):
        plan_merge(session.events(), session.events(), base, lambda conflict: None)


def test_a_box_of_a_blockwise_result_is_not_split(made):
    folder, agglomerator, splits = made
    choice = replace(open_choice(write_data(folder / "data")), decided=Decided(apart=((1, 2),)))
    divider = Divider(choice, None)
    with pytest.raises(ActionError, match="block-wise result cannot be split"):
        divider.divide(agglomerator, splits[0])

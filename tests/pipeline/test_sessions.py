"""Going on with a session: the exact state, in one scoring pass, about the same data or not at all."""

from __future__ import annotations

import shutil
from dataclasses import replace

import h5py
import numpy as np
import pytest

from gui.conftest import block_labels
from napari_celis.core import state
from napari_celis.core.errors import ActionError
from napari_celis.core.journal import Event
from napari_celis.io.session.file import Session
from napari_celis.io.session.kept_arrays import KeptArrays, folder_beside
from napari_celis.io.session.records import SessionError
from napari_celis.models import apply
from napari_celis.models.model_file import load_model, save_model
from napari_celis.pipeline import kept_preparation
from napari_celis.pipeline.choice import Decided
from napari_celis.pipeline.kept_preparation import keep_scores
from napari_celis.pipeline.replay import prepare_replay, replay
from napari_celis.pipeline.session_identity import ChangedDataError
from napari_celis.pipeline.sessions import go_on, go_on_with, is_equal, take_over_json_lines
from pipeline.session_run import FIRST, assert_same, begin, open_choice, work, write_data


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A session with everything in it, closed, and the agglomerator that made it."""
    folder = tmp_path_factory.mktemp("made")
    sources = write_data(folder / "data")
    session, agglomerator = begin(folder / "work.celis", sources)
    work(agglomerator)
    session.close()
    yield folder, agglomerator
    agglomerator.close()


@pytest.fixture
def folder(made, tmp_path):
    """A copy of everything, in another place."""
    shutil.copytree(made[0], tmp_path / "copy")
    return tmp_path / "copy"


@pytest.mark.parametrize("is_lazy", [False, True])
def test_going_on_brings_everything_back(made, folder, is_lazy):
    with Session.open(folder / "work.celis") as session:
        opened = go_on(session, is_lazy=is_lazy)
        with opened.agglomerator as agglomerator:
            assert_same(agglomerator, made[1])
            assert agglomerator.journal.undone
            while agglomerator.history:
                agglomerator.undo()
            assert agglomerator.energy_units() == session.head.units_at_start
            assert agglomerator.energy_change == 0.0


def test_no_decision_is_made_again(made, folder, monkeypatch):
    """One scoring pass, however many decisions."""
    calls = []
    original = state.AgglomerationState.score_everything
    monkeypatch.setattr(
        state.AgglomerationState, "score_everything", lambda *a: calls.append(1) or original(*a)
    )
    for name in ("take", "decide"):
        monkeypatch.setattr(f"napari_celis.core.decision_maker.DecisionMaker.{name}", None)
    with Session.open(folder / "work.celis") as session, go_on(session).agglomerator:
        assert len(calls) == 1


def test_the_preparation_is_kept_and_used(made, folder, monkeypatch):
    beside = folder_beside(folder / "work.celis")
    assert sorted(path.name.partition("-")[0] for path in beside.iterdir()) == [
        "affinities", "contacts", "scores",
    ]  # fmt: skip
    for name in ("affinities_of", "supervoxels_of"):
        monkeypatch.setattr(apply, name, lambda *a, **o: pytest.fail("computed again"))
    monkeypatch.setattr(
        "napari_celis.core.actions.ActionTable.from_supervoxels", lambda own: pytest.fail("counted again")
    )
    with Session.open(folder / "work.celis") as session, go_on(session).agglomerator as agglomerator:
        n_evaluations = sum(scores.initial.evaluations for scores in agglomerator.specs)
        assert_same(agglomerator, made[1])
        keep_scores(session.head, KeptArrays(beside), agglomerator)
    with Session.open(folder / "work.celis") as session, go_on(session).agglomerator as agglomerator:
        assert sum(scores.initial.evaluations for scores in agglomerator.specs) == 0 < n_evaluations
        assert_same(agglomerator, made[1])


def test_affinities_of_a_program_that_computes_others_are_not_used(made, folder, monkeypatch):
    calls, original = [], apply.affinities_of
    monkeypatch.setattr(kept_preparation, "AFFINITY_REVISION", 99)
    monkeypatch.setattr(apply, "affinities_of", lambda *a, **o: calls.append(1) or original(*a, **o))
    with Session.open(folder / "work.celis") as session, go_on(session).agglomerator as agglomerator:
        assert calls == [1]
        assert_same(agglomerator, made[1])


@pytest.mark.parametrize("damage", ["cut short", "changed", "another", "gone"])
def test_a_damaged_preparation_is_made_again(made, folder, damage):
    for path in folder_beside(folder / "work.celis").iterdir():
        data = bytearray(path.read_bytes())
        if damage == "cut short":
            path.write_bytes(data[: len(data) // 2])
        elif damage == "changed":
            data[len(data) // 2] ^= 1
            path.write_bytes(data)
        elif damage == "another":
            np.savez(path, other=np.zeros(3))
        else:
            path.unlink()
    with Session.open(folder / "work.celis") as session, go_on(session).agglomerator as agglomerator:
        assert_same(agglomerator, made[1])


def test_made_supervoxels_are_kept_and_made_again(tmp_path, monkeypatch):
    calls = []
    # The network of the tests knows nothing, so that its own supervoxels would be noise.
    monkeypatch.setattr(apply, "supervoxels_of", lambda *a: calls.append(1) or block_labels())
    sources = write_data(tmp_path / "data")
    sources = replace(sources, volumes={"image": sources.volumes["image"]})
    session, agglomerator = begin(tmp_path / "made.celis", sources)
    agglomerator.step(np.inf)
    agglomerator.journal.listener.flush()
    session.close()
    for n_made in (1, 2):
        if n_made == 2:
            shutil.rmtree(folder_beside(tmp_path / "made.celis"))
        with Session.open(tmp_path / "made.celis") as session, go_on(session).agglomerator as again:
            assert_same(again, agglomerator)
        assert len(calls) == n_made
    agglomerator.close()
    monkeypatch.setattr(apply, "supervoxels_of", lambda *a: block_labels() + np.uint64(1))
    shutil.rmtree(folder_beside(tmp_path / "made.celis"))
    with (
        Session.open(tmp_path / "made.celis") as session,
        pytest.raises(ChangedDataError, match="supervoxels"),
    ):
        go_on(session)


# Data that moved or changed.


def test_data_that_moved_with_the_session_are_found(made, folder):
    shutil.move(made[0] / "data", made[0] / "elsewhere")
    try:
        with (
            Session.open(folder / "work.celis") as session,
            go_on(
                session, relocate={"model": f"{folder}/data/model.safetensors"}
            ).agglomerator as agglomerator,
        ):
            assert_same(agglomerator, made[1])
            assert session.head.volume("image").path == f"{folder}/data/image.h5:image"
    finally:
        shutil.move(made[0] / "elsewhere", made[0] / "data")


@pytest.fixture
def alone(folder, tmp_path):
    """The session file alone: its volumes are only at the old place, which is out of reach."""
    path = tmp_path / "alone" / "deep" / "work.celis"
    path.parent.mkdir(parents=True)
    shutil.copy(folder / "work.celis", path)
    with Session.open(path) as session:
        volumes = [
            replace(v, path=f"/nowhere/{v.role}.h5:{v.role}", relative="") for v in session.head.volumes
        ]
        session.change_head(volumes=tuple(volumes), model_path="/nowhere/model.safetensors")
    return path


def test_missing_data_are_told_and_can_be_relocated(made, folder, alone):
    with Session.open(alone) as session:
        with pytest.raises(SessionError) as caught:
            go_on(session)
        for word in ("image", "supervoxels", "model", "/nowhere/", "--relocate"):
            assert word in str(caught.value)
        with pytest.raises(SessionError, match="no colour, only"):
            go_on(session, relocate={"colour": "x"})
        places = {role: f"{folder}/data/{role}.h5:{role}" for role in ("image", "supervoxels")}
        relocate = {**places, "model": f"{folder}/data/model.safetensors"}
        with go_on(session, relocate=relocate).agglomerator as agglomerator:
            assert_same(agglomerator, made[1])
    with Session.open(alone) as session, go_on(session).agglomerator as agglomerator:
        assert_same(agglomerator, made[1])


@pytest.mark.parametrize("role", ["image", "supervoxels"])
def test_changed_volumes_are_refused(folder, role):
    with h5py.File(folder / "data" / f"{role}.h5", "r+") as file:
        file[role][0, 0, 0] += 1
    with Session.open(folder / "work.celis") as session:
        before = session.head
        with pytest.raises(ChangedDataError, match=f"content of the {role} volume .* nothing was applied"):
            go_on(session, relocate={r: f"{folder}/data/{r}.h5:{r}" for r in ("image", "supervoxels")})
        assert session.head == before


def test_another_model_is_refused(folder):
    model = replace(load_model(folder / "data/model.safetensors"), attribution="somebody else")
    save_model(model, folder / "other.safetensors")
    with (
        Session.open(folder / "work.celis") as session,
        pytest.raises(ChangedDataError, match="not the one of this session"),
    ):
        go_on(session, relocate={"model": str(folder / "other.safetensors")})


def test_the_same_content_in_another_format_is_the_same(made, folder):
    with h5py.File(folder / "data/supervoxels.h5") as file:
        np.save(folder / "supervoxels.npy", file["supervoxels"][:].astype(np.int64))
    with Session.open(folder / "work.celis") as session:
        opened = go_on(session, relocate={"supervoxels": str(folder / "supervoxels.npy")})
        with opened.agglomerator as agglomerator:
            assert_same(agglomerator, made[1])


def test_another_energy_gets_a_remark(folder):
    said = []
    with Session.open(folder / "work.celis") as session:
        session._connection.sql.execute("UPDATE events SET energy = energy + 1")
        with go_on(session, say=said.append).agglomerator:
            pass
    assert any("celis replay" in sentence for sentence in said)


# Replay.


def replayed(path, **options):
    with Session.open(path, read_only=True) as session:
        divider = prepare_replay(session)
        with divider.agglomerator as agglomerator:
            return list(replay(session, divider, **options)), agglomerator


def test_replaying_gives_the_same_scores_to_the_bit(made, folder):
    shutil.rmtree(folder_beside(folder / "work.celis"))
    events, agglomerator = replayed(folder / "work.celis", tolerance=0.0)
    assert len(events) > 15
    assert all(event.error == 0.0 and not event.differences for event in events)
    assert_same(agglomerator, made[1])
    assert not folder_beside(folder / "work.celis").exists()


@pytest.mark.parametrize(
    ("statement", "what"),
    [
        ("UPDATE events SET score = score + 0.01 WHERE number = 5", "score"),
        ("UPDATE events SET energy = energy * 1.01 WHERE number = 5", "energy"),
        ("UPDATE events SET n_segments = n_segments + 1 WHERE number = 5", "segments"),
    ],
)
def test_replaying_finds_what_was_changed(folder, statement, what):
    with Session.open(folder / "work.celis") as session:
        session._connection.sql.execute(statement)
    events, _ = replayed(folder / "work.celis")
    found = [difference for event in events for difference in event.differences]
    assert {difference.number for difference in found} == {5}
    assert what in {difference.what for difference in found}


def test_replaying_finds_a_merge_that_greedy_would_not_have_taken(folder, tmp_path):
    from napari_celis.pipeline.session_data import Sources

    sources = Sources(
        {role: f"{folder}/data/{role}.h5:{role}" for role in ("image", "supervoxels")},
        f"{folder}/data/model.safetensors",
    )
    session, agglomerator = begin(tmp_path / "other.celis", sources)
    agglomerator.merge(FIRST + 1, FIRST + 2)
    agglomerator.journal.listener.flush()
    session._connection.sql.execute("UPDATE events SET kind = 'greedy'")
    session.close()
    agglomerator.close()
    events, _ = replayed(tmp_path / "other.celis")
    assert [difference.what for difference in events[0].differences] == ["choice"]


def test_an_event_that_cannot_be_is_refused_by_its_number(folder):
    with Session.open(folder / "work.celis") as session:
        session._connection.sql.execute("UPDATE events SET u_id = 7 WHERE number = 3")
    with pytest.raises(SessionError, match="Event 3"):
        replayed(folder / "work.celis")
    with Session.open(folder / "work.celis") as session, pytest.raises(ActionError, match="Event 3"):
        go_on(session)


def test_tolerance_is_a_share_of_the_larger_number_or_of_one():
    assert is_equal(1000.0, 1000.0009)
    assert not is_equal(1000.0, 1000.01)
    assert is_equal(1e-9, 0.0)
    assert not is_equal(float("nan"), 0.0)


# Files of earlier versions.


def test_json_lines_are_taken_over(made, folder, tmp_path):
    import json
    from dataclasses import asdict

    old = tmp_path / "old.jsonl"
    lines = [json.dumps(asdict(step)) for step in made[1].history]
    lines.insert(4, '{"index": Infinity, "kind": "greedy"}')
    lines.insert(5, "[" * 2000)
    old.write_text("\n".join(lines))
    opened_first = Session.open(folder / "work.celis")
    opened = go_on(opened_first)
    with opened.agglomerator as agglomerator:
        while agglomerator.history:
            agglomerator.undo()
        n_taken, n_lost = take_over_json_lines(
            old, tmp_path / "new.celis", opened.choice, opened.prepared, opened.sources
        )
    opened_first.close()
    assert (n_taken, n_lost) == (len(made[1].history), 2)
    with Session.open(tmp_path / "new.celis") as session, go_on(session).agglomerator as agglomerator:
        assert agglomerator.history == made[1].history
        np.testing.assert_array_equal(agglomerator.segment_ids(), made[1].segment_ids())


def test_a_session_on_top_of_segments_goes_on_with_the_same_ones_only(tmp_path):
    """A box of a block-wise result begins with merges and keep-aparts that no event tells of."""
    sources = write_data(tmp_path / "data")
    session, plain = begin(tmp_path / "plain.celis", sources)
    steps = [plain.step(np.inf) for _ in range(3)]
    apart = next(
        (int(plain.supervoxels.ids[plain.actions.u[a]]), int(plain.supervoxels.ids[plain.actions.v[a]]))
        for a in np.flatnonzero(plain.available())
    )
    plain.close()
    session.close()
    decided = Decided(tuple((step.u_id, step.v_id) for step in steps), (apart,))
    path = tmp_path / "box.celis"
    session, run = begin(path, sources, decided=decided)
    for step in run.history:
        run.journal.listener(Event("decide", step, step.energy))
    run.step(np.inf)
    run.journal.listener.flush()
    session.close()
    opened = open_choice(sources)
    with Session.open(path) as again, pytest.raises(SessionError, match="box"):
        go_on(again)
    with Session.open(path) as again, pytest.raises(SessionError, match="other segments"):
        go_on_with(again, opened, sources, KeptArrays(folder_beside(path)))
    with Session.open(path) as again:
        chosen = replace(opened, decided=decided)
        resumed = go_on_with(again, chosen, sources, KeptArrays(folder_beside(path))).agglomerator
    with run, resumed:
        np.testing.assert_array_equal(resumed.segment_ids(), run.segment_ids())
        np.testing.assert_array_equal(resumed.scores(), run.scores())
        assert resumed.constraints == run.constraints == (apart,)
        assert [step.kind for step in resumed.history] == ["keep-apart", "greedy"]

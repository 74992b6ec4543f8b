"""A few kills of everything; the long form is `celis bench --only crash`."""

import numpy as np
import pytest

from napari_celis.bench import crash
from napari_celis.bench.crash import Losses, measure_crash
from napari_celis.io.session.file import Session


def test_a_few_kills_lose_nothing():
    kills = {"run": 2, "edit": 2, "export": 1, "save-as": 1, "migration": 1}
    figures = measure_crash(kills, seed=7)
    assert figures["crash_kills"] >= 6
    assert figures["crash_done"] > 5
    assert figures["crash_lost"] == figures["crash_incomplete"] == figures["crash_damaged"] == 0


@pytest.fixture
def folder(tmp_path):
    crash._prepare("edit", tmp_path)
    return tmp_path


def test_the_harness_finds_what_is_lost(folder):
    losses, path = Losses(), folder / crash.SESSION
    with Session.open(path) as session:
        (record,) = session.events()
    step = record.event.step
    told = {
        "number": 1, "event": "decide", "kind": "greedy", "u": step.u_id, "v": step.v_id, "score": step.score,
        "energy": record.event.energy,
    }  # fmt: skip
    crash._check_events(path, [told], losses)
    assert not losses.lost
    crash._check_events(path, [{**told, "score": step.score + 1e-12}, {**told, "number": 2}], losses)
    assert len(losses.lost) == 2


def test_the_harness_finds_what_is_damaged(folder):
    losses, path = Losses(), folder / crash.SESSION
    path.write_bytes(path.read_bytes()[:5000])
    crash._check_events(path, [], losses)
    assert losses.damaged
    np.save(folder / "out.npy", np.arange(8).reshape(2, 2, 2).astype(np.uint16))
    (folder / "out.tif").write_bytes(b"II*\0")
    crash._check_exports(folder, [{"export": "out.zarr", "value": 3}], losses)
    assert len(losses.incomplete) == 2
    assert losses.lost == ["export out.zarr"]

"""Session files to test with: a head, decisions, and files that were written by every version."""

from __future__ import annotations

from pathlib import Path

from napari_celis.core.journal import Event, Step
from napari_celis.io.session.records import SessionEvent, SessionHead, SessionVolume

FILES = Path(__file__).parent / "session_files"
"""A file of every version there was; they are never written anew."""


def a_head(**changes):
    volumes = (
        SessionVolume("image", "/data/raw.h5:raw", "../data/raw.h5:raw", "ab" * 16, (20, 30, 40)),
        SessionVolume("supervoxels", "/data/sv.h5:sv", "", "cd" * 16, (20, 30, 40)),
    )
    known = {
        "volumes": volumes,
        "model_path": "/data/model.safetensors",
        "model_checksum": "ef" * 16,
        "settings": {"policy": "energy", "threshold": "-0.5", "any_voxel_size": "0"},
        "units_at_start": (2**70, -3),
        "created": 1.75e9,
    }
    return SessionHead(**(known | changes))


def a_record(index, event="decide", kind="greedy", u_id=1, v_id=2, time=1.75e9, **changes):
    step = Step(0, kind, u_id, v_id, -1, -1.0 - index, 100.0 - index, False, max(0, 100 - index))
    return SessionEvent(Event(event, step, 100.0 - index), time, "ada", f"note {index}")


def some_records(n):
    kinds = ("greedy", "manual", "keep-apart", "cut")
    return [a_record(i, kind=kinds[i % 4], u_id=i + 1, v_id=2**64 - 1 - i) for i in range(n)]

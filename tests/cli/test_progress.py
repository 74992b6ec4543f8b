"""Progress: bars for people, records for programs."""

import json

from napari_celis.cli.progress import SETTING, bar, stage_bars


def test_records_are_lines_of_json(monkeypatch, capsys):
    monkeypatch.setenv(SETTING, "records")
    with stage_bars() as report:
        report("affinities", 0.25)
        report("first scores", 1.0)
    with bar("voxels") as progress:
        progress(3, 4)
    out, errors = capsys.readouterr()
    assert out == ""
    assert [json.loads(line) for line in errors.splitlines()] == [
        {"stage": "affinities", "done": 0.25},
        {"stage": "first scores", "done": 1.0},
        {"stage": "voxels", "done": 0.75},
    ]


def test_every_stage_has_its_bar(monkeypatch, capsys):
    monkeypatch.delenv(SETTING, raising=False)
    with stage_bars() as report:
        report("affinities", 0.25)
        report("first scores", 0.5)
    errors = capsys.readouterr().err
    assert "affinities: 100%" in errors
    assert "first scores: 100%" in errors

"""Progress: bars for people, records for programs."""

import json

from napari_celis.cli.progress import bar, recorded, stage_bars


def test_records_are_lines_of_json(tmp_path):
    path = tmp_path / "records.jsonl"
    with recorded(path), stage_bars() as report:
        report("affinities", 0.25)
        report("first scores", 1.0)
    with recorded(path), bar("voxels") as progress:
        progress(3, 4)
    with bar("not recorded") as progress:
        progress(1, 4)
    assert [json.loads(line) for line in path.read_text().splitlines()] == [
        {"stage": "affinities", "done": 0.25},
        {"stage": "first scores", "done": 1.0},
        {"stage": "voxels", "done": 0.75},
    ]


def test_every_stage_has_its_bar(capsys):
    with recorded(None), stage_bars("test volume: ") as report:
        report("affinities", 0.25)
        report("first scores", 0.5)
    errors = capsys.readouterr().err
    assert "test volume: affinities: 100%" in errors
    assert "test volume: first scores: 100%" in errors

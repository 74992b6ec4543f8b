"""The progress of another process."""

from __future__ import annotations

from napari_celis.gui.session.background.records import RecordFile


def test_records_are_read_by_whole_lines(tmp_path):
    path = tmp_path / "records.jsonl"
    file = RecordFile(path)
    assert list(file.new_records()) == []
    first = '{"stage": "a", "done": 0.1, "figures": {"loss": 1}, "network": "2 of 3"}'
    path.write_text(first + '\n{"stage": "b", "do')
    assert [(record.stage, record.network) for record in file.new_records()] == [("a", "2 of 3")]
    with path.open("a") as more:
        more.write('ne": 0.2}\n')
    assert [record.stage for record in file.new_records()] == ["b"]

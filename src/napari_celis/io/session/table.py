"""The events of a session as a table for other programs: CSV or Parquet."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from napari_celis.core.errors import MissingExtraError
from napari_celis.io.atomic import atomic_file
from napari_celis.io.session.records import SessionError, SessionEvent

SUFFIXES = (".csv", ".parquet")
COLUMNS = (
    "number", "event", "kind", "u_id", "v_id", "score", "energy", "n_segments", "time", "who", "note",
)  # fmt: skip
ROWS_AT_ONCE = 100_000


def require_table(path: Path) -> None:
    """Refuse a name that says no kind of table, or one that cannot be written here."""
    if path.suffix.lower() not in SUFFIXES:
        raise SessionError(f"{path} is no table we can write. Give it a name that ends in .csv or .parquet.")
    if path.suffix.lower() == ".parquet":
        _pyarrow()


def write_table(events: Iterable[SessionEvent], path: Path) -> Path:
    """Write events in order.

    Parameters
    ----------
    events : iterable of SessionEvent
        From `Session.events`.
    path : Path
        Ends in .csv or .parquet; replaced only when everything has been written.
    """
    require_table(path)
    rows = (_row(number, record) for number, record in enumerate(events, start=1))
    with atomic_file(path) as temporary:
        if path.suffix.lower() == ".csv":
            with temporary.open("w", newline="", encoding="utf-8") as file:
                table = csv.writer(file, lineterminator="\n")
                table.writerow(COLUMNS)
                table.writerows([*row[:8], row[8].isoformat(), *row[9:]] for row in rows)
        else:
            _write_parquet(rows, temporary)
    return path


def _row(number: int, record: SessionEvent) -> list[Any]:
    event, step = record.event, record.event.step
    energy = event.energy if math.isfinite(event.energy) else None
    time = datetime.fromtimestamp(min(max(record.time, 0.0), 2.5e11), UTC)
    return [
        number, event.kind, step.kind, step.u_id, step.v_id, step.score, energy, step.n_segments, time,
        record.who, record.note,
    ]  # fmt: skip


def _pyarrow() -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise MissingExtraError(
            "Parquet needs pyarrow: pip install napari-celis[tables]. A table in .csv needs nothing."
        ) from error
    return pyarrow


def _write_parquet(rows: Iterator[list[Any]], path: Path) -> None:
    pa = _pyarrow()
    kinds = [
        pa.int64(), pa.string(), pa.string(), pa.uint64(), pa.uint64(), pa.float64(), pa.float64(),
        pa.int64(), pa.timestamp("us", tz="UTC"), pa.string(), pa.string(),
    ]  # fmt: skip
    schema = pa.schema(list(zip(COLUMNS, kinds, strict=True)))
    with pa.parquet.ParquetWriter(path, schema) as writer:
        is_empty = True
        for batch in _batches(rows):
            columns = [
                pa.array(list(column), kind)
                for column, kind in zip(zip(*batch, strict=True), kinds, strict=True)
            ]
            writer.write_table(pa.Table.from_arrays(columns, schema=schema))
            is_empty = False
        if is_empty:
            writer.write_table(schema.empty_table())


def _batches(rows: Iterator[list[Any]]) -> Iterator[list[list[Any]]]:
    batch: list[list[Any]] = []
    for row in rows:
        batch.append(row)
        if len(batch) == ROWS_AT_ONCE:
            yield batch
            batch = []
    if batch:
        yield batch

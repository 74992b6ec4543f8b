"""What is known about segments, as a table with a column of ids."""

from __future__ import annotations

import csv
import os
from pathlib import Path

from napari_celis.core.errors import CorruptFileError
from napari_celis.io.confinement import require_regular
from napari_celis.io.failures import reading
from napari_celis.io.ome_writing import Properties, Value

ID = "id"
MAX_ID = 2**64 - 1


def read_properties(path: str | os.PathLike[str]) -> Properties:
    """Read a table of segments.

    Parameters
    ----------
    path : str or path
        A `.csv` file with a header; the column `id` holds the labels, every other column a property. Cells
        may be empty. A column of numbers becomes numbers.

    Returns
    -------
    properties : mapping
        By id, then by the name of the column.
    """
    require_regular(Path(path))
    with reading(str(path)), open(path, newline="", encoding="utf-8-sig") as file:
        rows = list(csv.DictReader(file))
    if rows and ID not in rows[0]:
        raise CorruptFileError(
            f"{path} has the columns {', '.join(map(str, rows[0]))}, but none is called `{ID}`. Name the "
            "column of labels so."
        )
    properties: dict[int, dict[str, Value]] = {}
    numeric = {name for name in (rows[0] if rows else ()) if all(_is_number(row[name]) for row in rows)}
    for number, row in enumerate(rows, start=2):
        label = _label(row.pop(ID), f"{path}, line {number}")
        if label in properties:
            raise CorruptFileError(
                f"{path}, line {number}, names label {label} again. Keep one line for each."
            )
        properties[label] = {
            str(name): _number(text) if name in numeric else text
            for name, text in row.items()
            if isinstance(text, str) and text
        }
    return properties


def _label(text: str | None, place: str) -> int:
    """Read the id of a row."""
    if text is None or not text.strip().isdecimal() or not 0 < int(text) <= MAX_ID:
        raise CorruptFileError(
            f"{place} has the id {text!r}, but ids are whole numbers from 1 to 2^64 - 1. Correct it."
        )
    return int(text)


def _is_number(text: object) -> bool:
    """Tell whether a cell is empty or a number."""
    try:
        return not text or _number(str(text)) is not None
    except ValueError:
        return False


def _number(text: str) -> int | float:
    """Read a number, whole where it is written so."""
    try:
        return int(text)
    except ValueError:
        return float(text)

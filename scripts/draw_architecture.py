"""Draw docs/images/architecture.svg: the rooms of the package, and which of them may import which.

Rooms and their order are the layers that import-linter guards (pyproject.toml); what a room is for is the
first sentence of its docstring. Run it after a change of either: python scripts/draw_architecture.py
"""

from __future__ import annotations

import ast
import sys
import textwrap
import tomllib
from pathlib import Path
from xml.sax.saxutils import escape

WIDTH, INNER = 760, 420
"""Width of the rooms, and of the window's own rooms beside them."""
MARGIN, GAP, ROW, ARROW = 20, 14, 72, 22
COLOURS = {"gui": "#d8e8f5", "cli": "#d8e8f5", "api": "#d8e8f5", "core": "#f6e0c8"}
OTHER = "#eef0ee"


def contracts(root: Path) -> dict[str, list[list[str]]]:
    """Read the layers of every container, each a list of rooms side by side."""
    settings = tomllib.loads((root / "pyproject.toml").read_text())
    found = {}
    for contract in settings["tool"]["importlinter"]["contracts"]:
        if contract["type"] == "layers":
            rows = [[part.strip(" ()") for part in row.split("|")] for row in contract["layers"]]
            found[contract["containers"][0]] = rows
    return found


def purpose(root: Path, module: str) -> str:
    """Return the first sentence of a room's docstring; nothing for rooms that are not there."""
    path = root / "src" / Path(*module.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    if not file.exists():
        return ""
    text = ast.get_docstring(ast.parse(file.read_text())) or ""
    return text.split("\n\n")[0].replace("\n", " ").replace("`", "").removesuffix(".")


def box(x: float, y: float, width: float, height: float, room: str, text: str) -> str:
    """Draw one room."""
    lines = textwrap.wrap(text, max(10, int(width / 6.4)))[:3]
    shown = "".join(
        f'<text x="{x + width / 2:.0f}" y="{y + 38 + 14 * i:.0f}" class="small">{escape(line)}</text>'
        for i, line in enumerate(lines)
    )
    return (
        f'<rect x="{x:.0f}" y="{y:.0f}" width="{width:.0f}" height="{height}" rx="8" '
        f'fill="{COLOURS.get(room, OTHER)}" stroke="#556"/>'
        f'<text x="{x + width / 2:.0f}" y="{y + 20:.0f}" class="name">{escape(room)}</text>{shown}'
    )


def stack(root: Path, container: str, rows: list[list[str]], x: float, y: float, width: float) -> list[str]:
    """Draw the layers of a container from the top down, with an arrow from each to the next."""
    drawn = []
    for index, row in enumerate(rows):
        each = (width - GAP * (len(row) - 1)) / len(row)
        for column, room in enumerate(row):
            left = x + column * (each + GAP)
            drawn.append(box(left, y, each, ROW, room, purpose(root, f"{container}.{room}")))
        y += ROW
        if index + 1 < len(rows):
            middle = x + width / 2
            drawn.append(f'<path d="M{middle:.0f},{y + 2:.0f} v{ARROW - 6}" class="arrow"/>')
            y += ARROW
    return drawn


def draw(root: Path) -> str:
    """Return the picture."""
    layers = contracts(root)
    rows = layers["napari_celis"]
    inner = layers.get("napari_celis.gui", [])
    height = 2 * MARGIN + 24 + len(rows) * (ROW + ARROW)
    width = 2 * MARGIN + WIDTH + (GAP * 4 + INNER if inner else 0)
    parts = stack(root, "napari_celis", rows, MARGIN, MARGIN + 24, WIDTH)
    titles = [(MARGIN, "napari_celis: a room may import those below it, never those above")]
    if inner:
        left = MARGIN + WIDTH + GAP * 4
        parts += stack(root, "napari_celis.gui", inner, left, MARGIN + 24, INNER)
        titles.append((left, "inside gui"))
    heads = "".join(f'<text x="{x}" y="{MARGIN + 8}" class="title">{escape(t)}</text>' for x, t in titles)
    body = "\n".join(parts)
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"
font-family="sans-serif">
<style>.name{{font-size:15px;font-weight:bold;text-anchor:middle}}.small{{font-size:11px;text-anchor:middle}}
.title{{font-size:13px;fill:#333}}.arrow{{stroke:#556;stroke-width:2;fill:none;marker-end:url(#tip)}}</style>
<defs><marker id="tip" markerWidth="8" markerHeight="8" refX="5" refY="4" orient="auto">
<path d="M0,0 L8,4 L0,8 z" fill="#556"/></marker></defs>
<rect width="{width}" height="{height}" fill="white"/>
{heads}
{body}
</svg>
"""


if __name__ == "__main__":
    checkout = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parents[1])
    (Path(__file__).resolve().parents[1] / "docs/images/architecture.svg").write_text(draw(checkout))

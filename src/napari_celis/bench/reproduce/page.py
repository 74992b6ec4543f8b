"""The report as one HTML file: style and pictures are inside, and nothing is loaded from elsewhere."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from napari_celis.bench.reproduce.section import Block, Finding, Paragraph, Picture, Section, Table

STYLE = """
:root { color-scheme: light; }
body { margin: 0 auto; max-width: 60rem; padding: 2.5rem 1.5rem 4rem; color: #222; background: #fff;
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", "Liberation Sans", Arial, sans-serif; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .4rem; }
h2 { font-size: 1.35rem; margin: 3rem 0 .2rem; padding-top: 1rem; border-top: 1px solid #ddd; }
p { margin: .7rem 0; max-width: 48rem; }
.lead { font-size: 1.05rem; color: #444; }
.paper { color: #0072b2; font-size: .95rem; margin-top: 0; }
.took, caption, .about { color: #6a6a6a; font-size: .85rem; }
nav { margin: 1rem 0; font-size: .95rem; }
nav a { margin-right: 1.1rem; white-space: nowrap; }
a { color: #0072b2; text-decoration: none; }
a:hover { text-decoration: underline; }
.table { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font-size: .875rem; font-variant-numeric: tabular-nums; }
caption { caption-side: bottom; text-align: left; padding-top: .4rem; }
th, td { padding: .28rem .7rem; text-align: right; vertical-align: bottom; }
th:first-child, td:first-child, .words th, .words td, th.text, td.text { text-align: left; }
td:first-child, th:first-child { padding-left: 0; }
th { font-weight: 600; }
tr.groups th { text-align: center; padding-bottom: 0; color: #6a6a6a; font-weight: 500; }
tr.heading th { border-bottom: 1.5px solid #222; }
tbody tr + tr td { border-top: 1px solid #eee; }
tbody tr:last-child td { border-bottom: 1px solid #bbb; }
table:not(.words) td:first-child { white-space: nowrap; }
.words td { vertical-align: top; }
td.best { font-weight: 700; }
figure { margin: 1.2rem 0; }
figure img { max-width: 100%; height: auto; }
code { font: .9em ui-monospace, "Liberation Mono", Consolas, monospace; background: #f4f4f4;
  padding: .1em .3em; border-radius: 3px; overflow-wrap: anywhere; }
@media print { h2 { break-after: avoid; } figure, table { break-inside: avoid; } }
"""
LEAD = (
    "The experiments of Maitin-Shepard, Jain, Januszewski, Li and Abbeel, *Combinatorial Energy Learning for "
    "Image Segmentation* (NIPS 2016), repeated at the scale of one small computer. The paper's own numbers "
    "stand beside ours where that makes sense. They were measured on 11 billion voxels of fly brain with "
    "networks trained on many machines; ours come from far smaller volumes (the bundled phantom has 2.5 "
    "million voxels), so what compares are orders and ratios, not values."
)
MARKS = (
    (re.compile(r"\*\*(.+?)\*\*"), r"<strong>\1</strong>"),
    (re.compile(r"\*(.+?)\*"), r"<em>\1</em>"),
    (re.compile(r"`(.+?)`"), r"<code>\1</code>"),
)


def write_page(
    about: Mapping[str, Any], kept: Mapping[str, Mapping[str, Any]], sections: Sequence[Section]
) -> str:
    """Write the report about the sections that there are numbers of.

    Parameters
    ----------
    about : mapping
        Volumes, version, command and environment.
    kept : mapping
        By name of a section, its `numbers` and what they `took`.
    sections : sequence of Section
        All of them, in order.
    """
    done = [section for section in sections if section.name in kept]
    missing = [section for section in sections if section.name not in kept]
    findings = [one for section in done for one in section.summarise(kept[section.name]["numbers"])]
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">',
        f"<title>CELIS, reproduced</title><style>{STYLE}</style></head><body>",
        f'<h1>CELIS, reproduced</h1><p class="lead">{_marked(LEAD)}</p>',
        _volumes(about["volumes"]),
        "<nav>" + " ".join(f'<a href="#{one.name}">{escape(one.title)}</a>' for one in done) + "</nav>",
        _summary(findings),
        *(_section(section, kept[section.name]) for section in done),
    ]
    if missing:
        names = ", ".join(section.name for section in missing)
        parts.append(f"<h2>Not measured yet</h2><p>{escape(names)}. The same command goes on with them.</p>")
    parts += [_about(about, kept), "</body></html>"]
    return "\n".join(parts) + "\n"


def _volumes(volumes: Mapping[str, str]) -> str:
    """Say what everything was measured on."""
    named = "; ".join(f"{escape(role)}: {escape(name)}" for role, name in volumes.items())
    return f'<p class="about">{named}</p>'


def _summary(findings: Sequence[Finding]) -> str:
    """Put the paper's numbers and ours side by side."""
    if not findings:
        return ""
    rows = [[one.what, one.paper, one.here] for one in findings]
    caption = "Where a share is negative, CELIS is behind."
    return _table(Table(("In short", "the paper", "here"), rows, caption), kind="words")


def _section(section: Section, kept: Mapping[str, Any]) -> str:
    """Write one section with its heading."""
    took = kept["took"]
    return "\n".join(
        [
            f'<section id="{section.name}"><h2>{escape(section.title)}</h2>',
            f'<p class="paper">In the paper: {escape(section.paper)}.</p>',
            *(_block(block) for block in section.describe(kept["numbers"])),
            f'<p class="took">Took {took["seconds"]:.0f} s, '
            f"{took['processor_seconds']:.0f} s of processor time.</p>",
            "</section>",
        ]
    )


def _block(block: Block) -> str:
    """Write one block."""
    if isinstance(block, Paragraph):
        return f"<p>{_marked(block.text)}</p>"
    if isinstance(block, Picture):
        data = base64.b64encode(block.svg).decode()
        alt = escape(block.description, quote=True)
        return f'<figure><img alt="{alt}" src="data:image/svg+xml;base64,{data}"></figure>'
    return _table(block)


def _table(table: Table, kind: str = "") -> str:
    """Write a table; cells that are best are bold."""
    best = set(table.best)
    text = {j for j in range(1, len(table.heading)) if not any(_is_number(row[j]) for row in table.rows)}
    is_words = kind == "words" or not any(_is_number(cell) for row in table.rows for cell in row[1:])
    head = ""
    if table.groups:
        cells = "".join(f'<th colspan="{n}">{_marked(text)}</th>' for text, n in table.groups)
        head = f'<tr class="groups">{cells}</tr>'
    head += (
        '<tr class="heading">'
        + "".join(
            f"{'<th class=text>' if j in text else '<th>'}{_marked(title)}</th>"
            for j, title in enumerate(table.heading)
        )
        + "</tr>"
    )
    body = []
    for i, row in enumerate(table.rows):
        names = ["best" if (i, j) in best else "text" if j in text else "" for j in range(len(row))]
        opening = [f'<td class="{name}">' if name else "<td>" for name in names]
        cells = "".join(f"{tag}{_marked(cell)}</td>" for tag, cell in zip(opening, row, strict=True))
        body.append(f"<tr>{cells}</tr>")
    caption = f"<caption>{_marked(table.caption)}</caption>" if table.caption else ""
    style = ' class="words"' if is_words else ""
    inside = f"{caption}<thead>{head}</thead><tbody>{''.join(body)}</tbody>"
    return f'<div class="table"><table{style}>{inside}</table></div>'


def _is_number(cell: str) -> bool:
    """Tell whether a cell begins like a number."""
    return bool(re.match(r"[\d.,]+( %)?$", cell))


def _about(about: Mapping[str, Any], kept: Mapping[str, Mapping[str, Any]]) -> str:
    """Say how everything was measured, so that somebody else can do it again."""
    seconds = sum(one["took"]["seconds"] for one in kept.values())
    processor = sum(one["took"]["processor_seconds"] for one in kept.values())
    versions = ", ".join(f"{escape(name)} {escape(value)}" for name, value in about["environment"].items())
    return (
        f"<h2>How this was made</h2><p><code>{escape(about['command'])}</code></p><p>{versions}. All "
        f"sections together took {seconds / 60:.1f} minutes, {processor / 60:.1f} minutes of processor "
        "time. Every number is in <code>numbers.json</code> beside this page.</p>"
    )


def _marked(text: str) -> str:
    """Escape text, and turn its marks into tags."""
    written = escape(text)
    for pattern, tag in MARKS:
        written = pattern.sub(tag, written)
    return written

"""The pages of docs/guide: every key and command is there, and nothing in them is long."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import typer.main

from napari_celis.cli import app

MOST_WORDS, MOST_LETTERS = 15, 720
"""In a cell of a table, and in a paragraph: six lines."""
PAGES = sorted(path.name for path in (Path(__file__).parents[1] / "docs/guide").glob("*.md"))


@pytest.fixture
def guide(checkout):
    return checkout / "docs/guide"


@pytest.mark.parametrize("name", PAGES)
def test_no_cell_is_a_paragraph_and_no_paragraph_a_page(guide, name):
    text = re.sub(r"^```.*?^```", "", (guide / name).read_text(), flags=re.MULTILINE | re.DOTALL)
    for line in text.splitlines():
        if line.startswith("|"):
            for cell in re.split(r"(?<!\\)\|", line.strip("|")):
                shown = re.sub(r"\]\([^)]*\)", "]", re.sub(r"`[^`]*`", "code", cell))
                assert len(shown.split()) <= MOST_WORDS, cell
    for block in re.split(r"\n\s*\n|\n(?=- |\d\. )", text):
        assert block.lstrip().startswith(("|", "!")) or len(block) <= MOST_LETTERS, block


def test_every_key_of_the_card_is_in_the_table_of_keys(guide):
    from napari_celis.gui.canvas.key_table import COMMANDS, FIXED_KEYS

    table = (guide / "keys.md").read_text().partition("## Keys")[2]
    rows = re.findall(r"^\| ([^|]+) \|", table, re.MULTILINE)
    keys = {key.strip() for row in rows for key in row.replace("Return", "Enter").split(",")}
    for command in COMMANDS.values():
        assert {command.default, *command.more} <= keys, command.name
    assert set(FIXED_KEYS) <= keys


def test_every_button_of_a_question_is_listed_with_its_key(guide):
    from napari_celis.gui.canvas.key_table import COMMANDS
    from napari_celis.gui.tabs.decisions.decision_inspector import BUTTONS

    page = (guide / "decisions.md").read_text()
    for name, (text, _) in BUTTONS.items():
        assert f"| {text} | {COMMANDS[name].default} |" in page


def test_every_tab_and_every_page_of_decisions_is_described(guide, checkout):
    from napari_celis.gui.plugin.panel import TABS

    page = (guide / "index.md").read_text()
    assert all(f"[{title}](" in page for title in TABS)
    source = (checkout / "src/napari_celis/gui/tabs/decisions/decisions_tab.py").read_text()
    titles = re.findall(r'self\.tabs\.addTab\([^,]+, "(\w+)"\)', source)
    assert titles
    assert all(f"| [{title}](" in (guide / "decisions.md").read_text() for title in titles)


def test_every_command_is_listed(guide):
    page = (guide / "commands.md").read_text()
    assert all(f"`celis {name}" in page for name in typer.main.get_command(app).commands)

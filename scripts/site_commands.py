"""The page of all commands, made from the command tree; nothing about a command is written twice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer.main

from napari_celis.cli import app

INTRODUCTION = """# Commands

Made from the command tree when this site is built: it says what `celis COMMAND --help` says.

A volume is written `path[:dataset]`, for example `train.h5:volumes/raw`. A mistake ends in one sentence that
says what to do, and exit code 1; wrong usage in exit code 2. Every command takes `--debug` to show a
traceback instead.
"""


def commands_page() -> str:
    """Return the page, in Markdown."""
    root = typer.main.get_command(app)
    found = sorted(every_command(root, "celis"), key=lambda pair: pair[0])
    listed = [f"- [`{name}`](#{name.replace(' ', '-')}): {summary(command)}" for name, command in found]
    return "\n".join([INTRODUCTION, *listed, "", *(section(name, command) for name, command in found)])


def every_command(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Yield commands that do something, with their whole names."""
    inner = getattr(command, "commands", None)
    if inner is None:
        yield name, command
        return
    for key, value in inner.items():
        yield from every_command(value, f"{name} {key}")


def summary(command: Any) -> str:
    """Return the first sentence of a command's help."""
    return " ".join((command.help or "").split("\n\n")[0].split())


def section(name: str, command: Any) -> str:
    """Return what one command does, how it is called, and its arguments and options."""
    context = command.make_context(name, [], resilient_parsing=True)
    usage = " ".join(command.collect_usage_pieces(context))
    paragraphs = [" ".join(part.split()) for part in (command.help or "").split("\n\n")]
    records = [record for part in command.params if (record := part.get_help_record(context)) is not None]
    entries = "\n".join(f"`{written}`\n:   {escaped(text) or '–'}\n" for written, text in records)
    return "\n".join(
        [f"## {name}", "", *(f"{part}\n" for part in paragraphs), f"```\n{name} {usage}\n```\n", entries]
    )


def escaped(text: str) -> str:
    """Show brackets, stars and angles as they are."""
    shown = " ".join(text.split())
    for sign in "\\[]<>*_":
        shown = shown.replace(sign, f"\\{sign}" if sign not in "<>" else {"<": "&lt;", ">": "&gt;"}[sign])
    return shown

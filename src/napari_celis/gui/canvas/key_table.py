"""All keys of the plugin: what each is called, what it does, and what the user chose instead."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from qtpy.QtCore import QObject, Signal
from qtpy.QtGui import QKeySequence

logger = logging.getLogger(__name__)

PLUGIN, SECTION = "napari-celis", "keys"
"""Where napari keeps them: Preferences, Plugins, CELIS."""
RUN_KEYS, STEP_KEY, CARD_KEYS = ("Ctrl+Return", "Ctrl+Enter"), ".", ("?", "F1")


@dataclass(frozen=True)
class KeyCommand:
    """Something that a key does."""

    name: str
    """As in the settings, for what can be changed there."""
    default: str
    text: str
    """What it does, on the card."""
    more: tuple[str, ...] = ()
    """Further keys, which cannot be changed."""


KEY_GROUPS: dict[str, tuple[KeyCommand, ...]] = {
    "Answer the question that is shown": (
        KeyCommand("yes", "A", "yes: one neuron. Merges, or confirms the merge"),
        KeyCommand("no", "R", "no: two neurons. Keeps apart, or cuts the merge"),
        KeyCommand("not_here", "H", "not here: a membrane at this contact; forbids nothing"),
        KeyCommand("unsure", "S", "unsure: comes again at the end"),
        KeyCommand("note", "T", "write a note, kept with the answer"),
    ),
    "Go": (
        KeyCommand("next", "N", "next question"),
        KeyCommand("undo", "U", "undo, and back to that question", ("Ctrl+Z",)),
        KeyCommand("redo", "Y", "redo", ("Ctrl+Shift+Z",)),
    ),
    "The segment that is selected": (
        KeyCommand("done", "D", "done: nothing changes it; on to the largest untouched one"),
    ),
    "Look": (
        KeyCommand("blink", "B", "while held: the image alone"),
        KeyCommand("look", "F", "outlines, fills or nothing"),
        KeyCommand("view", "W", "contact view or napari's canvas"),
    ),
    "Two segments that you clicked": (
        KeyCommand("merge", "M", "merge them, and stay"),
        KeyCommand("keep_apart", "K", "keep them apart, and stay"),
        KeyCommand("cut", "C", "show a cut between them, or one out"),
        KeyCommand("split", "X", "split one by seeds; again: the other colour"),
    ),
}
"""What can be changed in the settings, as it is grouped on the card."""
FIXED_KEYS = {
    "Enter": "carry out the cut or split that is shown",
    "Backspace": "take the last seed away",
    "Esc": "clear what is selected, leave a split",
    "Ctrl+Enter": "run, pause",
    ".": "one step of the run",
    "?": "this card",
}
COMMANDS = {command.name: command for group in KEY_GROUPS.values() for command in group}


def as_key(text: str) -> str:
    """Write a key the way Qt does; "" if it is none."""
    sequence = QKeySequence(text.strip())
    return str(sequence.toString()) if sequence.count() == 1 else ""


def chosen_keys(settings: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Find the key of every command.

    Parameters
    ----------
    settings : mapping of str to str
        What the user wrote, by command.

    Returns
    -------
    keys : dict of str
        By command. What is no key, or the key of another command, is left at its default.
    problems : list of str
        One sentence for each of them.
    """
    keys = {name: command.default for name, command in COMMANDS.items()}
    problems = []
    taken = {key for command in COMMANDS.values() for key in command.more}
    taken |= {*FIXED_KEYS, *RUN_KEYS, "Return"}
    for name, text in settings.items():
        wanted = as_key(text)
        if name not in keys or wanted == keys[name]:
            continue
        others = {key for other, key in keys.items() if other != name} | taken
        if not wanted:
            problems.append(f"“{text}” is no key; “{name}” stays at {keys[name]}. Change it in Preferences.")
        elif wanted in others:
            problems.append(
                f"{wanted} has another meaning already; “{name}” stays at {keys[name]}. "
                "Change it in Preferences."
            )
        else:
            keys[name] = wanted
    return keys, problems


class KeyChoice(QObject):
    """The key of every command, as napari's settings say; follows them when they change."""

    changed = Signal()
    """Some command has another key."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._settings = _plugin_settings()
        self.problems: list[str] = []
        """What is wrong with the settings, one sentence each."""
        self.keys: dict[str, str] = {}
        """By command."""
        self._read()
        if self._settings is not None:
            self._settings.events.connect(self._on_settings)

    def close(self) -> None:
        """Follow the settings no more."""
        if self._settings is not None:
            self._settings.events.disconnect(self._on_settings)
            self._settings = None

    def all_of(self, name: str) -> tuple[str, ...]:
        """Return every key of a command, the chosen one first."""
        return (self.keys[name], *COMMANDS[name].more)

    def _read(self) -> None:
        written = (
            {} if self._settings is None else {name: getattr(self._settings, name, "") for name in COMMANDS}
        )
        self.keys, self.problems = chosen_keys({name: text for name, text in written.items() if text})

    def _on_settings(self, event: Any = None) -> None:
        self._read()
        self.changed.emit()


def _plugin_settings() -> Any:
    """Return the section of napari's settings that has our keys; None where napari has none for plugins."""
    try:
        from napari.settings import get_plugin_settings

        return getattr(get_plugin_settings(PLUGIN), SECTION)
    except (ImportError, KeyError, AttributeError):
        logger.debug("napari keeps no settings for this plugin")
        return None

"""How `celis` ends: exit codes, one sentence for a mistake, a traceback only when asked for."""

from __future__ import annotations

import subprocess
import sys

import pytest

from napari_celis.cli import app, main


def run_main(monkeypatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["celis", *arguments])
    with pytest.raises(SystemExit) as end:
        main()
    return int(end.value.code or 0)


@pytest.fixture
def failing(monkeypatch):
    """Return a function that adds a command which raises, until the test ends."""
    monkeypatch.setattr(app, "registered_commands", [*app.registered_commands])

    def add(error: BaseException) -> None:
        @app.command("fail")
        def fail() -> None:
            raise error

    return add


def test_mistake_ends_in_one_sentence(monkeypatch, capsys):
    assert run_main(monkeypatch, "info", "nowhere.h5") == 1
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("celis: nowhere.h5 does not exist.")


def test_wrong_usage_ends_with_2(monkeypatch):
    assert run_main(monkeypatch, "nonsense") == 2
    assert run_main(monkeypatch, "info") == 2


def test_debug_shows_where_it_happened():
    run = subprocess.run(
        [sys.executable, "-m", "napari_celis", "info", "nowhere.h5", "--debug"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert run.returncode == 1
    assert "Traceback" in run.stderr
    assert "MissingDatasetError" in run.stderr


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (MemoryError(), "celis: not enough memory."),
        (PermissionError("no access"), "celis: no access"),
        (ZeroDivisionError("oops"), "celis: this should not have happened (ZeroDivisionError: oops). "),
    ],
)
def test_whatever_happens_there_is_no_traceback(failing, monkeypatch, capsys, error, sentence):
    failing(error)
    assert run_main(monkeypatch, "fail") == 1
    printed = capsys.readouterr().err
    assert printed.startswith(sentence)
    assert "Traceback" not in printed


def test_interruption_is_no_error_message(failing, monkeypatch, capsys):
    failing(KeyboardInterrupt())
    assert run_main(monkeypatch, "fail") == 1
    assert capsys.readouterr().err == "celis: stopped.\n"

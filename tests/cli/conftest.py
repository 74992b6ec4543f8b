"""Commands as a user would call them."""

import sys

import pytest

from napari_celis import cli


@pytest.fixture
def celis(monkeypatch, capsys):
    """Run a command in this process; return exit code, stdout and stderr."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["celis", *map(str, arguments)])
        with pytest.raises(SystemExit) as caught:
            cli.main()
        printed = capsys.readouterr()
        return caught.value.code or 0, printed.out, printed.err

    return run

"""The set-up that the scripts share, on machines that are made up with a fake PATH."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the set-up of a Linux machine")

TOOLS = ("sh", "uname", "cat", "cksum", "printf", "mkdir", "find", "rm", "mv", "sleep", "tail")


@pytest.fixture
def machine(tmp_path, checkout):
    """Return a function that runs a function of setup.sh where only TOOLS and the given programs exist."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for tool in TOOLS:
        (programs / tool).symlink_to(shutil.which(tool))
    root = tmp_path / "check out"
    (root / "scripts").mkdir(parents=True)
    shutil.copy(checkout / "scripts/setup.sh", root / "scripts")

    def run(function: str, display: str = "", **fakes: str) -> subprocess.CompletedProcess[str]:
        for name, body in fakes.items():
            program = programs / name.replace("_", "-").replace("python3-", "python3.")
            if not program.exists():
                program.write_text(f"#!/bin/sh\n{body}\n")
                program.chmod(0o755)
        command = f'set -eu; root="{root}"; . "$root/scripts/setup.sh"; {function}'
        environment = {"PATH": os.fspath(programs), "DISPLAY": display}
        # A shell adds sbin folders itself, where the real ldconfig is; the fake one comes first.
        return subprocess.run(
            ["sh", "-c", command], env=environment, capture_output=True, text=True, timeout=60
        )

    return run


def test_scripts_are_plain_sh(checkout):
    for name in ("test", "demo", "docs", "setup.sh"):
        subprocess.run(["sh", "-n", checkout / "scripts" / name], check=True)
    for name in ("test", "demo", "docs"):
        assert os.access(checkout / "scripts" / name, os.X_OK)


def test_a_user_gets_the_line_to_run(machine):
    run = machine("prepare_system", id="echo 1000", apt_get="exit 1", ldconfig="echo libEGL.so.1")
    assert run.returncode == 1
    line = "sudo apt-get install --yes --no-install-recommends xvfb xauth libglib2.0-0 libfontconfig1 "
    assert line in run.stderr
    assert "libegl1" not in run.stderr


def test_with_a_display_no_virtual_one_is_asked_for(machine):
    run = machine(
        "prepare_system", display=":0", id="echo 1000", apt_get="exit 1", ldconfig="echo libEGL.so.1"
    )
    assert "libglib2.0-0" in run.stderr
    assert "xvfb" not in run.stderr


def test_other_systems_get_the_list(machine):
    run = machine("prepare_system", id="echo 0", ldconfig="true")
    assert run.returncode == 1
    assert "Debian packages xvfb xauth libegl1" in run.stderr


def test_root_installs_without_questions(machine, tmp_path):
    note = tmp_path / "calls"
    fake = f'echo "$DEBIAN_FRONTEND $*" >> "{note}"'
    run = machine('mkdir -p "$venv"; prepare_system', id="echo 0", apt_get=fake, ldconfig="true")
    assert run.returncode == 0, run.stderr
    update, install = note.read_text().splitlines()
    assert update == "noninteractive update"
    assert install.startswith("noninteractive install --yes --no-install-recommends xvfb xauth libegl1")


def test_an_old_python_is_named(machine):
    run = machine("find_python", python3="exit 1")
    assert run.returncode == 1
    assert "needs Python 3.11 or newer" in run.stderr
    assert run.stdout == ""


def test_a_newer_python_under_its_full_name_is_found(machine):
    run = machine("find_python", python3="exit 1", python3_12="exit 0")
    assert (run.returncode, run.stdout) == (0, "python3.12")


def test_a_python_without_venv_is_named(machine):
    run = machine("find_python", python3='case "$2" in *ensurepip*) exit 1;; esac')
    assert run.returncode == 1
    assert "no venv module" in run.stderr


@pytest.fixture
def prepare(machine, tmp_path):
    """Return a function that runs `prepare` with a python that copies itself and a pip that takes note."""
    (tmp_path / "check out/pyproject.toml").write_text("")
    (tmp_path / "check out/scripts/constraints.txt").write_text("")
    python = (
        'case "$*" in\n'
        '  "-m venv "*) mkdir -p "$3/bin"; cat "$0" > "$3/bin/python"; /bin/chmod 755 "$3/bin/python";;\n'
        f'  "-c "*) exec "{sys.executable}" "$@";;\n'
        f'  "-m pip "*) echo pip >> "{tmp_path}/pip calls"\n'
        '    sleep "${PIP_SECONDS:-0}"; exit "${PIP_RESULT:-0}";;\n'
        "esac"
    )

    def run(before: str = ":") -> subprocess.CompletedProcess[str]:
        return machine(f"{before}; prepare", python3=python, Xvfb="", xauth="", ldconfig="exit 1")

    return run


def n_pip_calls(tmp_path: Path) -> int:
    return len((tmp_path / "pip calls").read_text().splitlines())


def test_second_preparation_installs_nothing(prepare, tmp_path):
    for _ in range(2):
        run = prepare()
        assert run.returncode == 0, run.stderr
    assert n_pip_calls(tmp_path) == 1


def test_changed_dependencies_are_installed(prepare, tmp_path):
    assert prepare().returncode == 0
    assert prepare('echo "# changed" >> "$root/pyproject.toml"').returncode == 0
    assert n_pip_calls(tmp_path) == 2


def test_failed_installation_is_tried_again(prepare, tmp_path):
    run = prepare("export PIP_RESULT=1")
    assert run.returncode == 1
    assert "could not be installed" in run.stderr
    assert prepare().returncode == 0
    assert n_pip_calls(tmp_path) == 2


def test_interrupted_set_up_starts_over(prepare, tmp_path):
    assert prepare().returncode == 0
    leftover = tmp_path / "check out/.venv/leftover"
    leftover.touch()
    leftover.with_name("celis-unfinished").touch()
    assert prepare().returncode == 0
    assert not leftover.exists()
    assert n_pip_calls(tmp_path) == 2


def test_two_at_once_install_once(prepare, tmp_path):
    with ThreadPoolExecutor(2) as pool:
        runs = list(pool.map(prepare, ["export PIP_SECONDS=1", "sleep 0.5"]))
    assert [run.returncode for run in runs] == [0, 0]
    assert n_pip_calls(tmp_path) == 1

"""All tests of the window use PyQt6; under PySide6 the panel works as well."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.skipif(sys.platform != "linux", reason="once is enough, where the virtual display is")
def test_the_panel_works_under_pyside6(checkout):
    pytest.importorskip("PySide6")
    scenario = Path(__file__).with_name("sample_scenario.py")
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", scenario],
        cwd=checkout,
        env={**os.environ, "QT_API": "pyside6", "PYTEST_QT_API": "pyside6"},
        capture_output=True,
        text=True,
        timeout=400,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "1 passed" in run.stdout

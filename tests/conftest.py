"""What all tests share."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def checkout() -> Path:
    """Return the root of the checkout that is being tested."""
    return Path(__file__).resolve().parents[1]

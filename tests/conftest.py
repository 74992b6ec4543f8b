"""What all tests share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# The first example of a kernel compiles it, which no deadline allows for.
settings.register_profile("celis", deadline=None)
settings.load_profile("celis")


@pytest.fixture(scope="session")
def checkout() -> Path:
    """Return the root of the checkout that is being tested."""
    return Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def one_thread() -> Iterator[None]:
    """Keep torch on one thread: small convolutions only wait for each other on several."""
    import torch

    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(n_threads)

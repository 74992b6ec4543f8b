"""What the tests of core share."""

import numba
import numpy as np
import pytest


@pytest.fixture(scope="session", autouse=True)
def wrap_around():
    """Let 64-bit hashes wrap around without compilation too, where numpy would warn."""
    with np.errstate(over="ignore" if numba.config.DISABLE_JIT else None):
        yield

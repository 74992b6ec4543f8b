"""One experiment for all sections: preparing it takes longer than most of them."""

import pytest

from bench.reproduce.tiny import tiny_experiment


@pytest.fixture(scope="session")
def experiment():
    return tiny_experiment()

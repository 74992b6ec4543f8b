"""What the tests of the plugin share."""

from __future__ import annotations

import pytest


@pytest.fixture
def our_plugin(npe2pm):
    """Register this plugin, and no other that happens to be installed."""
    with npe2pm.tmp_plugin(package="napari-celis") as plugin:
        yield plugin

"""Compiled loops over arrays; the caller has checked and allocated everything."""

import napari_celis.core.kernel_cache  # noqa: F401, a damaged cache must not fail them

"""Compiled loops of the evaluation."""

import napari_celis.core.kernel_cache  # noqa: F401, a damaged cache must not fail them

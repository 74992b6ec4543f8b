"""Remarks on what was given, for the user to notice before the result."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    import numpy as np


def remark_on_roles(image: np.ndarray, supervoxels: np.ndarray | None) -> None:
    """Say so if image and supervoxels look as if they were exchanged."""
    from napari_celis.core.volume import role_warnings

    for warning in role_warnings(image, supervoxels):
        typer.echo(f"Remark: {warning}", err=True)

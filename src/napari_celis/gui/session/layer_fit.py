"""Whether a layer that was just opened belongs to what is chosen."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

from napari_celis.core.errors import CelisError
from napari_celis.core.volume import Volume
from napari_celis.pipeline.checks import check_volumes
from napari_celis.pipeline.choice import Choice


def misfit(choice: Choice, role: Literal["image", "supervoxels", "truth"], volume: Volume) -> str:
    """Say why a volume cannot be used in a role together with what is chosen; "" if it can.

    Parameters
    ----------
    choice : Choice
        What is chosen. Where something is wrong with it already, nothing more is said.
    role : {"image", "supervoxels", "truth"}
        What the volume would be used as.
    volume : Volume
        The new one.
    """
    if not choice.extents:
        return ""
    try:
        check_volumes(choice)
    except CelisError:
        return ""
    try:
        changes: dict[str, Any] = {role: volume}
        check_volumes(replace(choice, **changes))
    except CelisError as error:
        return str(error)
    return ""

"""Options that are given once for each volume."""

from __future__ import annotations

from collections.abc import Sequence


def require_pairs(
    images: Sequence[str],
    truths: Sequence[str],
    supervoxels: Sequence[str],
    affinities: Sequence[str],
) -> None:
    """Refuse options that were not given once for each image."""
    from napari_celis.core.errors import CelisError

    for option, given, is_needed in (
        ("--truth", truths, True),
        ("--supervoxels", supervoxels, False),
        ("--affinities", affinities, False),
    ):
        if len(given) != len(images) and (given or is_needed):
            raise CelisError(
                f"--image was given {_times(len(images))} and {option} {_times(len(given))}. Give {option} "
                f"once for each image, in the same order{'' if is_needed else ', or not at all'}."
            )


def _times(n: int) -> str:
    return {0: "not at all", 1: "once", 2: "twice"}.get(n, f"{n} times")


def named(option: str, targets: Sequence[str]) -> dict[str, str]:
    """Name repeated options for messages: the first as it is, others with their number."""
    return {
        option if n == 1 else f"{option} (volume {n})": target for n, target in enumerate(targets, start=1)
    }

"""What was computed from the chosen data, so that nobody computes it again."""

from __future__ import annotations

from typing import Any

import numpy as np

from napari_celis.core.volume import Volume
from napari_celis.pipeline.choice import Atoms, Choice


class ComputedData:
    """Remembers the newest affinities and the supervoxels of the newest volume, by what they were made of."""

    def __init__(self) -> None:
        self._affinities: tuple[tuple[Any, ...], np.ndarray] | None = None
        self._atoms: tuple[Any, Atoms] | None = None

    def keep_affinities(self, choice: Choice, affinities: np.ndarray) -> None:
        """Remember affinities.

        Parameters
        ----------
        choice : Choice
            What they were made of.
        affinities : ndarray of float32, shape (3, Z, Y, X)
            What came out.
        """
        self._affinities = (_origin_of(choice), affinities)

    def affinities_of(self, choice: Choice) -> np.ndarray | None:
        """Return the affinities of a choice if they are known."""
        if self._affinities is None or not _are_same(self._affinities[0], _origin_of(choice)):
            return None
        return self._affinities[1]

    def keep_atoms(self, voxels: Any, atoms: Atoms) -> None:
        """Remember the supervoxels of a volume.

        Parameters
        ----------
        voxels : array-like
            The labels that they were found in; known again by identity.
        atoms : Atoms
            What was found.
        """
        self._atoms = (voxels, atoms)

    def atoms_of(self, volume: Volume) -> Atoms | None:
        """Return the supervoxels of a volume if they are known."""
        return self._atoms[1] if self._atoms is not None and self._atoms[0] is volume.data else None

    def forget_atoms(self) -> None:
        """Forget the supervoxels: the layer was edited."""
        self._atoms = None


def _origin_of(choice: Choice) -> tuple[Any, ...]:
    """Name what affinities depend on: those of another network, or image and model."""
    if choice.affinities is not None:
        return (choice.affinities.data,)
    return (None if choice.image is None else choice.image.data, choice.model)


def _are_same(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    """Compare by identity: arrays have no other quick way."""
    return len(one) == len(other) and all(a is b for a, b in zip(one, other, strict=True))

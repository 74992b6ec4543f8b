"""What a run of certain supervoxels begins with."""

from __future__ import annotations

from dataclasses import replace

from napari.layers import Layer

from napari_celis.pipeline.choice import Choice, Decided


class RunStart:
    """Remembers decisions and threshold for one layer of supervoxels; other layers begin with nothing."""

    def __init__(self) -> None:
        self._layer: Layer | None = None
        self._choice: Choice | None = None

    def use(self, layer: Layer, choice: Choice) -> None:
        """Begin runs of a layer as a choice says.

        Parameters
        ----------
        layer : Layer
            The supervoxels.
        choice : Choice
            With what is decided, a threshold, and the model and policy that this is for.
        """
        self._layer, self._choice = layer, choice

    def forget(self) -> None:
        """Begin with nothing: the layer was edited."""
        self._layer = self._choice = None

    def decided(self, layer: Layer | None) -> Decided:
        """Return what a run of a layer begins with."""
        return Decided() if self._choice is None or layer is not self._layer else self._choice.decided

    def apply(self, choice: Choice, layer: Layer | None) -> Choice:
        """Let a choice begin as it should.

        Parameters
        ----------
        choice : Choice
            What is chosen now.
        layer : Layer, optional
            The chosen supervoxels.
        """
        own = self._choice
        if own is None or layer is not self._layer:
            return choice
        is_same = (choice.model, choice.policy) == (own.model, own.policy)
        return replace(choice, decided=own.decided, threshold=own.threshold if is_same else None)

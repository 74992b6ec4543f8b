"""The local energy network: descriptor bits and image features in, an energy between 0 and 1 out."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from napari_celis.core.presets import Preset


@dataclass(frozen=True)
class EnergySettings:
    """Sizes of an energy network."""

    n_bits: int
    n_features: int
    hidden: int = 128
    """Width of both hidden layers; the paper has 2048."""
    dropout: float = 0.5
    """Share of the last hidden layer that is dropped in training."""
    has_evidence: bool = True
    """Whether the first layer also sees every bit times the image's evidence for it."""


def preset_settings(preset: Preset, n_bits: int, n_features: int) -> EnergySettings:
    """Return the sizes of a preset: `paper` as published, `fast` for a computer without a GPU.

    Parameters
    ----------
    preset : Preset
        Its name.
    n_bits : int
        Bits of a descriptor.
    n_features : int
        Image features of a centre.
    """
    if preset == "paper":
        return EnergySettings(n_bits, n_features, hidden=2048, has_evidence=False)
    return EnergySettings(n_bits, n_features)


class EnergyNetwork(nn.Module):
    """Two hidden layers over the bits and the features of one centre, with a logistic output."""

    feature_mean: Tensor
    feature_scale: Tensor

    def __init__(self, settings: EnergySettings) -> None:
        super().__init__()
        self.settings = settings
        self.register_buffer("feature_mean", torch.zeros(settings.n_features))
        self.register_buffer("feature_scale", torch.ones(settings.n_features))
        self.bits = nn.Linear(settings.n_bits, settings.hidden, bias=False)
        if settings.has_evidence:
            self.evidence = nn.Linear(settings.n_bits, settings.hidden, bias=False)
        self.features = nn.Linear(settings.n_features, settings.hidden)
        self.hidden = nn.Linear(settings.hidden, settings.hidden)
        self.drop = nn.Dropout(settings.dropout)
        self.output = nn.Linear(settings.hidden, 1)

    def set_feature_scale(self, features: Tensor) -> None:
        """Standardise by the mean and spread of these features, (N, n_features), from now on."""
        self.feature_mean = features.mean(dim=0)
        self.feature_scale = 1.0 / features.std(dim=0).clamp_min(1e-6)

    def features_part(self, features: Tensor) -> Tensor:
        """Return what the features contribute to the first hidden layer, bias included, (M, hidden)."""
        part: Tensor = self.features((features - self.feature_mean) * self.feature_scale)
        return part

    def weighted_columns(self) -> Tensor:
        """Return the weights of bits times their evidence, (hidden, n_bits); zeros without evidence."""
        has_evidence = self.settings.has_evidence
        weights: Tensor = self.evidence.weight if has_evidence else torch.zeros_like(self.bits.weight)
        return weights

    def forward(self, bits: Tensor, features: Tensor, evidence: Tensor) -> Tensor:
        """Return the logits of the energies.

        Parameters
        ----------
        bits : Tensor of float, shape (M, n_bits)
            Descriptors as zeros and ones.
        features : Tensor of float, shape (M, n_features)
            Image features of each row's centre.
        evidence : Tensor of float, shape (M, n_bits)
            How certain the image is, 0 to 1, that the ends of each pair are connected.

        Returns
        -------
        logits : Tensor of float, shape (M,)
            The energy is their logistic function.
        """
        first = self.bits(bits) + self.features_part(features)
        if self.settings.has_evidence:
            first = first + self.evidence(bits * evidence)
        first = torch.relu(first)
        second = self.drop(torch.relu(self.hidden(first)))
        logits: Tensor = self.output(second)[:, 0]
        return logits

"""Evaluates energy networks for the agglomerator: in batches, on the best device, nearly free first layer."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from napari_celis.core.descriptors import unpack_bits
from napari_celis.models import kernels
from napari_celis.models.device import explained_memory, one_torch_thread
from napari_celis.models.energy import EnergyNetwork
from napari_celis.models.features import CentreFeatures

DENSE_ROWS = 1 << 15
"""Rows per batch on an accelerator."""
INDEPENDENT_ROWS = 64
"""From this many rows on, a matrix product treats each of them the same way. Below 16 some processors take
another way through it."""
CACHED_ROWS = 1 << 11
"""Rows whose hidden layers stay in a processor's cache."""


class NetworkEnergy:
    """One network and one feature table per spec, as the agglomerator's energy.

    Parameters
    ----------
    networks : sequence of EnergyNetwork
        One per spec, in the order of the specs.
    features : sequence of CentreFeatures
        Image features of every centre of the spec's tiling, in the same order.
    device : torch.device
        Where to evaluate. On a CPU the first layer is factorised; an accelerator runs the plain network.
    """

    def __init__(
        self,
        networks: Sequence[EnergyNetwork],
        features: Sequence[CentreFeatures],
        device: torch.device | str = "cpu",
    ) -> None:
        self.device = torch.device(device)
        self.networks = [network.to(self.device).eval() for network in networks]
        self.features = list(features)
        self._precise = [copy.deepcopy(network).cpu().double() for network in self.networks]
        self._columns = [
            (_by_bit(network.bits.weight), _by_bit(network.weighted_columns() / 255))
            for network in self.networks
        ]

    def energies(self, spec_index: int, centres: np.ndarray, bits: np.ndarray) -> np.ndarray:
        """Evaluate local energies, see `napari_celis.core.energy.Energy`."""
        if not len(centres):
            return np.empty(0)
        with torch.inference_mode():
            if self.device.type == "cpu":
                with one_torch_thread():
                    return self._factorised(spec_index, centres, bits)
            with explained_memory(self.device, "Use the CPU."):
                return self.dense(spec_index, centres, bits)

    def dense(self, spec_index: int, centres: np.ndarray, bits: np.ndarray) -> np.ndarray:
        """Evaluate the plain network, row by row.

        Parameters
        ----------
        spec_index : int
            Number of the descriptor spec.
        centres : ndarray
            Numbers of centres.
        bits : ndarray
            Packed descriptors, uint64 (n, words).
        """
        network, features = self.networks[spec_index], self.features[spec_index]
        energies = []
        for begin in range(0, len(centres), DENSE_ROWS):
            part = slice(begin, begin + DENSE_ROWS)
            rows = unpack_bits(bits[part], network.settings.n_bits).astype(np.float32)
            own = features.at(centres[part])
            logits = network(
                self._send(rows),
                self._send(own.layout.astype(np.float32)),
                self._send(own.evidence).float() / 255,
            )
            energies.append(torch.sigmoid(logits).cpu().numpy())
        return np.concatenate(energies)

    def _factorised(self, spec_index: int, centres: np.ndarray, bits: np.ndarray) -> np.ndarray:
        """Evaluate with a first layer that rows of one centre share, by adding the columns of their bits.

        Scores are small differences of energies, so the same row must give the same energy in any company:
        the first layer is summed in float64, and products have as many rows as make them independent.
        """
        network, (columns, weighted) = self.networks[spec_index], self._columns[spec_index]
        width = network.settings.hidden
        n_rows = max(min(len(centres), CACHED_ROWS), INDEPENDENT_ROWS)
        first, second = torch.zeros(n_rows, width), torch.empty(n_rows, width)
        chosen = np.empty((2, network.settings.n_bits), dtype=np.int64)
        hidden, output = network.hidden.weight.T, network.output.weight[0].double()
        total, energies = np.empty(width), np.empty(len(centres))
        for begin in range(0, len(centres), CACHED_ROWS):
            part = slice(begin, begin + CACHED_ROWS)
            own, rows = centres[part], np.ascontiguousarray(bits[part])
            n = len(own)
            n_product = max(n, INDEPENDENT_ROWS)
            is_first = np.concatenate([[True], own[1:] != own[:-1]])
            seen = self.features[spec_index].at(own[is_first])
            base = self._features_part(spec_index, seen.layout)
            kernels.first_layer(
                rows, np.cumsum(is_first) - 1, columns, weighted, seen.evidence, base, total, chosen,
                first[:n].numpy(),
            )  # fmt: skip
            torch.addmm(network.hidden.bias, first[:n_product], hidden, out=second[:n_product]).relu_()
            logits = second[:n].double() @ output + network.output.bias.double()
            energies[part] = torch.sigmoid(logits).numpy()
        return energies

    def _features_part(self, spec_index: int, layout: np.ndarray) -> np.ndarray:
        """Return what the layout contributes to the first layer, bias included, float64 (P, hidden)."""
        rows = torch.from_numpy(layout.astype(np.float64))
        part: np.ndarray = self._precise[spec_index].features_part(rows).numpy()
        return part

    def _send(self, array: np.ndarray) -> Tensor:
        """Move an array to the device."""
        return torch.from_numpy(array).to(self.device)


def _by_bit(weight: Tensor) -> np.ndarray:
    """Turn a weight matrix so that the weights of one bit lie side by side, float32 (K, hidden)."""
    return np.ascontiguousarray(weight.detach().cpu().numpy().T)

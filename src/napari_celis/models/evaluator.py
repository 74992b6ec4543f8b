"""Evaluates energy networks for the agglomerator: in batches, on the best device, nearly free first layer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor

from napari_celis.core.descriptors import unpack_bits
from napari_celis.models import kernels
from napari_celis.models.energy import EnergyNetwork

DENSE_ROWS = 1 << 15
"""Rows per batch on an accelerator."""
CACHED_ROWS = 1 << 11
"""Rows whose hidden layers stay in a processor's cache."""


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """Keep torch on the calling thread: the agglomerator's own pool already uses every core."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class NetworkEnergy:
    """One network and one feature table per spec, as the agglomerator's energy.

    Parameters
    ----------
    networks : sequence of EnergyNetwork
        One per spec, in the order of the specs.
    features : sequence of ndarray
        Image features of every centre of the spec's tiling, float (N, F), in the same order.
    device : torch.device
        Where to evaluate. On a CPU the first layer is factorised; an accelerator runs the plain network.
    """

    def __init__(
        self,
        networks: Sequence[EnergyNetwork],
        features: Sequence[np.ndarray],
        device: torch.device | str = "cpu",
    ) -> None:
        self.device = torch.device(device)
        self.networks = [network.to(self.device).eval() for network in networks]
        self.features = list(features)
        self._columns = [
            np.ascontiguousarray(network.bits.weight.detach().cpu().numpy().T) for network in self.networks
        ]

    def energies(self, spec_index: int, centres: np.ndarray, bits: np.ndarray) -> np.ndarray:
        """Evaluate local energies, see `napari_celis.core.energy.Energy`."""
        if not len(centres):
            return np.empty(0, dtype=np.float32)
        with torch.inference_mode():
            if self.device.type == "cpu":
                with one_torch_thread():
                    return self._factorised(spec_index, centres, bits)
            return self.dense(spec_index, centres, bits)

    def dense(self, spec_index: int, centres: np.ndarray, bits: np.ndarray) -> np.ndarray:
        """Evaluate the plain network, row by row."""
        network, features = self.networks[spec_index], self.features[spec_index]
        energies = []
        for begin in range(0, len(centres), DENSE_ROWS):
            part = slice(begin, begin + DENSE_ROWS)
            rows = unpack_bits(bits[part], network.settings.n_bits).astype(np.float32)
            own = np.asarray(features[centres[part]], dtype=np.float32)
            logits = network(self._send(rows), self._send(own))
            energies.append(torch.sigmoid(logits).cpu().numpy())
        return np.concatenate(energies)

    def _factorised(self, spec_index: int, centres: np.ndarray, bits: np.ndarray) -> np.ndarray:
        """Evaluate with one dense first layer per centre; its other rows add the columns of their bits."""
        network, columns = self.networks[spec_index], self._columns[spec_index]
        first, second = (torch.empty(CACHED_ROWS, network.settings.hidden) for _ in range(2))
        hidden = network.hidden.weight.T
        energies = np.empty(len(centres), dtype=np.float32)
        for begin in range(0, len(centres), CACHED_ROWS):
            part = slice(begin, begin + CACHED_ROWS)
            own, rows = centres[part], np.ascontiguousarray(bits[part])
            n = len(own)
            is_first = np.concatenate([[True], own[1:] != own[:-1]])
            first_row = np.flatnonzero(is_first)
            base = self._first_layer(spec_index, own[first_row], rows[first_row])
            group = np.cumsum(is_first) - 1
            kernels.first_layer(rows, group, first_row, columns, base.numpy(), first[:n].numpy())
            torch.addmm(network.hidden.bias, first[:n], hidden, out=second[:n]).relu_()
            energies[part] = torch.sigmoid(network.output(second[:n])[:, 0]).numpy()
        return energies

    def _first_layer(self, spec_index: int, centres: np.ndarray, bits: np.ndarray) -> Tensor:
        """Evaluate the first layer densely, not rectified."""
        network = self.networks[spec_index]
        features = np.asarray(self.features[spec_index][centres], dtype=np.float32)
        rows = unpack_bits(bits, network.settings.n_bits).astype(np.float32)
        return network.first_layer(self._send(rows), self._send(features))

    def _send(self, array: np.ndarray) -> Tensor:
        """Move an array to the device."""
        return torch.from_numpy(array).to(self.device)

"""The affinity network and its training data as the paper describes them, slow and plain."""

from __future__ import annotations

import numpy as np
import torch
from torch.nn import functional


def paper_features(tensors: dict[str, torch.Tensor], patch: np.ndarray) -> np.ndarray:
    """Penultimate layer for the centre of one patch (9, 35, 35), layer by layer as in the table."""
    values = torch.from_numpy(patch)[None]
    values = torch.relu(convolve(values, tensors, "convolution1"))
    assert tuple(values.shape) == (64, 9, 31, 31)
    values = torch.relu(convolve(values, tensors, "convolution2"))
    assert tuple(values.shape) == (64, 5, 27, 27)
    values = pool(values)
    assert tuple(values.shape) == (64, 5, 14, 14)
    values = torch.relu(convolve(values, tensors, "convolution3"))
    assert tuple(values.shape) == (64, 1, 10, 10)
    values = pool(values)
    assert tuple(values.shape) == (64, 1, 5, 5)
    hidden = tensors["hidden.weight"] @ values.reshape(-1) + tensors["hidden.bias"]
    return torch.relu(hidden).numpy()


def convolve(values: torch.Tensor, tensors: dict[str, torch.Tensor], name: str) -> torch.Tensor:
    return functional.conv3d(values[None], tensors[f"{name}.weight"], tensors[f"{name}.bias"])[0]


def pool(values: torch.Tensor) -> torch.Tensor:
    """Largest value of the 2 × 2 voxels that begin at even places; at the far edge there may be fewer."""
    n_rows, n_columns = (-(-size // 2) for size in values.shape[-2:])
    pooled = torch.empty(*values.shape[:2], n_rows, n_columns, dtype=values.dtype)
    for y in range(n_rows):
        for x in range(n_columns):
            pooled[:, :, y, x] = values[:, :, 2 * y : 2 * y + 2, 2 * x : 2 * x + 2].amax(dim=(-2, -1))
    return pooled


def affinity_targets(labels: np.ndarray, offsets) -> tuple[np.ndarray, np.ndarray]:
    """Affinity of each voxel p and p + offset, one edge at a time; 0 is unknown, −1 is outside."""
    targets = np.zeros((len(offsets), *labels.shape), dtype=bool)
    known = np.zeros_like(targets)
    for channel, offset in enumerate(offsets):
        for place in np.ndindex(labels.shape):
            other = tuple(p + o for p, o in zip(place, offset, strict=True))
            if not all(0 <= p < size for p, size in zip(other, labels.shape, strict=True)):
                continue
            a, b = labels[place], labels[other]
            if -1 in (a, b):
                known[channel][place] = True
            elif 0 not in (a, b):
                known[channel][place] = True
                targets[channel][place] = a == b
    return targets, known


def near_boundary(labels: np.ndarray, distance: int) -> np.ndarray:
    """Voxels at most `distance` face steps from a voxel of another known object."""
    near = np.zeros(labels.shape, dtype=bool)
    places = list(np.ndindex(labels.shape))
    for place in places:
        for other in places:
            steps = sum(abs(p - o) for p, o in zip(place, other, strict=True))
            if (
                steps <= distance
                and labels[place] != labels[other]
                and 0 not in (labels[place], labels[other])
            ):
                near[place] = True
    return near


def auc(probabilities: np.ndarray, targets: np.ndarray) -> float:
    """Share of the pairs of a true and a false affinity that are in the right order; ties count half."""
    ones, zeros = probabilities[targets], probabilities[~targets]
    right = (ones[:, None] > zeros).sum() + 0.5 * (ones[:, None] == zeros).sum()
    return float(right / (len(ones) * len(zeros)))

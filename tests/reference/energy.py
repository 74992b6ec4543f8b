"""The energy of a segmentation straight from its definition: slow, plain, without the library."""

from __future__ import annotations

import itertools
import math

import numpy as np


def centres_of(shape, spec):
    """Positions on the lattice whose box lies inside the volume."""
    axes = []
    for size, box, stride in zip(shape, spec.box_zyx, spec.stride_zyx, strict=True):
        low = (box - 1) // 2
        axes.append(range(low, low + size - box + 1, stride))
    return list(itertools.product(*axes))


def region_of(position, shape, spec):
    """First voxel and end of the one connectivity region that owns a centre."""
    low, high = [], []
    for x, size, box, region in zip(position, shape, spec.box_zyx, spec.region_zyx, strict=True):
        step = region - box + 1
        first = (x - (box - 1) // 2) // step * step
        low.append(first)
        high.append(min(first + region, size))
    return tuple(low), tuple(high)


def faces(labels):
    """Pairs of neighbouring voxels with different supervoxels, background left out."""
    for position in itertools.product(*(range(size) for size in labels.shape)):
        for axis in range(3):
            other = tuple(p + (a == axis) for a, p in enumerate(position))
            if other[axis] < labels.shape[axis]:
                u, v = int(labels[position]), int(labels[other])
                if u != v and u != 0 and v != 0:
                    yield position, other, frozenset((u, v))


def all_actions(labels):
    """Every pair of adjacent supervoxels, with contact area and the sum of its face positions."""
    table = {}
    for position, other, pair in faces(labels):
        area, total = table.get(pair, (0, np.zeros(3)))
        table[pair] = (area + 1, total + (np.array(position) + np.array(other)) / 2)
    return table


def components_of(block, taken):
    """Component of every voxel of a block: a supervoxel is a clique, taken actions add their faces inside."""
    parent = {int(u): int(u) for u in np.unique(block)}

    def root(u):
        while parent[u] != u:
            u = parent[u]
        return u

    for _, _, pair in faces(block):
        if pair in taken:
            u, v = pair
            parent[root(u)] = root(v)
    roots = {u: root(u) if u else 0 for u in parent}
    return np.vectorize(roots.get)(block)


def descriptor(components, position, spec):
    """One bit per pair: are both ends in the same component? Background is connected to nothing."""
    bits = []
    for a, b in spec.pairs:
        end_a = components[tuple(np.add(position, a))]
        end_b = components[tuple(np.add(position, b))]
        bits.append(bool(end_a == end_b and end_a != 0))
    return np.array(bits)


class Reference:
    """Energies of segmentations of one volume, each given by the set of actions taken."""

    def __init__(self, labels, specs, local_energy):
        self.labels = labels
        self.specs = specs
        self.local_energy = local_energy
        self.actions = sorted(tuple(sorted(pair)) for pair in all_actions(labels))
        self._blocks = {}

    def _block_energy(self, index, spec, box, positions, taken):
        """Sum of local energies over the centres of one region."""
        low, high = box
        block = self.labels[tuple(slice(a, b) for a, b in zip(low, high, strict=True))]
        inside = frozenset(pair for _, _, pair in faces(block)) & taken
        key = (index, box, inside)
        if key not in self._blocks:
            components = components_of(block, inside)
            self._blocks[key] = math.fsum(
                math.prod(spec.stride_zyx)
                * self.local_energy(index, position, descriptor(components, np.subtract(position, low), spec))
                for position in positions
            )
        return self._blocks[key]

    def _regions(self):
        """Number of the spec, spec, box and centres of every region."""
        for index, spec in enumerate(self.specs):
            regions = {}
            for position in centres_of(self.labels.shape, spec):
                regions.setdefault(region_of(position, self.labels.shape, spec), []).append(position)
            for box, positions in regions.items():
                yield index, spec, box, positions

    def energy(self, taken):
        """Sum over specs and centres."""
        return math.fsum(self._block_energy(*region, frozenset(taken)) for region in self._regions())

    def scores(self, taken):
        """Energy change of every action, in the order of `actions`."""
        before = self.energy(taken)
        return np.array([self.energy(taken | {frozenset(pair)}) - before for pair in self.actions])

    def contact_scores(self, taken):
        """Per action, what joining each pair of components along its segments' contact changes, added up."""
        taken = frozenset(taken)
        segments = components_of(self.labels, taken)
        owner = dict(zip(self.labels.ravel().tolist(), segments.ravel().tolist(), strict=True))
        total = {}
        for region in self._regions():
            low, high = region[2]
            block = self.labels[tuple(slice(a, b) for a, b in zip(low, high, strict=True))]
            components = components_of(block, taken)
            local = dict(zip(block.ravel().tolist(), components.ravel().tolist(), strict=True))
            joined = {}
            for _, _, pair in faces(block):
                u, v = pair
                if owner[u] != owner[v]:
                    joined[frozenset((local[u], local[v]))] = pair
            before = self._block_energy(*region, taken)
            for pair in joined.values():
                contact = frozenset(owner[u] for u in pair)
                change = self._block_energy(*region, taken | {pair}) - before
                total[contact] = total.get(contact, 0.0) + change
        return np.array([total.get(frozenset((owner[u], owner[v])), 0.0) for u, v in self.actions])

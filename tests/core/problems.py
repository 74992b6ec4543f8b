"""Small agglomeration problems, drawn by hypothesis, and a toy energy that needs no network."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from napari_celis.core.descriptors import sample_spec, unpack_bits
from napari_celis.core.regions import tile


class ToyEnergy:
    """A nonlinear energy of the bits that also depends on where the centre is."""

    def __init__(self, shape, specs, *, dtype=np.float64, seed=0):
        rng = np.random.default_rng(seed)
        self.dtype = dtype
        self.specs = specs
        self.weights = [rng.normal(size=spec.n_bits) for spec in specs]
        self.positions = [tile(shape, spec).centres for spec in specs]
        self.n_rows = 0

    def local(self, spec_index, position, bits):
        """Energy in [0, 1] of one descriptor."""
        z, y, x = (float(p) for p in position)
        total = float(np.dot(self.weights[spec_index], bits))
        return 0.5 + 0.5 * np.sin(total + 0.3 * z + 0.7 * y + 1.1 * x)

    def energies(self, spec_index, centres, bits):
        self.n_rows += len(centres)
        rows = unpack_bits(bits, self.specs[spec_index].n_bits)
        positions = self.positions[spec_index][centres]
        return np.array(
            [self.local(spec_index, p, row) for p, row in zip(positions, rows, strict=True)], dtype=self.dtype
        )


def random_labels(rng, shape, n_supervoxels, background):
    """Supervoxels as nearest-seed cells, with scattered background voxels."""
    seeds = rng.random((n_supervoxels, 3)) * np.array(shape)
    grid = np.stack(np.meshgrid(*(np.arange(size) for size in shape), indexing="ij"), axis=-1)
    distance = ((grid[..., None, :] - seeds) ** 2).sum(axis=-1)
    labels = distance.argmin(axis=-1).astype(np.uint64) * 3 + 2
    labels[rng.random(shape) < background] = 0
    labels[tuple(size // 2 for size in shape)] = 2
    return labels


@st.composite
def specs_for(draw, shape):
    """One to three specs of both kinds whose boxes fit the shape."""
    rng = np.random.default_rng(draw(st.integers(0, 2**31)))
    specs = []
    for index in range(draw(st.integers(1, 3))):
        box = [draw(st.integers(2, min(size, 5))) for size in shape]
        specs.append(
            sample_spec(
                f"spec{index}",
                draw(st.sampled_from(["pairwise", "center"])),
                box,
                rng=rng,
                k=draw(st.integers(3, 70)),
                region_zyx=[size + draw(st.integers(0, 4)) for size in box],
                stride_zyx=[draw(st.integers(1, 3)) for _ in box],
            )
        )
    return tuple(specs)


@st.composite
def problems(draw):
    """Labels, specs and a toy energy."""
    shape = tuple(draw(st.integers(4, 8)) for _ in range(3))
    rng = np.random.default_rng(draw(st.integers(0, 2**31)))
    labels = random_labels(rng, shape, draw(st.integers(2, 8)), draw(st.sampled_from([0.0, 0.1, 0.4])))
    specs = draw(specs_for(shape))
    return labels, specs, ToyEnergy(shape, specs)

"""Descriptor specs, and the binary shape descriptors that they define."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from napari_celis.core.errors import SpecError
from napari_celis.core.kernels import descriptors as kernels

IntTriple = tuple[int, int, int]
Kind = Literal["pairwise", "center"]

WORD_BITS = 64


@dataclass(frozen=True, eq=False)
class DescriptorSpec:
    """One type of shape descriptor: K voxel pairs in a box around a position."""

    name: str
    kind: Kind
    """`pairwise`: any two voxels of the box; `center`: the first of each pair is the centre itself."""
    box_zyx: IntTriple
    """Size of the bounding box in voxels; every offset lies inside it."""
    pairs: np.ndarray
    """Offsets of the pairs from the centre, int32 (K, 2, 3); stored with a model, never drawn again."""
    region_zyx: IntTriple
    """Size of the connectivity regions in voxels, at least the box."""
    stride_zyx: IntTriple = (1, 1, 1)
    """Distance of neighbouring centres; (1, 1, 1) is the paper."""
    share: float = 1.0
    """What the energy of one voxel counts in the sum; 1 for every spec is the paper."""

    def __post_init__(self) -> None:
        pairs = np.array(self.pairs, dtype=np.int32, order="C")
        if not np.array_equal(pairs, self.pairs):
            raise SpecError(f"Spec `{self.name}`: `pairs` must hold whole numbers of voxels.")
        pairs.setflags(write=False)
        object.__setattr__(self, "pairs", pairs)
        for field in ("box_zyx", "region_zyx", "stride_zyx"):
            object.__setattr__(self, field, _int_triple(self.name, field, getattr(self, field)))
        _require_valid(self)

    @property
    def n_bits(self) -> int:
        """Number of pairs K, which is the length of a descriptor."""
        return len(self.pairs)

    @property
    def n_words(self) -> int:
        """Number of 64-bit words that hold one descriptor."""
        return -(-self.n_bits // WORD_BITS)

    @property
    def weight(self) -> float:
        """What one local energy counts in the sum: the share of the spec for every voxel per centre."""
        return self.share * float(np.prod(self.stride_zyx))

    @cached_property
    def low_zyx(self) -> IntTriple:
        """Voxels of the box below its centre, per axis."""
        z, y, x = ((size - 1) // 2 for size in self.box_zyx)
        return z, y, x

    @cached_property
    def high_zyx(self) -> IntTriple:
        """Voxels of the box above its centre, per axis."""
        z, y, x = (size // 2 for size in self.box_zyx)
        return z, y, x


def _int_triple(name: str, field: str, values: Sequence[int]) -> IntTriple:
    """Three positive whole numbers, or an error that names the field."""
    numbers = [int(value) for value in values]
    if len(numbers) != 3 or min(numbers) < 1 or any(n != v for n, v in zip(numbers, values, strict=True)):
        raise SpecError(
            f"Spec `{name}`: `{field}` must be three positive whole numbers, got {tuple(values)}."
        )
    return numbers[0], numbers[1], numbers[2]


def _require_valid(spec: DescriptorSpec) -> None:
    """Refuse offsets and sizes that no volume could satisfy."""
    if not 0 <= spec.share < float("inf"):
        raise SpecError(f"Spec `{spec.name}`: `share` must be a number from 0 on, got {spec.share}.")
    if spec.kind not in ("pairwise", "center"):
        raise SpecError(f"Spec `{spec.name}`: `kind` must be 'pairwise' or 'center', got {spec.kind!r}.")
    pairs = spec.pairs
    if pairs.ndim != 3 or pairs.shape[1:] != (2, 3) or len(pairs) == 0:
        raise SpecError(
            f"Spec `{spec.name}`: `pairs` must have shape (K, 2, 3) with K > 0, got {pairs.shape}."
        )
    ends = pairs.reshape(-1, 3)
    is_outside = ((ends < -np.array(spec.low_zyx)) | (ends > np.array(spec.high_zyx))).any(axis=1)
    if is_outside.any():
        first = tuple(int(v) for v in ends[is_outside.argmax()])
        raise SpecError(f"Spec `{spec.name}`: offset {first} lies outside the box {spec.box_zyx}.")
    if any(region < box for region, box in zip(spec.region_zyx, spec.box_zyx, strict=True)):
        raise SpecError(
            f"Spec `{spec.name}`: the connectivity region {spec.region_zyx} is smaller than the box "
            f"{spec.box_zyx}. Make it at least as large."
        )
    if spec.kind == "center" and pairs[:, 0].any():
        raise SpecError(f"Spec `{spec.name}`: a center spec needs (0, 0, 0) as the first end of every pair.")
    if (pairs[:, 0] == pairs[:, 1]).all(axis=1).any():
        raise SpecError(f"Spec `{spec.name}`: a pair joins a voxel with itself.")
    ordered = _order_ends(pairs)
    if len(np.unique(ordered.reshape(len(pairs), 6), axis=0)) < len(pairs):
        raise SpecError(f"Spec `{spec.name}`: the same pair of offsets occurs twice. Draw them again.")


def _order_ends(pairs: np.ndarray) -> np.ndarray:
    """Put the two ends of every pair into lexicographic order."""
    difference = pairs[:, 1] - pairs[:, 0]
    sign = np.zeros(len(pairs), dtype=np.int32)
    for axis in range(3):
        sign = np.where(sign == 0, np.sign(difference[:, axis]), sign)
    swapped: np.ndarray = np.where((sign < 0)[:, None, None], pairs[:, ::-1], pairs)
    return swapped


def sample_spec(
    name: str,
    kind: Kind,
    box_zyx: Sequence[int],
    *,
    rng: np.random.Generator,
    k: int = 512,
    region_zyx: Sequence[int] | None = None,
    stride_zyx: Sequence[int] = (1, 1, 1),
) -> DescriptorSpec:
    """Draw a spec with `k` different pairs, uniformly over all pairs of the box.

    Parameters
    ----------
    name : str
        What the spec is called in messages, tables and model files.
    kind : {'pairwise', 'center'}
        Whether the first end of each pair is free or the centre.
    box_zyx : sequence of int
        Size of the bounding box in voxels.
    rng : numpy.random.Generator
        Source of the draws; seed it to draw the same spec again.
    k : int
        Number of pairs; a box with fewer pairs than this gets all of them.
    region_zyx : sequence of int, optional
        Size of the connectivity regions; `2 * box - 1` by default.
    stride_zyx : sequence of int
        Distance of neighbouring centres.

    Returns
    -------
    spec : DescriptorSpec
        The spec with its offsets.
    """
    if k < 1:
        raise SpecError(f"Spec `{name}`: `k` must be at least 1, got {k}.")
    box = _int_triple(name, "box_zyx", box_zyx)
    region = tuple(2 * size - 1 for size in box) if region_zyx is None else region_zyx
    n_voxels = int(np.prod(box))
    centre = int(np.ravel_multi_index([(size - 1) // 2 for size in box], box))
    if kind == "center":
        others = np.delete(np.arange(n_voxels), centre)
        second = rng.permutation(others)[:k]
        first = np.full(len(second), centre)
    else:
        first, second = _draw_pairs(n_voxels, k, rng)
    ends = np.stack([np.stack(np.unravel_index(end, box), axis=1) for end in (first, second)], axis=1)
    pairs = ends - np.array([(size - 1) // 2 for size in box])
    return DescriptorSpec(name, kind, box, pairs, _int_triple(name, "region_zyx", region), tuple(stride_zyx))  # type: ignore[arg-type]


def _draw_pairs(n_voxels: int, k: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw `k` different unordered pairs out of `n_voxels`, or all of them if there are fewer."""
    n_pairs = n_voxels * (n_voxels - 1) // 2
    if n_pairs <= 4 * k:
        upper, lower = np.triu_indices(n_voxels, 1)
        chosen = rng.permutation(n_pairs)[:k]
        return upper[chosen], lower[chosen]
    seen: dict[tuple[int, int], None] = {}
    while len(seen) < k:
        a, b = (int(value) for value in rng.integers(n_voxels, size=2))
        if a != b:
            seen[min(a, b), max(a, b)] = None
    drawn = np.array(list(seen))
    return drawn[:, 0], drawn[:, 1]


def paper_specs(
    *,
    seed: int = 0,
    voxel_size_nm: Sequence[float] = (1.0, 1.0, 1.0),
    k: int = 512,
    strides: Sequence[int] = (1, 1, 1),
) -> tuple[DescriptorSpec, ...]:
    """Make the five specs of the paper: pairwise 9, 17, 33 and center 17, 33.

    Parameters
    ----------
    seed : int
        Seed of the draws.
    voxel_size_nm : sequence of float
        Voxel size; along a coarser axis the boxes have fewer voxels, so that they stay near cubes in space.
    k : int
        Pairs per spec.
    strides : sequence of three int
        Distance of neighbouring centres, in voxels of the finest axis, for the boxes 9, 17 and 33.

    Returns
    -------
    specs : tuple of DescriptorSpec
        `pairwise9`, `pairwise17`, `pairwise33`, `center17`, `center33`.
    """
    rng = np.random.default_rng(seed)
    stride_of_size = dict(zip((9, 17, 33), strides, strict=True))
    kinds: tuple[tuple[Kind, int], ...] = (
        ("pairwise", 9),
        ("pairwise", 17),
        ("pairwise", 33),
        ("center", 17),
        ("center", 33),
    )
    return tuple(
        sample_spec(
            f"{kind}{size}",
            kind,
            anisotropic_box(size, voxel_size_nm),
            rng=rng,
            k=k,
            stride_zyx=anisotropic_stride(stride_of_size[size], voxel_size_nm),
        )
        for kind, size in kinds
    )


def anisotropic_box(size: int, voxel_size_nm: Sequence[float]) -> IntTriple:
    """Turn an edge length in voxels of the finest axis into a near-cubic box of odd sizes, at least 3.

    Parameters
    ----------
    size : int
        Edge length, in voxels of the finest axis.
    voxel_size_nm : sequence of float
        Voxel size along z, y, x.
    """
    finest = _finest(voxel_size_nm)
    z, y, x = (max(3, 2 * round((size * finest / step - 1) / 2) + 1) for step in voxel_size_nm)
    return z, y, x


def anisotropic_stride(stride: int, voxel_size_nm: Sequence[float]) -> IntTriple:
    """Turn a stride in voxels of the finest axis into one per axis, at least 1.

    Parameters
    ----------
    stride : int
        In voxels of the finest axis.
    voxel_size_nm : sequence of float
        Voxel size along z, y, x.
    """
    finest = _finest(voxel_size_nm)
    z, y, x = (max(1, round(stride * finest / step)) for step in voxel_size_nm)
    return z, y, x


def _finest(voxel_size_nm: Sequence[float]) -> float:
    """Return the shortest edge of a voxel, or an error if that is no size."""
    if not all(0 < edge < float("inf") for edge in voxel_size_nm):
        raise SpecError(f"`voxel_size_nm` must be three positive numbers, got {tuple(voxel_size_nm)}.")
    return min(voxel_size_nm)


def require_inside(shape: Sequence[int], centres: np.ndarray, spec: DescriptorSpec) -> None:
    """Refuse centres whose box leaves the array; a negative index would wrap silently.

    Parameters
    ----------
    shape : sequence of int
        Of the array.
    centres : ndarray
        Positions, (N, 3).
    spec : DescriptorSpec
        The descriptor spec.
    """
    low, high = np.array(spec.low_zyx), np.array(shape) - np.array(spec.high_zyx)
    outside = ((centres < low) | (centres >= high)).any(axis=1)
    if outside.any():
        first = tuple(int(value) for value in centres[outside.argmax()])
        raise SpecError(
            f"The box {spec.box_zyx} of spec `{spec.name}` around centre {first} leaves the array of shape "
            f"{tuple(shape)}. Choose a centre further inside."
        )


def shape_descriptors(components: np.ndarray, centres: np.ndarray, spec: DescriptorSpec) -> np.ndarray:
    """Compute the descriptors of a labelled block.

    Parameters
    ----------
    components : ndarray of int, shape (Z, Y, X)
        Component of every voxel of one connectivity region; 0 is connected to nothing.
    centres : ndarray of int, shape (N, 3)
        Where to compute, in voxels of `components`.
    spec : DescriptorSpec
        Which pairs to look at.

    Returns
    -------
    bits : ndarray of uint64, shape (N, W)
        Bit j of a row is set when both ends of pair j lie in the same component.
    """
    centres = np.asarray(centres)
    require_inside(components.shape, centres, spec)
    bits = np.zeros((len(centres), spec.n_words), dtype=np.uint64)
    kernels.write_bits(_as_int32(components), np.ascontiguousarray(centres, np.int32), spec.pairs, bits)
    return bits


def _as_int32(components: np.ndarray) -> np.ndarray:
    """Cast labels; those beyond 32 bits get small names first, so that no two become one and 0 stays 0."""
    if components.dtype != np.int32 and components.max() > np.iinfo(np.int32).max:
        names = np.unique(components, return_inverse=True)[1].reshape(components.shape)
        components = np.where(components == 0, 0, names + 1)
    return np.ascontiguousarray(components, dtype=np.int32)


def unpack_bits(bits: np.ndarray, n_bits: int) -> np.ndarray:
    """Turn packed rows (N, W) into booleans (N, n_bits).

    Parameters
    ----------
    bits : ndarray
        Packed descriptors, uint64 (N, W).
    n_bits : int
        Bits per row.
    """
    flat = np.ascontiguousarray(bits, dtype="<u8").view(np.uint8)
    return np.unpackbits(flat, axis=1, bitorder="little", count=n_bits).astype(bool)


def hamming_distance(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Count the differing bits of packed descriptors, row by row.

    Parameters
    ----------
    a, b : ndarray
        Packed descriptors, uint64 (N, W).
    """
    distance: np.ndarray = np.bitwise_count(a ^ b).sum(axis=-1, dtype=np.int64)
    return distance

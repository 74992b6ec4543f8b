"""What a block-wise run is about: volumes, model, blocks and rules. An output belongs to one such set."""

from __future__ import annotations

import hashlib
import math
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal, get_args

from napari_celis.core.descriptors import DescriptorSpec, IntTriple
from napari_celis.core.errors import CelisError
from napari_celis.core.seeded_watershed import SeededSettings, by_sections, halo_nm
from napari_celis.core.volume import Triple, format_shape

FORMAT = 1
"""Raised when a run of this version could not be resumed by an older one."""
Rule = Literal["all", "owner", "any"]
RULES: tuple[Rule, ...] = get_args(Rule)
"""When a pair of supervoxels that several blocks saw counts as merged: when all of them say so, when the
block does that holds most of the contact, or when any of them says so."""
BLOCK, HALO = 192, 28
"""Voxels of the finest axis that a block and its halo measure by default."""
THINNEST_HALO = 4
"""Sections that a halo has at least."""
CHUNK = 64
"""Longest edge of a chunk of the arrays of a run."""


class BlockwiseError(CelisError):
    """A block-wise run cannot begin or go on."""


@dataclass(frozen=True)
class RunSettings:
    """Everything that decides the result of a run."""

    image: str | None
    supervoxels: str | None
    affinities: str | None
    shape: IntTriple
    voxel_size_nm: Triple
    offset_nm: Triple
    block_zyx: IntTriple
    halo_zyx: IntTriple
    policy: str
    threshold: float
    rule: Rule
    model: str
    """SHA-256 of the model file."""
    rechunk: bool = False
    """Whether the image is first copied into chunks that fit the blocks."""
    format: int = FORMAT

    def to_json(self) -> dict[str, Any]:
        """Return plain numbers, text and lists."""
        return {
            key: list(value) if isinstance(value, tuple) else value for key, value in asdict(self).items()
        }

    @classmethod
    def from_json(cls, values: Any, name: str) -> RunSettings:
        """Read back what `to_json` returned.

        Parameters
        ----------
        values : object
            From the file.
        name : str
            What messages call the run.
        """
        try:
            if values["format"] != FORMAT:
                raise BlockwiseError(
                    f"{name} was made by another version of napari-celis (format {values['format']}, this "
                    f"one writes {FORMAT}). Choose another output."
                )
            known: dict[str, Any] = {field.name: values[field.name] for field in fields(cls)}
        except (KeyError, TypeError) as error:
            raise BlockwiseError(
                f"{name} holds no settings of a block-wise run that can be read. Choose another output."
            ) from error
        for key, value in known.items():
            known[key] = tuple(value) if isinstance(value, list) else value
        return cls(**known)

    def require_same(self, other: RunSettings, name: str) -> None:
        """Refuse to go on with a run that was begun with other settings.

        Parameters
        ----------
        other : RunSettings
            Those of the output that is there.
        name : str
            What messages call it.
        """
        for field in fields(self):
            own, found = getattr(self, field.name), getattr(other, field.name)
            if own != found:
                raise BlockwiseError(
                    f"{name} belongs to a run with other settings: its {WORDS.get(field.name, field.name)} "
                    f"is {_written(found)}, now it is {_written(own)}. Use the same settings again, or "
                    "choose another output."
                )


WORDS = {
    "block_zyx": "block",
    "halo_zyx": "halo",
    "voxel_size_nm": "voxel size",
    "offset_nm": "position",
    "model": "model (SHA-256)",
}


def _written(value: Any) -> str:
    if isinstance(value, tuple):
        return " × ".join(f"{one:g}" for one in value)
    return "none" if value is None else str(value)[:24] if len(str(value)) == 64 else str(value)


def file_checksum(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def default_block(voxel_size_nm: Triple) -> IntTriple:
    """Choose blocks that are about as long along every axis in nm, and whole chunks."""
    return _scaled(BLOCK, voxel_size_nm, multiple=32, least=32)


def default_halo(
    voxel_size_nm: Triple, specs: tuple[DescriptorSpec, ...], seeds: SeededSettings | None
) -> IntTriple:
    """Choose a halo that is as wide as descriptors and seeds need.

    Parameters
    ----------
    voxel_size_nm : tuple of float
        Voxel size.
    specs : tuple of DescriptorSpec
        Those of the model.
    seeds : SeededSettings or None
        How supervoxels are made; None if they are given.
    """
    wanted = _scaled(HALO, voxel_size_nm, multiple=4, least=THINNEST_HALO)
    least = least_halo(voxel_size_nm, specs, seeds)
    z, y, x = (max(own, -(-low // 4) * 4) for own, low in zip(wanted, least, strict=True))
    return z, y, x


def least_halo(
    voxel_size_nm: Triple, specs: tuple[DescriptorSpec, ...], seeds: SeededSettings | None
) -> IntTriple:
    """Return the narrowest halo that can be used; see `default_halo` for the parameters.

    Parameters
    ----------
    voxel_size_nm : tuple of float
        Along z, y, x.
    specs : tuple of DescriptorSpec
        The descriptors of the model.
    seeds : SeededSettings, optional
        How supervoxels are made; None if they are given.
    """
    least = [max(max(spec.low_zyx[axis], spec.high_zyx[axis]) for spec in specs) for axis in range(3)]
    if seeds is not None:
        needed = [math.ceil(halo_nm(seeds) / size) + 1 for size in voxel_size_nm]
        if by_sections(voxel_size_nm):
            needed[0] = 0
        least = [max(own, need) for own, need in zip(least, needed, strict=True)]
    return least[0], least[1], least[2]


def require_halo(halo_zyx: IntTriple, least: IntTriple) -> None:
    """Refuse a halo that descriptors or seeds do not fit into.

    Parameters
    ----------
    halo_zyx : tuple of int
        In voxels.
    least : tuple of int
        The narrowest halo that can be used, in voxels.
    """
    if any(own < need for own, need in zip(halo_zyx, least, strict=True)):
        raise BlockwiseError(
            f"A halo of {format_shape(halo_zyx)} voxels is too narrow: the descriptors of the model, and "
            f"seeds where supervoxels are made, need at least {format_shape(least)}. "
            f"Give --halo {' '.join(map(str, least))} or more."
        )


def chunks_of(block_zyx: IntTriple, shape: IntTriple) -> IntTriple:
    """Choose chunks of which every block holds whole ones.

    Parameters
    ----------
    block_zyx : tuple of int
        Size of a block in voxels.
    shape : tuple of int
        Shape of the volume.

    Raises
    ------
    BlockwiseError
        If blocks have no fitting divisor, saying which length to take.
    """
    chunks = []
    for axis, (block, size) in enumerate(zip(block_zyx, shape, strict=True)):
        fitting = [n for n in range(1, CHUNK + 1) if block % n == 0]
        # A block that spans the axis may have any length.
        if block >= size:
            chunks.append(min(CHUNK, size) if size % CHUNK == 0 or size <= CHUNK else _even_chunk(size))
        elif max(fitting) >= min(CHUNK // 4, block):
            chunks.append(max(fitting))
        else:
            nearest = max(CHUNK // 2, round(block / (CHUNK // 2)) * (CHUNK // 2))
            raise BlockwiseError(
                f"Blocks of {block} voxels along {'zyx'[axis]} cannot be stored in whole chunks. Take a "
                f"multiple of 32, for example {nearest}."
            )
    return chunks[0], chunks[1], chunks[2]


def _even_chunk(size: int) -> int:
    """Cut an axis that one block spans into chunks of about the usual length."""
    return -(-size // -(-size // CHUNK))


def _scaled(length: int, voxel_size_nm: Triple, *, multiple: int, least: int) -> IntTriple:
    """Turn a length in voxels of the finest axis into voxels of every axis."""
    finest = min(voxel_size_nm)
    z, y, x = (max(least, math.ceil(length * finest / size / multiple) * multiple) for size in voxel_size_nm)
    return z, y, x

"""Open a box of a block-wise result as an ordinary run, which begins with what the result and people say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from napari_celis.core.descriptors import IntTriple
from napari_celis.core.volume import Box, Volume, format_shape
from napari_celis.io.affinity_channels import OFFSETS, AffinityVolume
from napari_celis.io.lazy import LazyArray
from napari_celis.pipeline.checks import require_room
from napari_celis.pipeline.choice import Atoms, Choice, Decided
from napari_celis.pipeline.recipe import read_atoms
from napari_celis.pipeline.stages import Report, silent
from napari_celis.scale.answers import read_answers
from napari_celis.scale.grid import shape_of
from napari_celis.scale.honour import Answer, honour
from napari_celis.scale.reconcile import combine
from napari_celis.scale.run import BlockRun
from napari_celis.scale.settings import BlockwiseError
from napari_celis.scale.stages.pairs import read_votes
from napari_celis.scale.stages.segments import JOIN, SEGMENTS
from napari_celis.scale.stages.stage import WHOLE


@dataclass(frozen=True, eq=False)
class OpenedBox:
    """A part of a result, ready to be prepared as any other choice."""

    run: BlockRun
    box: Box
    """In voxels of the whole volume."""
    choice: Choice
    """Volumes that lie where the box does, and what is decided in it."""
    answers: tuple[Answer, ...]
    """What people answered before about supervoxels of the box, as far as it holds in it."""

    @property
    def name(self) -> str:
        """Where it lies, for messages."""
        return format_box(self.box)


def format_box(box: Sequence[slice]) -> str:
    """Write a box the way messages show it, such as `z 0–63, y 10–99, x 0–127`."""
    return ", ".join(f"{axis} {part.start}–{part.stop - 1}" for axis, part in zip("zyx", box, strict=True))


def box_of(numbers: Sequence[int], shape: IntTriple) -> Box:
    """Make a box from first and last-but-one voxels, and refuse one that lies outside.

    Parameters
    ----------
    numbers : sequence of int
        Beginning and end along z, then y, then x; the end itself is not part of the box.
    shape : tuple of int
        Voxels of the volume.
    """
    z, y, x = (slice(int(numbers[2 * axis]), int(numbers[2 * axis + 1])) for axis in range(3))
    for axis, part, size in zip("zyx", (z, y, x), shape, strict=True):
        if not 0 <= part.start < part.stop <= size:
            raise BlockwiseError(
                f"A box from {part.start} to {part.stop} along {axis} does not lie in the volume, which has "
                f"{format_shape(shape)} voxels. Give beginning and end along z, y and x, the end not "
                "included."
            )
    return z, y, x


def box_around(centre_zyx: Sequence[float], size_zyx: Sequence[int], shape: IntTriple) -> Box:
    """Place a box of about this size around a voxel, inside the volume.

    Parameters
    ----------
    centre_zyx : sequence of float
        The voxel in the middle; may lie outside.
    size_zyx : sequence of int
        Voxels of the box; less where the volume is smaller.
    shape : tuple of int
        Voxels of the volume.
    """
    parts = []
    for middle, wanted, size in zip(centre_zyx, size_zyx, shape, strict=True):
        length = min(int(wanted), size)
        start = min(max(0, round(middle - length / 2)), size - length)
        parts.append(slice(start, start + length))
    return parts[0], parts[1], parts[2]


def open_box(run: BlockRun, box: Box, report: Report = silent) -> OpenedBox:
    """Open a box of a result.

    What the result has in one segment is merged in it to begin with, and what people kept apart is kept
    apart, even if no pass over the whole has followed their answers yet.

    Parameters
    ----------
    run : BlockRun
        Whose blocks are joined.
    box : tuple of slice
        In voxels of the volume, see `box_of`.
    report : callable
        Called as `report(stage, share)`; an exception that it raises ends the work.

    Returns
    -------
    opened : OpenedBox
    """
    if run.flag(JOIN.name, WHOLE) is None:
        raise BlockwiseError(
            f"{run.store.url} has no segments yet, so no box of it can be opened. Let celis blockwise finish."
        )
    _require_room(run, box)
    affinities, supervoxels = run.window_volumes(box)
    atoms = read_atoms(supervoxels, report)
    report("reading decisions", 0.9)
    answers = _answers_in(run, atoms)
    decided, answers = _decided(run, box, atoms, answers)
    choice = Choice(
        image=None if run.settings.image is None else _image(run, box, supervoxels),
        supervoxels=supervoxels,
        affinities=affinities,
        model=run.model,
        policy="learned" if run.settings.policy == "learned" else "energy",
        threshold=run.settings.threshold,
        any_voxel_size=True,
        atoms=atoms,
        decided=decided,
    )
    return OpenedBox(run, box, choice, answers)


def _require_room(run: BlockRun, box: Box) -> None:
    """Refuse a box that does not fit into memory, before anything of it is read."""
    shape, place = shape_of(box), f"the box {format_box(box)}"
    supervoxels = Volume(np.broadcast_to(np.uint64(0), shape), name=place)
    affinities = AffinityVolume(np.broadcast_to(np.float32(0), (3, *shape)), OFFSETS, name=place)
    require_room(Choice(supervoxels=supervoxels, affinities=affinities, model=run.model))


def _image(run: BlockRun, box: Box, supervoxels: Volume) -> Volume:
    """Return the image of a box; it reads when it is sliced."""
    image = run.image

    def read(part: Sequence[slice]) -> Any:
        z, y, x = (
            slice(base.start + own.start, base.start + own.stop) for base, own in zip(box, part, strict=True)
        )
        return image.data[z, y, x]

    lazy = LazyArray(read, shape=shape_of(box), dtype=image.dtype, name=image.name)
    return replace(supervoxels, data=lazy, name="image")


def _answers_in(run: BlockRun, atoms: Atoms) -> tuple[Answer, ...]:
    """Find the answers about two supervoxels of a box."""
    ids = set(atoms.supervoxels.ids[1:].tolist())
    return tuple(one for one in read_answers(run.store) if one.u in ids and one.v in ids)


def _decided(
    run: BlockRun, box: Box, atoms: Atoms, answers: Sequence[Answer]
) -> tuple[Decided, tuple[Answer, ...]]:
    """Say what a box begins with, and which answers hold in it.

    Merges come in the order in which joining the blocks goes through them: a cut in the box and the
    keep-apart that comes of it then divide a segment in the same way.
    """
    supervoxels, actions = atoms.supervoxels, atoms.actions
    names = [run.grid.block(index).name for index in run.grid.touching(box)]
    segment = _segments(run, names, supervoxels.ids)
    index = {supervoxel_id: at for at, supervoxel_id in enumerate(supervoxels.ids.tolist())}
    dense = [Answer(one.kind, index[one.u], index[one.v]) for one in answers]
    component, order = honour(segment, actions.u, actions.v, _scores(run, names, atoms), dense)
    ends = supervoxels.ids[np.stack([actions.u[order], actions.v[order]], axis=1)]
    apart = tuple((one.u, one.v) for one in answers if one.kind == "keep-apart")
    holding = tuple(
        answer
        for answer, (kind, u, v) in zip(answers, dense, strict=True)
        if (component[u] == component[v]) == (kind == "merge")
    )
    return Decided(tuple((int(u), int(v)) for u, v in ends), apart), holding


def _segments(run: BlockRun, names: Sequence[str], ids: np.ndarray) -> np.ndarray:
    """Look up the segment of every supervoxel, uint64 (N + 1,); 0 where a block could not be computed."""
    segment = np.zeros(len(ids), dtype=np.uint64)
    for name in names:
        table = run.store.read_table(f"{SEGMENTS}/{name}.parquet", ["id", "segment"])
        if table is None or not len(table["id"]):
            continue
        at = np.minimum(np.searchsorted(ids, table["id"]), len(ids) - 1)
        is_here = ids[at] == table["id"]
        segment[at[is_here]] = table["segment"][is_here]
    return segment


def _scores(run: BlockRun, names: Sequence[str], atoms: Atoms) -> np.ndarray:
    """Return the mean score of every action as the blocks around it say, float64 (A,); inf if none does."""
    found = np.full(len(atoms.actions), np.inf)
    parts = [part for part in (read_votes(run, name) for name in names) if part is not None]
    if not parts:
        return found
    pairs, ids, actions = combine(parts), atoms.supervoxels.ids, atoms.actions
    at = [np.minimum(np.searchsorted(ids, ends), len(ids) - 1) for ends in (pairs.u, pairs.v)]
    is_here = (ids[at[0]] == pairs.u) & (ids[at[1]] == pairs.v) & (pairs.area > 0)
    own = actions.u.astype(np.int64) * len(ids) + actions.v
    # Both are sorted by their ends; a pair of the box may touch elsewhere only.
    rows = np.minimum(np.searchsorted(own, at[0] * len(ids) + at[1]), len(own) - 1)
    is_here &= own[rows] == at[0] * len(ids) + at[1]
    found[rows[is_here]] = pairs.total[is_here] / pairs.area[is_here]
    return found

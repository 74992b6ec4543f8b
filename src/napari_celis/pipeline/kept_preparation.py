"""What is kept of a preparation for the next time, by checksum: affinities, supervoxels, contacts, scores."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from napari_celis.core.actions import ActionTable
from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.kept_scores import KeptScores
from napari_celis.core.splits import DividedVolume
from napari_celis.core.supervoxels import Supervoxels
from napari_celis.core.volume import Volume
from napari_celis.io.session.checksums import text_checksum
from napari_celis.io.session.kept_arrays import KeptArrays
from napari_celis.io.session.records import SessionHead
from napari_celis.io.volumes import read_labels
from napari_celis.models import AFFINITY_REVISION
from napari_celis.pipeline.choice import Atoms, Choice
from napari_celis.pipeline.recipe import Prepared
from napari_celis.pipeline.session_identity import supervoxels_checksum
from napari_celis.pipeline.stages import Report


def _affinity_key(head: SessionHead) -> str:
    """Name the affinities that a session goes by."""
    image, given = head.volume("image"), head.volume("affinities")
    if given is not None:
        return given.checksum
    known = (image.checksum if image else "", head.model_checksum, str(AFFINITY_REVISION))
    return text_checksum("affinities", *known)


def _supervoxels_key(head: SessionHead) -> str:
    own = head.volume("supervoxels")
    return own.checksum if own else ""


def _scores_key(head: SessionHead, parts: str) -> str:
    own = [parts] if parts else []
    return text_checksum("scores", _supervoxels_key(head), _affinity_key(head), head.model_checksum, *own)


def parts_of(volume: DividedVolume | Agglomerator) -> str:
    """Name the parts that supervoxels were split into; empty where none was."""
    return supervoxels_checksum(volume.supervoxels) if volume.glued else ""


def with_preparation(choice: Choice, head: SessionHead, kept: KeptArrays, report: Report) -> Choice:
    """Add to a choice what was kept of an earlier preparation.

    Parameters
    ----------
    choice : Choice
        From `open_data`.
    head : SessionHead
        Names what the arrays must have been made from.
    kept : KeptArrays
        The folder beside the session.
    report : callable
        Told that supervoxels are read.
    """
    own = head.volume("supervoxels")
    assert own is not None
    if choice.affinities is None:
        shape = (3, *own.shape)
        found = kept.load("affinities", _affinity_key(head), {"affinities": (shape, "<f4")})
        if found is not None:
            choice = replace(choice, known_affinities=found["affinities"])
    if choice.supervoxels is None:
        found = kept.load("supervoxels", own.checksum, {"labels": (own.shape, "<u8")})
        if found is not None:
            size, offset = choice.voxel_size_nm, choice.offset_nm
            choice = replace(choice, supervoxels=Volume(found["labels"], size, offset, "made from the image"))
    table = {"u": "<i4", "v": "<i4", "area": "<i8"}
    wanted: dict[str, tuple[tuple[int | None, ...], str]] = {
        name: ((None,), kind) for name, kind in table.items()
    }
    arrays = kept.load("contacts", own.checksum, {**wanted, "centroid": ((None, 3), "<f8")})
    if choice.supervoxels is not None and arrays is not None:
        report("reading supervoxels", 0.0)
        supervoxels = Supervoxels.from_labels(read_labels(choice.supervoxels))
        actions = ActionTable(**arrays, n_supervoxels=supervoxels.n)
        if _is_table(actions):
            choice = replace(choice, atoms=Atoms(supervoxels, actions))
    return choice


def _is_table(actions: ActionTable) -> bool:
    """Tell whether a table that was kept could be one: compiled loops go by its numbers without checking."""
    u, v, n = actions.u.astype(np.int64), actions.v.astype(np.int64), actions.n_supervoxels
    if not len(u) == len(v) == len(actions.area) == len(actions.centroid):
        return False
    keys = u * (n + 1) + v
    return bool(
        (u >= 1).all() and (u < v).all() and (v <= n).all() and (np.diff(keys) > 0).all()
        and (actions.area >= 1).all() and np.isfinite(actions.centroid).all()
    )  # fmt: skip


def load_scores(head: SessionHead, kept: KeptArrays, n_specs: int, parts: str) -> KeptScores | None:
    """Read scores of an earlier moment; None if none were kept, or for no specs.

    Parameters
    ----------
    head : SessionHead
        Names what they must have been computed from.
    kept : KeptArrays
        The folder beside the session.
    n_specs : int
        Descriptor specs of the model.
    parts : str
        From `parts_of`.
    """
    if not n_specs:
        return None
    expected: dict[str, tuple[tuple[int | None, ...], str]] = {"taken": ((None,), "|b1")}
    for index in range(n_specs):
        expected[f"sums{index}"] = ((None, None), "<i8")
        expected[f"energy{index}"] = ((None,), "<i8")
    found = kept.load("scores", _scores_key(head, parts), expected)
    if found is None:
        return None
    return KeptScores(
        found["taken"],
        tuple(found[f"sums{index}"] for index in range(n_specs)),
        tuple(found[f"energy{index}"] for index in range(n_specs)),
    )


def keep_preparation(head: SessionHead, kept: KeptArrays, choice: Choice, prepared: Prepared) -> None:
    """Keep affinities, supervoxels, contacts and scores for the next time, where they are not kept already.

    Parameters
    ----------
    head : SessionHead
        Names what they were made from.
    kept : KeptArrays
        Where they go.
    choice : Choice
        As it was chosen, so that only what had to be made is kept.
    prepared : Prepared
        What was made of it.
    """
    atoms = prepared.inputs.atoms
    if choice.affinities is None and not kept.has("affinities", _affinity_key(head)):
        kept.save("affinities", _affinity_key(head), {"affinities": prepared.inputs.affinities})
    if choice.supervoxels is None and not kept.has("supervoxels", _supervoxels_key(head)):
        labels = atoms.supervoxels.ids[atoms.supervoxels.dense]
        kept.save("supervoxels", _supervoxels_key(head), {"labels": labels})
    if not kept.has("contacts", _supervoxels_key(head)):
        actions = atoms.actions
        table = {"u": actions.u, "v": actions.v, "area": actions.area, "centroid": actions.centroid}
        kept.save("contacts", _supervoxels_key(head), table)
    if not kept.has("scores", _scores_key(head, parts_of(prepared.agglomerator))):
        keep_scores(head, kept, prepared.agglomerator)


def keep_scores(head: SessionHead, kept: KeptArrays, agglomerator: Agglomerator) -> None:
    """Keep the scores of this moment; a lazy run has none to keep.

    Parameters
    ----------
    head : SessionHead
        Names what they were computed from.
    kept : KeptArrays
        Where they go.
    agglomerator : Agglomerator
        Has them.
    """
    scores = agglomerator.kept_scores()
    if scores is None:
        return
    arrays = {"taken": scores.taken}
    for index, (sums, energy) in enumerate(zip(scores.sums, scores.region_energy, strict=True)):
        arrays |= {f"sums{index}": sums, f"energy{index}": energy}
    kept.save("scores", _scores_key(head, parts_of(agglomerator)), arrays)

"""What exports do in the background; nothing appears under its name before it is complete."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from napari_celis.core.supervoxels import Supervoxels
from napari_celis.core.volume import Triple, Volume
from napari_celis.gui.session.geometry import RunGeometry, supervoxel_boxes
from napari_celis.io.atomic import atomic_file
from napari_celis.io.blocks import Kind
from napari_celis.io.meshes import segment_mesh, write_meshes
from napari_celis.io.neuroglancer import LinkedVolume, write_link
from napari_celis.io.ome_writing import Properties
from napari_celis.io.parts import Range, at_level, cropped
from napari_celis.io.precomputed_segments import HAS_MESHES
from napari_celis.io.volumes import takes_properties, write_volume
from napari_celis.pipeline.segment_table import SegmentTable
from napari_celis.pipeline.stages import Report

MESH_VOXELS = 64_000_000
"""Boxes of segments up to this size are meshed at full resolution."""


@dataclass(frozen=True, eq=False)
class Part:
    """A part of a volume, at one of its levels."""

    name: str
    """What the user calls it, such as "segmentation"."""
    volume: Volume
    kind: Kind
    ranges: tuple[Range, ...]
    """For z, y and x the first voxel, and the one behind the last."""
    level: int = 0
    segments: SegmentTable | None = None
    """What is known about the labels."""

    def resolved(self) -> Volume:
        """Make the volume to write; voxels are computed when they are read."""
        return at_level(cropped(self.volume, self.ranges), self.level, self.kind)

    def properties(self) -> Properties | None:
        """Describe the labels that the part holds; None where nothing is known."""
        if self.segments is None:
            return None
        shape = self.volume.shape
        if all(one == (0, size) for one, size in zip(self.ranges, shape, strict=True)):
            return self.segments.properties()
        data = cropped(self.volume, self.ranges).data
        sections = [np.unique(np.asarray(data[z : z + 1])) for z in range(data.shape[0])]
        return self.segments.properties(np.unique(np.concatenate(sections)).astype(np.uint64))


def write_part(part: Part, target: Path, report: Report) -> Path:
    """Write a part in the format that the name asks for.

    Parameters
    ----------
    part : Part
        What to write.
    target : Path
        Its suffix chooses the format.
    report : callable
        Told the stage and the finished share.
    """
    return _write(part, target, report, f"writing {target.name}", 0.0, 1.0)


def folder_beside(link: Path, name: str) -> Path:
    """Name the folder of a volume that a page opens.

    Parameters
    ----------
    link : Path
        The page.
    name : str
        What the volume is called.
    """
    return link.with_name(f"{link.stem}-{name}.precomputed")


def write_neuroglancer(
    parts: Sequence[Part], link: Path, selected: tuple[int, ...], position_nm: Triple | None, report: Report
) -> Path:
    """Write precomputed volumes, and beside them a page that opens them.

    Parameters
    ----------
    parts : sequence of Part
        From the lowest to the highest layer.
    link : Path
        The page; the volumes get its name with their own as an ending.
    selected : tuple of int
        Segments to show in 3-D from the start.
    position_nm : tuple of float
        Where to look.
    """
    linked = []
    with _removed_on_failure() as written:
        for index, part in enumerate(parts):
            folder = folder_beside(link, part.name)
            is_new = not folder.exists()
            _write(part, folder, report, f"writing {folder.name}", index / len(parts), 1 / len(parts))
            if is_new:
                written.append(folder)
            segments = selected if part.kind == "labels" else ()
            linked.append(LinkedVolume(folder, part.resolved(), part.kind, segments))
        report(f"writing {link.name}", 1.0)
        return write_link(link, linked, position_nm)


def write_surfaces(
    supervoxels: Supervoxels,
    segment_ids: np.ndarray,
    segments: Sequence[int],
    like: Volume,
    path: Path,
    report: Report,
) -> Path:
    """Write the surfaces of segments, in nanometres.

    Parameters
    ----------
    supervoxels : Supervoxels
        The atoms.
    segment_ids : ndarray of uint64, shape (N + 1,)
        Segment of every dense supervoxel index.
    segments : sequence of int
        Which ones.
    like : Volume
        Gives voxel size and offset.
    path : Path
        Its suffix chooses OBJ or PLY.
    """
    report("measuring segments", 0.0)
    no_contacts = np.empty((0, 3))
    geometry = RunGeometry(no_contacts, *supervoxel_boxes(supervoxels))
    meshes = {}
    for index, segment in enumerate(segments):
        report(f"surface of segment {segment}", index / len(segments))
        members = np.flatnonzero(segment_ids == np.uint64(segment))
        meshes[f"segment_{segment}"] = segment_mesh(
            supervoxels.dense,
            members,
            geometry.box_of(members),
            voxel_size=like.voxel_size_nm,
            offset=like.offset_nm,
            max_voxels=MESH_VOXELS,
        )
    report(f"writing {path.name}", 1.0)
    return write_meshes(path, meshes)


def write_picture(pixels: np.ndarray, path: Path, report: Report) -> Path:
    """Write a screenshot as PNG.

    Parameters
    ----------
    pixels : ndarray of uint8, shape (Y, X, 4)
        The picture.
    path : Path
        The file to write.
    report : callable
        Told the stage.
    """
    from PIL import Image

    report(f"writing {path.name}", 0.0)
    with atomic_file(path) as temporary:
        Image.fromarray(pixels).save(temporary, format="PNG")
    return path


def _write(part: Part, target: Path, report: Report, stage: str, start: float, share: float) -> Path:
    """Write one volume and report its share of the whole; the report is also where a cancel takes effect."""
    report(stage, start)
    return write_volume(
        part.resolved(),
        target,
        kind=part.kind,
        properties=part.properties() if takes_properties(target) else None,
        meshes=part.kind == "labels" and HAS_MESHES,
        progress=lambda done, total: report(stage, start + share * done / total),
    )


@contextmanager
def _removed_on_failure() -> Iterator[list[Path]]:
    """Remove new folders again when what they belong to was not finished."""
    written: list[Path] = []
    try:
        yield written
    except BaseException:
        for folder in written:
            shutil.rmtree(folder, ignore_errors=True)
        raise

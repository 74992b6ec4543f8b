"""Labels inside the group of their image: where they may lie, and the list that names them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from napari_celis.core.errors import VolumeError
from napari_celis.io.atomic import atomic_file
from napari_celis.io.blocks import Kind
from napari_celis.io.locks import locked
from napari_celis.io.ome import Multiscale, parse_multiscale
from napari_celis.io.ome_writing import Version
from napari_celis.io.zarr_nodes import read_json, read_node

GROUP = "labels"
"""The group of an image that the standard has for them."""


@dataclass(frozen=True)
class HostImage:
    """An image, and the place in its group that labels get."""

    folder: Path
    """The group of the image."""
    name: str
    """Path of the labels inside the group `labels`."""
    version: Version

    @property
    def source(self) -> str:
        """The image, seen from its labels."""
        return "../" * (1 + len(Path(self.name).parts))


def host_image(path: Path, dataset: str, kind: Kind) -> HostImage | None:
    """Find the image that a new volume would be part of.

    Parameters
    ----------
    path : Path
        A Zarr folder.
    dataset : str
        Where in it the volume goes.
    kind : {"image", "labels"}
        What it holds.

    Returns
    -------
    image : HostImage or None
        None if the place lies in no image, or beside what the standard knows.

    Raises
    ------
    VolumeError
        If writing there would damage the image, or what was written could not be found again.
    """
    place = path / dataset
    for folder in (path, *reversed([path / part for part in Path(dataset).parents if part != Path(".")])):
        node = read_node(folder) if folder.is_dir() else None
        image = None if node is None or node.is_array else parse_multiscale(node.attributes, str(folder))
        if image is not None:
            return _place_in(image, folder, place, kind)
    return None


def add_to_list(image: HostImage) -> None:
    """Name labels, which are complete, in the list that the group `labels` has of them."""
    metadata = image.folder / GROUP / "zarr.json"
    with locked(metadata):
        fields = read_json(metadata)
        attributes = fields.get("attributes")
        attributes = attributes if isinstance(attributes, dict) else {}
        ome = attributes.get("ome")
        ome = ome if isinstance(ome, dict) else {}
        listed = ome.get("labels")
        names = [str(name) for name in listed] if isinstance(listed, list) else []
        if image.name in names:
            return
        ome = {"version": image.version, **ome, "labels": [*names, image.name]}
        with atomic_file(metadata) as temporary:
            temporary.write_text(json.dumps({**fields, "attributes": {**attributes, "ome": ome}}, indent=2))


def _place_in(image: Multiscale, folder: Path, place: Path, kind: Kind) -> HostImage | None:
    """Check a place inside the group of an image."""
    first, *rest = place.relative_to(folder).parts
    if first in image.level_folders:
        raise VolumeError(
            f"{place} is a level of the image {folder}, so nothing else is written there. Choose another "
            f"name, such as {folder}:{GROUP}/cells for labels."
        )
    if first != GROUP:
        return None
    if not rest or kind != "labels":
        what = "is the group for all labels" if not rest else "is for labels, and this is an image"
        way = f"Name one in it, such as {folder}:{GROUP}/cells" if not rest else "Choose another name"
        raise VolumeError(f"{place} {what} of {folder}. {way}.")
    is_new = image.version is not None and image.version.startswith("0.6")
    return HostImage(folder, Path(*rest).as_posix(), "0.6" if is_new else "0.5")

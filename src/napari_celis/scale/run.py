"""One block-wise run: its settings and everything that blocks read and write."""

from __future__ import annotations

import hashlib
import tempfile
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from napari_celis.core.descriptors import IntTriple
from napari_celis.core.volume import Box, Volume, as_labels
from napari_celis.io.affinity_channels import OFFSETS, AffinityVolume
from napari_celis.scale.grid import Block, BlockGrid
from napari_celis.scale.inputs import open_input, open_input_affinities, read_affinity_box
from napari_celis.scale.settings import BlockwiseError, RunSettings, chunks_of
from napari_celis.scale.storage import RunStore

if TYPE_CHECKING:
    from napari_celis.models.model_file import CelisModel

HOME = "celis"
"""Everything in the output but the finished pyramid."""
SETTINGS, MODEL = f"{HOME}/run.json", f"{HOME}/model.safetensors"
IMAGE, AFFINITIES, SUPERVOXELS = f"{HOME}/image", f"{HOME}/affinities", f"{HOME}/supervoxels"


class BlockRun:
    """A run that exists; every process opens it by its URL.

    Parameters
    ----------
    store : RunStore
        Where it lies.
    """

    def __init__(self, store: RunStore) -> None:
        self.store = store
        found = store.read_json(SETTINGS)
        if found is None:
            raise BlockwiseError(f"{store.url} holds no block-wise run. Begin one with celis blockwise.")
        self.settings = RunSettings.from_json(found, store.url)

    @property
    def checksum(self) -> str:
        """Tells this run from another one under the same name."""
        return hashlib.sha256(repr(self.settings).encode()).hexdigest()

    @classmethod
    def begin(cls, store: RunStore, settings: RunSettings, model: Path) -> BlockRun:
        """Begin a run, or go on with one that has the same settings.

        Parameters
        ----------
        store : RunStore
            Where it is to lie.
        settings : RunSettings
            What it is about.
        model : Path
            The model file; a copy goes along with the run.
        """
        found = store.read_json(SETTINGS)
        if found is not None:
            settings.require_same(RunSettings.from_json(found, store.url), store.url)
        elif store.names("") not in ([], [HOME]) or store.names(HOME):
            raise BlockwiseError(
                f"{store.url} exists and is no block-wise run, so nothing is written into it. Choose another "
                "name."
            )
        else:
            store.write_json(SETTINGS, settings.to_json())
        # Whoever was killed here left the settings; what is missing beside them is written again.
        if MODEL.rpartition("/")[2] not in store.names(HOME):
            store.write(MODEL, model.read_bytes())
        for group in ("", HOME):
            if "zarr.json" not in store.names(group):
                store.write_group(group, {})
        return cls(store)

    # Blocks.

    @cached_property
    def grid(self) -> BlockGrid:
        """The blocks of the volume."""
        strides = [spec.stride_zyx for spec in self.model.specs]
        align = [int(np.lcm.reduce([stride[axis] for stride in strides])) for axis in range(3)]
        settings = self.settings
        return BlockGrid(
            settings.shape, settings.block_zyx, settings.halo_zyx, (align[0], align[1], align[2])
        )

    @property
    def chunks(self) -> IntTriple:
        """Chunks of the arrays of the run; a block holds whole ones."""
        return chunks_of(self.settings.block_zyx, self.settings.shape)

    # What is read.

    @cached_property
    def model(self) -> CelisModel:
        """The model that the run began with."""
        from napari_celis.models.model_file import load_model

        if self.store.is_local:
            return load_model(self.store.path(MODEL))
        content = self.store.read(MODEL)
        if content is None:
            raise BlockwiseError(f"{self.store.url} has lost its model. Begin the run again.")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.safetensors"
            path.write_bytes(content)
            return load_model(path)

    @cached_property
    def source(self) -> Volume:
        """The image as it was given."""
        assert self.settings.image is not None
        return open_input(self.settings.image)

    @cached_property
    def image(self) -> Volume:
        """The image that blocks read."""
        if not self.settings.rechunk:
            return self.source
        return Volume(self.store.array(IMAGE), self.settings.voxel_size_nm, self.settings.offset_nm, "image")

    @cached_property
    def given_affinities(self) -> AffinityVolume | None:
        """Affinities of another network, if some were given."""
        given = self.settings.affinities
        return None if given is None else open_input_affinities(given)

    @cached_property
    def _given_supervoxels(self) -> Volume | None:
        given = self.settings.supervoxels
        return None if given is None else open_input(given)

    def read_affinities(self, box: Box) -> np.ndarray:
        """Read the affinities of a box, float32 or uint8 (3, Z, Y, X)."""
        if self.given_affinities is not None:
            return read_affinity_box(self.given_affinities, box)
        return np.asarray(self.store.array(AFFINITIES)[(slice(None), *box)])

    def read_supervoxels(self, box: Box) -> np.ndarray:
        """Read the supervoxels of a box, uint64 (Z, Y, X)."""
        given = self._given_supervoxels
        if given is None:
            return np.asarray(self.store.array(SUPERVOXELS)[box])
        return as_labels(np.asarray(given.data[box]), given.name).astype(np.uint64)

    def window_volumes(self, box: Box) -> tuple[AffinityVolume, Volume]:
        """Read affinities and supervoxels of a box as volumes that lie where the box does."""
        settings = self.settings
        offset = tuple(
            start + part.start * size
            for start, part, size in zip(settings.offset_nm, box, settings.voxel_size_nm, strict=True)
        )
        place: dict[str, Any] = {"voxel_size_nm": settings.voxel_size_nm, "offset_nm": offset}
        return (
            AffinityVolume(self.read_affinities(box), OFFSETS, name="affinities", **place),
            Volume(self.read_supervoxels(box), name="supervoxels", **place),
        )

    # Who is done.

    def flag(self, stage: str, block: str) -> dict[str, Any] | None:
        """Read what a finished block noted; None if it is not finished.

        Parameters
        ----------
        stage : str
            Name of the stage.
        block : str
            Name of the block.
        """
        found = self.store.read_json(f"{HOME}/done/{stage}/{block}.json")
        return found if isinstance(found, dict) else None

    def set_flag(self, stage: str, block: Block, values: dict[str, Any]) -> None:
        """Note that a block is finished; the last thing that happens to it.

        Parameters
        ----------
        stage : str
            Name of the stage.
        block : Block
            One block of the grid.
        values : dict
            What later stages and the status need to know.
        """
        self.store.write_json(f"{HOME}/done/{stage}/{block.name}.json", values)

    def clear_flag(self, stage: str, block: str) -> None:
        """Let a block be computed again.

        Parameters
        ----------
        stage : str
            Name of the stage.
        block : str
            Name of the block.
        """
        self.store.remove(f"{HOME}/done/{stage}/{block}.json")

    def finished(self, stage: str) -> set[str]:
        """List the names of the finished blocks of a stage."""
        return {name.removesuffix(".json") for name in self.store.names(f"{HOME}/done/{stage}")}

    def is_added_up(self, stage: str) -> bool:
        """Tell whether what all blocks of a stage noted was added up."""
        return self.store.read_json(f"{HOME}/added/{stage}.json") is not None

    def set_added_up(self, stage: str, is_added_up: bool) -> None:
        """Note that a stage was added up, or has to be again.

        Parameters
        ----------
        stage : str
            Name of the stage.
        is_added_up : bool
            Whether the tables of all blocks are joined.
        """
        if is_added_up:
            self.store.write_json(f"{HOME}/added/{stage}.json", {})
        else:
            self.store.remove(f"{HOME}/added/{stage}.json")

    def set_failure(self, stage: str, block: Block, values: dict[str, Any]) -> None:
        """Note that a block cannot be computed, and why.

        Parameters
        ----------
        stage : str
            Name of the stage.
        block : Block
            One block of the grid.
        values : dict
            Where the block lies, and the error.
        """
        self.store.write_json(f"{HOME}/failed/{stage}/{block.name}.json", values)

    def failures(self, stage: str) -> dict[str, dict[str, Any]]:
        """Return what failed blocks of a stage noted, by name."""
        names = [name.removesuffix(".json") for name in self.store.names(f"{HOME}/failed/{stage}")]
        return {name: self.store.read_json(f"{HOME}/failed/{stage}/{name}.json") for name in names}

    def clear_failure(self, stage: str, block: str) -> None:
        """Forget that a block failed.

        Parameters
        ----------
        stage : str
            Name of the stage.
        block : str
            Name of the block.
        """
        self.store.remove(f"{HOME}/failed/{stage}/{block}.json")


@lru_cache(maxsize=2)
def open_run(url: str, checksum: str) -> BlockRun:
    """Open a run once per process.

    Parameters
    ----------
    url : str
        Where it lies.
    checksum : str
        Of the run that is meant: workers outlive runs, and a name may have been given to another one.
    """
    run = BlockRun(RunStore(url))
    if run.checksum != checksum:
        raise BlockwiseError(f"{url} was replaced by a run with other settings. Give the command again.")
    return run

"""The sample that comes with the package."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from napari_celis.core.errors import MissingDatasetError
from napari_celis.core.volume import Volume

SampleName = Literal["image", "supervoxels", "truth"]

FILE_NAME = "phantom.h5"
NECKS_NAME = "phantom-necks.json"
DATASETS: dict[SampleName, str] = {
    "image": "volumes/raw",
    "supervoxels": "volumes/labels/supervoxels",
    "truth": "volumes/labels/neuron_ids",
}


def sample_folder() -> Path:
    """Find the folder `sample_data`: in an installed package, or at the root of a checkout.

    Returns
    -------
    folder : Path
        It holds the volumes of `sample_volumes` and the list of necks.
    """
    package = Path(__file__).resolve().parents[1]
    candidates = (package / "sample_data", package.parents[1] / "sample_data")
    for folder in candidates:
        if (folder / FILE_NAME).is_file():
            return folder
    raise MissingDatasetError(
        f"The sample {FILE_NAME} is neither in {candidates[0]} nor in {candidates[1]}. "
        "Install napari-celis again; in a checkout run `python scripts/make_sample_data.py`."
    )


def sample_volumes() -> dict[str, Volume]:
    """Open the bundled phantom.

    Returns
    -------
    volumes : dict of str to Volume
        `image`, `supervoxels` and `truth`, lazy, with their voxel size.
    """
    from napari_celis.io.volumes import open_volume

    path = sample_folder() / FILE_NAME
    return {name: open_volume(f"{path}:{dataset}") for name, dataset in DATASETS.items()}


def bundled_models() -> dict[str, Path]:
    """List the model files that come with the package, by name."""
    return {path.stem: path for path in sorted((sample_folder() / "models").glob("*.safetensors"))}

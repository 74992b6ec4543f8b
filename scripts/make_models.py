"""Train the models in sample_data/models/.

    python scripts/make_models.py phantom
    python scripts/make_models.py fibsem-medulla VOLUME.h5

The first makes phantoms with other seeds than the sample's, with supervoxels from their images alone, and
learns from them: the sample itself is never seen. The second takes FlyEM's training_sample2 (z < 125) in the
CREMI layout, with the datasets volumes/raw, volumes/labels/neuron_ids and volumes/labels/supervoxels.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from make_sample_data import SETTINGS, make_supervoxels, write_sample
from napari_celis.synthetic.phantom import make_phantom
from napari_celis.training import DEFAULT_MINUTES

FOLDER = Path(__file__).resolve().parents[1] / "sample_data" / "models"
PHANTOM_SEEDS = (11, 12, 13, 14)
PHANTOM_SHAPE = (80, 112, 112)
OPTIONS = {
    "phantom": ("--unsure", "--affinity-share", "0.4"),
    "fibsem-medulla": (),
}
"""What each model is trained with besides the time."""
ATTRIBUTION = {
    "phantom": "Synthetic neuropil of napari-celis, made from nothing by scripts/make_models.py; CC0.",
    "fibsem-medulla": (
        "FIB-SEM of the fly medulla, 10 nm: FlyEM, Janelia Research Campus, neuroproof_examples, "
        "training_sample2, z < 125, CC-BY 3.0; Takemura et al., A visual motion detection circuit suggested "
        "by Drosophila connectomics, Nature 500 (2013)."
    ),
}


def train(name: str, volumes: Sequence[Path], minutes: float) -> None:
    FOLDER.mkdir(exist_ok=True)
    command = [
        *(sys.executable, "-m", "napari_celis", "train"),
        *("--attribution", ATTRIBUTION[name], "--minutes", str(minutes), "--resume", *OPTIONS[name]),
        *("-o", str(FOLDER / f"{name}.safetensors")),
    ]
    for volume in volumes:
        command += ["--image", f"{volume}:volumes/raw", "--truth", f"{volume}:volumes/labels/neuron_ids"]
        command += ["--supervoxels", f"{volume}:volumes/labels/supervoxels"]
    subprocess.run(command, check=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name", choices=sorted(ATTRIBUTION))
    parser.add_argument("volume", nargs="?", type=Path)
    parser.add_argument("--minutes", type=float, default=DEFAULT_MINUTES)
    arguments = parser.parse_args()
    if arguments.name != "phantom":
        if arguments.volume is None:
            parser.error("Give the volume to learn from.")
        train(arguments.name, [arguments.volume], arguments.minutes)
        return
    with tempfile.TemporaryDirectory() as folder:
        volumes = [Path(folder, f"phantom-{seed}.h5") for seed in PHANTOM_SEEDS]
        for seed, volume in zip(PHANTOM_SEEDS, volumes, strict=True):
            phantom = make_phantom(replace(SETTINGS, shape_zyx=PHANTOM_SHAPE, seed=seed))
            write_sample(volume, phantom, make_supervoxels(phantom.image))
        train(arguments.name, volumes, arguments.minutes)


if __name__ == "__main__":
    main()

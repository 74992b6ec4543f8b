"""Ask whether energies tell merges that the contact alone does not, on phantoms that nobody has seen.

    python benchmarks/accuracy/shape.py MODEL.safetensors [--phantoms 1 2 6] [--seeds 0] [--work FOLDER]

MODEL gives the affinities of all phantoms. Energies learn from some phantoms and stop by another one, the
policy learns from three more with these energies, with and without looking at them, and three more are
judged: weighted area under the curve and log loss of the first state's contacts, each weighted by the root
of what it changes, and the error of a run. One line of JSON per number of phantoms and seed. The learning
curve of `celis reproduce` is the same on smaller phantoms.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

from make_sample_data import make_supervoxels
from napari_celis.bench.reproduce.learning_curve import Phantoms, learn_and_judge
from napari_celis.core.presets import preset_specs
from napari_celis.models.inference import predict_averaged
from napari_celis.models.model_file import CelisModel, load_model
from napari_celis.synthetic.phantom import PhantomSettings, make_phantom
from napari_celis.training.energy_stage import EnergyPlan
from napari_celis.training.folds import Slab

SHAPE, LEARNED, STOPPED, FITTED, JUDGED = (64, 112, 112), 21, 41, (42, 43, 44), (45, 46, 47)
POWER, EXAMPLES, EPOCHS = 0.5, 60_000, 30


def slab_of(seed: int, model: CelisModel, work: Path) -> Slab:
    """Make a phantom with its affinities, or read it where it was kept."""
    path = work / f"phantom-{seed}.npz"
    if not path.exists():
        phantom = make_phantom(PhantomSettings(shape_zyx=SHAPE, seed=seed))
        affinities = predict_averaged(model.affinity, phantom.image, model.n_symmetries)
        np.savez(path, labels=make_supervoxels(phantom.image), truth=phantom.truth, affinities=affinities)
    kept = np.load(path)
    return Slab(kept["labels"].astype(np.uint64), kept["truth"], kept["affinities"])


def main() -> None:
    """Learn from more and more phantoms."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("--phantoms", nargs="+", type=int, default=[1, 2, 6])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--work", type=Path, default=Path("phantoms"), help="phantoms are kept here")
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    model = load_model(arguments.model)
    specs = preset_specs("fast", seed=0, voxel_size_nm=model.voxel_size_nm)

    def slabs(seeds: Sequence[int]) -> list[Slab]:
        return [slab_of(seed, model, arguments.work) for seed in seeds]

    for n in arguments.phantoms:
        phantoms = Phantoms(
            slabs(range(LEARNED, LEARNED + n)), slabs([STOPPED])[0], slabs(FITTED), slabs(JUDGED)
        )
        for seed in arguments.seeds:
            point = learn_and_judge(phantoms, specs, EnergyPlan("fast", EXAMPLES, POWER, 0.0, seed), EPOCHS)
            print(json.dumps({"seed": seed, **asdict(point)}), flush=True)


if __name__ == "__main__":
    main()

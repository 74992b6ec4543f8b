"""Train on every fold with several seeds, compare with the peers, and keep one line of JSON per method.

    python benchmarks/accuracy/run.py VOLUME.h5 --work FOLDER [--folds z-high …] [--seeds 0 1 2] [--minutes N]

VOLUME.h5 is in the CREMI layout (volumes/raw, volumes/labels/neuron_ids, volumes/labels/supervoxels). What
the results already hold for the same fold, seed, minutes and note is left out, and an interrupted training
goes on where it was, so the command may be given again and again. `table.py` prints what has come together,
`plot.py` draws the curves, and `errors.py` says what the errors are.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from contacts import changes, contact_figures, fit_line, learned_odds, mean_affinity_odds
from folds import FOLDS, AnnotatedVolume, Block
from napari_celis.baselines.celis import Celis
from napari_celis.baselines.compare import baseline_methods, compare
from napari_celis.baselines.forest import ForestSettings
from napari_celis.baselines.judge import ALL, INSIDE
from napari_celis.baselines.problem import Problem
from napari_celis.core.seeded_watershed import seeded_watershed
from napari_celis.models.apply import affinities_of
from napari_celis.models.model_file import CelisModel, load_model, save_model
from napari_celis.training.annotated import AnnotatedVolume as Annotated
from napari_celis.training.pipeline import TrainSettings, train_model

RESULTS = Path(__file__).with_name("results.jsonl")
SUPERVOXELS = ("given", "own")
"""Those that came with the volume, and those that the model makes from the image alone."""


def train(block: Block, volume: AnnotatedVolume, settings: TrainSettings, path: Path) -> None:
    """Train a model and keep it with the affinities that its peers may be tuned on."""
    annotated = Annotated(block.image, block.truth, block.supervoxels)
    records = train_model(
        [annotated], volume.voxel_size_nm, settings, folder=path.with_suffix(".training"), resume=True
    )
    begin = time.monotonic()
    while True:
        try:
            record = next(records)
        except StopIteration as stop:
            trained = stop.value
            break
        figures = " ".join(f"{key} {value:.3f}" for key, value in record.figures.items())
        print(f"{time.monotonic() - begin:7.0f} s  {record.stage:30} {figures}", file=sys.stderr)
    np.save(path.with_suffix(".npy"), (trained.affinities[0] * 255).round().astype(np.uint8))
    save_model(trained.model, path)
    trained.checkpoint.clear()


def judge(
    model: CelisModel, path: Path, block: Block, judged: Block, seed: int, kind: str
) -> dict[str, dict[str, Any]]:
    """Run every method on a slab that nothing was fitted or tuned on, with one kind of supervoxels."""
    affinities = np.load(path.with_suffix(".npy")), affinities_of(model, judged.image)
    labels = [
        part.supervoxels if kind == "given" else seeded_watershed(own, model.voxel_size_nm, model.supervoxels)
        for part, own in zip((block, judged), affinities, strict=True)
    ]
    fitted, test = (
        Problem.from_labels(own, values, truth=part.truth)
        for own, values, part in zip(labels, affinities, (block, judged), strict=True)
    )
    methods, _ = baseline_methods(ForestSettings(seed=seed))
    methods |= {f"celis_{policy}": Celis(model, policy) for policy in model.policies}
    found = compare(fitted, test, methods, report=lambda name, _: print(name, file=sys.stderr))
    y, known = changes(test), changes(fitted)
    slope, constant = fit_line(mean_affinity_odds(fitted)[known != 0], known[known != 0])
    found["mean_affinity"]["contacts"] = contact_figures(slope * mean_affinity_odds(test) + constant, y)
    found["celis_learned"]["contacts"] = contact_figures(learned_odds(model, test), y)
    return found


def at_best(curve: dict[str, Any]) -> list[float]:
    """VI in bits, of all voxels and away from boundaries, at the best threshold of the judged slab."""
    total = [np.add(curve[kind]["split"], curve[kind]["merge"]) for kind in (ALL, INSIDE)]
    return [float(errors[np.argmin(total[0])]) for errors in total]


def commit() -> str:
    """Name the commit, with a plus where the checkout differs from it; nothing where there is no history."""
    command = ["git", "-C", Path(__file__).parent, "describe", "--always", "--dirty=+"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def done(path: Path) -> set[tuple[Any, ...]]:
    """List what the results already hold."""
    lines = path.read_text().splitlines() if path.exists() else []
    return {
        (row["fold"], row["seed"], row["minutes"], row["note"])
        for row in (json.loads(line) for line in lines)
    }


def main() -> None:
    """Work through all folds and seeds, seeds last."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("volume", type=Path)
    parser.add_argument("--work", type=Path, required=True, help="models and affinities are kept here")
    parser.add_argument("--folds", nargs="+", default=FOLDS, choices=FOLDS)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--minutes", type=float, default=TrainSettings().minutes)
    parser.add_argument("--note", default="", help="what is tried, to tell experiments apart")
    parser.add_argument("--results", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    volume = AnnotatedVolume.read(arguments.volume)
    arguments.work.mkdir(parents=True, exist_ok=True)
    for seed in arguments.seeds:
        for fold in arguments.folds:
            key = (fold, seed, arguments.minutes, arguments.note)
            if key in done(arguments.results):
                continue
            block, judged = volume.fold(fold)
            path = arguments.work / f"{fold}-{seed}-{arguments.minutes:g}{arguments.note}.safetensors"
            begin = time.monotonic()
            if not path.exists():
                train(block, volume, TrainSettings(minutes=arguments.minutes, seed=seed), path)
            minutes_taken = (time.monotonic() - begin) / 60
            model = load_model(path)
            results = {kind: judge(model, path, block, judged, seed, kind) for kind in SUPERVOXELS}
            path.with_suffix(".json").write_text(json.dumps(results["given"]))
            with arguments.results.open("a") as file:
                for kind, method, figures in (
                    (kind, *item) for kind, own in results.items() for item in own.items()
                ):
                    best = at_best(figures.pop("curve"))
                    row = {
                        **dict(zip(("fold", "seed", "minutes", "note"), key, strict=True)),
                        "minutes_taken": round(minutes_taken, 1),
                        "commit": commit(),
                        "date": datetime.now(UTC).date().isoformat(),
                        "supervoxels": kind,
                        "method": method,
                        **figures,
                        "best": best,
                    }
                    file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()

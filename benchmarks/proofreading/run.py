"""Let a simulated person answer questions on slabs that nobody trained on, and keep one line of JSON per run.

    python benchmarks/proofreading/run.py VOLUME.h5 --models FOLDER --work FOLDER [--folds z-high …]
        [--kinds fitted phantom bare] [--minutes N] [--note TEXT] [--trial TEXT]

VOLUME.h5 is in the CREMI layout, and FOLDER of models holds those that `benchmarks/accuracy/run.py` trained:
one per fold, that never saw the slab which is judged here. `phantom` is the bundled phantom's model, which
never saw real tissue, and `bare` the fitted model without its policy. What the results already hold is
left out, so the command may be given again and again. `table.py` prints what has come together.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from folds_of_models import FOLDS, KINDS, Slab, find_slabs
from napari_celis.bench.proofreading import COUNTS, Order, SimulatedPerson
from napari_celis.evaluation.running_errors import RunningErrors

RESULTS = Path(__file__).with_name("results.jsonl")
MISTAKES = 0.1


@dataclass(frozen=True)
class Work:
    """How a person works."""

    order: Order
    learns: bool = False
    mistakes: float = 0.0
    seed: int = 0
    """Of mistakes and of the random order."""


WORKS = (
    Work("best"),
    Work("uncertainty"),
    *(Work("random", seed=seed) for seed in range(3)),
    Work("gain"),
    Work("gain", learns=True),
    *(Work("gain", learns, MISTAKES, seed) for learns in (False, True) for seed in range(3)),
)


def answered(slab: Slab, work: Work, most: int = max(COUNTS)) -> dict[str, Any]:
    """Answer questions, tell how the error fell, and take everything back."""
    agglomerator, n_before = slab.agglomerator, len(slab.agglomerator.history)
    errors = RunningErrors(slab.overlaps, agglomerator.segment_ids())
    vi, left, kinds = [errors.split + errors.merge], [], []
    if work.learns:
        agglomerator.learn(slab.model.learner())
    person = SimulatedPerson(slab.overlaps, work.mistakes, work.seed)
    begin = time.monotonic()
    for one in person.work(agglomerator, slab.threshold, work.order, most):
        vi.append(one.vi)
        left.append(one.expected_left)
        kinds.append([int(one.kind), int(one.is_correction)])
    seconds = time.monotonic() - begin
    while len(agglomerator.history) > n_before:
        agglomerator.undo()
    agglomerator.learn(None)
    return {
        "oracle": slab.oracle,
        "vi": {n: vi[min(n, len(vi) - 1)] for n in COUNTS},
        "expected_left": {n: left[n] for n in COUNTS if n < len(left)},
        "corrections": [sum(1 for kind, changed in kinds if kind == k and changed) for k in (0, 1)],
        "answers": len(kinds),
        "seconds": round(seconds, 1),
    }


def key_of(fold: str, kind: str, work: Work, trial: str) -> dict[str, Any]:
    """Name a run."""
    return {"fold": fold, "model": kind, **vars(work), "trial": trial}


def done(path: Path) -> list[dict[str, Any]]:
    """List what the results already hold."""
    names = key_of("", "", WORKS[0], "")
    lines = path.read_text().splitlines() if path.exists() else []
    return [{name: row[name] for name in names} for row in map(json.loads, lines)]


def rows(arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Do what is not done yet."""
    for kind in arguments.kinds:
        known = done(arguments.results)
        missing = {
            fold: [work for work in WORKS if key_of(fold, kind, work, arguments.trial) not in known]
            for fold in arguments.folds
        }
        wanted = argparse.Namespace(
            **vars(arguments) | {"folds": [fold for fold in missing if missing[fold]]}
        )
        for fold, slab in find_slabs(wanted, kind):
            with slab.agglomerator:
                for work in missing[fold]:
                    key = key_of(fold, kind, work, arguments.trial)
                    yield {**key, "date": datetime.now(UTC).date().isoformat(), **answered(slab, work)}


def main() -> None:
    """Work through folds, models and orders."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("volume", type=Path)
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True, help="affinities are kept here")
    parser.add_argument("--folds", nargs="+", default=FOLDS, choices=FOLDS)
    parser.add_argument("--kinds", nargs="+", default=KINDS, choices=KINDS)
    parser.add_argument("--seed", type=int, default=0, help="of the models")
    parser.add_argument("--minutes", type=float, default=16.0)
    parser.add_argument("--note", default="", help="as the models were trained with")
    parser.add_argument("--trial", default="", help="what is tried, to tell experiments apart")
    parser.add_argument("--results", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    for row in rows(arguments):
        with arguments.results.open("a") as file:
            file.write(json.dumps(row) + "\n")
        print(
            {name: row[name] for name in ("fold", "model", "order", "learns", "mistakes", "seed")}, row["vi"]
        )


if __name__ == "__main__":
    main()

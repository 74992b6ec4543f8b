"""Open damaged files one after another; run as a process of its own, because a library may crash.

python fuzz_worker.py FORMAT FIRST COUNT FOLDER
"""

import faulthandler
import json
import random
import subprocess
import sys
import time
import traceback
from collections import Counter
from pathlib import Path

MEMORY_BYTES = 2**26
"""What the process is told to have free; damaged headers must be caught by this, not by the system."""
SECONDS_PER_FILE = 20
SHARE_REMOVED = 0.02
SHARE_METADATA = 0.6
"""Metadata files are few among many chunks, and that is where damage tells."""


def run(format_name: str, first: int, count: int, folder: Path) -> tuple[Counter[str], list[str]]:
    """Open `count` damaged files in processes of their own, and describe every failure.

    A process that crashes or hangs is one failure; the next one goes on behind the file that did it.
    """
    outcomes: Counter[str] = Counter()
    failures, last = [], first + count
    while first < last:
        arguments = [sys.executable, __file__, format_name, str(first), str(last - first), str(folder)]
        process = subprocess.run(arguments, capture_output=True, text=True, check=False)
        for line in process.stdout.splitlines():
            outcome, details = json.loads(line)
            outcomes[outcome] += 1
            if outcome == "failed":
                failures.append(details)
        if process.returncode == 0:
            # Noise of a library on stderr would end up in the middle of somebody's progress bar.
            failures += [process.stderr[:2000]] if process.stderr else []
            break
        seed = int((folder / "seed").read_text())
        failures.append(f"seed {seed} ended the process, code {process.returncode}: {process.stderr[-3000:]}")
        first = seed + 1
    return outcomes, failures


def main(format_name: str, first: int, count: int, folder: Path) -> None:
    """Damage, open, report; the seed of the file at hand is kept in a file, for when the process dies."""
    from volume_samples import FORMATS

    from napari_celis.io import memory

    memory.available_bytes = lambda: MEMORY_BYTES
    work = folder / f"{format_name}-{first}"
    work.mkdir(parents=True)
    targets = FORMATS[format_name](work)
    contents = {path: path.read_bytes() for path in sorted(work.rglob("*")) if path.is_file()}
    with open(folder / "seed", "w") as log:
        for seed in range(first, first + count):
            log.seek(0)
            log.write(f"{seed:012d}")
            log.flush()
            faulthandler.dump_traceback_later(SECONDS_PER_FILE, exit=True)
            started = time.perf_counter()
            outcome, details = open_damaged(format_name, seed, targets, contents)
            seconds = round(time.perf_counter() - started, 3)
            sys.stdout.write(json.dumps([outcome, f"seed {seed} after {seconds} s: {details}"]) + "\n")
    faulthandler.cancel_dump_traceback_later()


def open_damaged(
    format_name: str, seed: int, targets: list[str], contents: dict[Path, bytes]
) -> tuple[str, str]:
    """Damage one file, open and read everything, and put it back."""
    from file_damage import damage

    from napari_celis.core.errors import CelisError
    from napari_celis.io.volumes import list_datasets, open_volume, read_image, read_labels

    rng = random.Random(f"{format_name}:{seed}")
    target = rng.choice(targets)
    files = [file for file in contents if str(file).startswith(target.partition(":")[0])]
    texts = [file for file in files if contents[file].startswith(b"{")]
    path = rng.choice(texts if texts and rng.random() < SHARE_METADATA else files)
    if rng.random() < SHARE_REMOVED:
        path.unlink()
    else:
        path.write_bytes(damage(contents[path], rng))
    read = rng.choice([read_image, read_labels])
    try:
        if rng.random() < 0.25:
            list_datasets(target)
        read(open_volume(target))
    except CelisError as error:
        return ("failed" if not str(error) or "\n" in str(error) else "refused"), str(error)
    except Exception:
        return "failed", traceback.format_exc()
    finally:
        path.write_bytes(contents[path])
    return "read", ""


if __name__ == "__main__":
    faulthandler.enable()
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))

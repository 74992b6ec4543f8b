"""Look for files that break a reader, guided by coverage; needs atheris (Linux, macOS).

python tests/fuzz/fuzz.py READER SECONDS [FOLDER]

Inputs that reach something new go to FOLDER/READER, those that break something to FOLDER/broken-*. What is
worth keeping is copied to tests/fuzz/corpus by hand; the suite reads it with every run.
"""

import sys
import warnings
from pathlib import Path

import atheris

HERE = Path(__file__).parent

with atheris.instrument_imports(include=["napari_celis", "tifffile", "zarr"]):
    sys.path.insert(0, str(HERE))
    import readers


def main() -> None:
    reader, seconds = sys.argv[1], sys.argv[2]
    folder = Path(sys.argv[3] if len(sys.argv) > 3 else "fuzzed")
    found = folder / reader
    found.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    arguments = [
        sys.argv[0], str(found), str(HERE / "corpus" / reader), f"-max_total_time={seconds}", "-timeout=30",
        "-rss_limit_mb=3000", "-max_len=100000", "-print_final_stats=1", f"-artifact_prefix={folder}/broken-",
    ]  # fmt: skip
    atheris.Setup(arguments, lambda data: readers.read_bytes(reader, data))
    atheris.Fuzz()


if __name__ == "__main__":
    main()

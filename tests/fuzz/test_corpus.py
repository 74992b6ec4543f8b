"""Files that fuzzing found worth keeping, and random damage to them: a sentence or a volume, nothing else."""

import random
import sys
from pathlib import Path

import pytest
import readers

sys.path.insert(0, str(Path(__file__).parents[1] / "io"))
from file_damage import damage

CORPUS = Path(__file__).parent / "corpus"
N_DAMAGED = 6


def kept(reader):
    return sorted((CORPUS / reader).iterdir())


@pytest.mark.parametrize("reader", readers.READERS)
def test_every_reader_has_a_corpus_with_whole_files(reader):
    assert len(kept(reader)) >= 3


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("reader", "path"),
    [pytest.param(name, path, id=f"{name}-{path.name}") for name in readers.READERS for path in kept(name)],
)
def test_kept_files_and_damaged_ones(reader, path):
    data = path.read_bytes()
    readers.read_bytes(reader, data)
    rng = random.Random(path.name)
    for _ in range(N_DAMAGED):
        readers.read_bytes(reader, data[:1] + damage(data[1:], rng))

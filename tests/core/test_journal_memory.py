"""The journal remembers what changed, not copies of everything."""

import numpy as np

from core.problems import random_labels
from core.states import FastEnergy, chain
from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.descriptors import sample_spec
from napari_celis.core.journal import Entry, Journal
from napari_celis.core.supervoxels import Supervoxels


def size_of(entry):
    """Bytes of all arrays that an entry keeps."""
    # A view keeps the whole of its base alive.
    return sum((array if array.base is None else array.base).nbytes for array in entry.operation.arrays())


def test_an_entry_costs_what_changed():
    rng = np.random.default_rng(0)
    labels = random_labels(rng, (24, 24, 24), 200, 0.0)
    specs = (sample_spec("s", "pairwise", (3, 3, 3), rng=rng, k=32, region_zyx=(5, 5, 5)),)
    energy = FastEnergy(labels.shape, specs)
    with Agglomerator(Supervoxels.from_labels(labels), specs, energy, threads=1) as agglomerator:
        scores = agglomerator.specs[0]
        everything = sum(a.nbytes for a in (scores.sums, scores.components, scores.region_energy))
        sizes = []
        for n, _ in enumerate(agglomerator.steps(np.inf)):
            sizes.append(size_of(agglomerator.journal.done[-1]))
            if n == 30:
                break
        assert max(sizes) < 0.2 * everything


def test_a_new_entry_drops_what_was_undone():
    with chain(3) as agglomerator:
        first, second = (agglomerator.merge(n, n + 1) for n in (1, 2))
        journal = Journal([], [Entry(first, None, None), Entry(second, None, None)])
        journal.push(Entry(second, None, None))
        assert [entry.step for entry in journal.done] == [second]
        assert journal.undone == []


def test_undo_and_redo_move_entries_from_one_list_to_the_other():
    with chain(4) as agglomerator:
        steps = [agglomerator.merge(n, n + 1) for n in (1, 2, 3)]
        for _ in range(2):
            agglomerator.undo()
        journal = agglomerator.journal
        assert [entry.step for entry in journal.done] == steps[:1]
        assert [entry.step for entry in journal.undone] == steps[:0:-1]
        agglomerator.redo()
        assert [entry.step for entry in journal.done] == steps[:2]
        assert [entry.step for entry in journal.undone] == steps[2:]

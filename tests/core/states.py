"""Small agglomerations, the whole of their state for comparison, and energies that misbehave on demand."""

from __future__ import annotations

import threading

import numpy as np

from core.problems import ToyEnergy, random_labels
from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.descriptors import sample_spec, unpack_bits
from napari_celis.core.errors import ActionError
from napari_celis.core.supervoxels import Supervoxels
from reference.energy import Reference

SHAPE = (6, 7, 8)
_REFERENCES = {}


def two_specs(seed=0):
    """One spec of each kind, with clipped regions and an uneven lattice."""
    rng = np.random.default_rng(seed)
    return (
        sample_spec("pairs", "pairwise", (3, 4, 3), rng=rng, k=40, region_zyx=(4, 5, 5)),
        sample_spec("rays", "center", (3, 3, 5), rng=rng, k=70, region_zyx=(5, 5, 6), stride_zyx=(1, 2, 2)),
    )


def agglomerate(seed=0, *, n_supervoxels=9, background=0.1, energy=None, **options):
    """Make an agglomerator of a small random volume; its toy energy is exact in float64."""
    labels = random_labels(np.random.default_rng(seed), SHAPE, n_supervoxels, background)
    specs = two_specs(seed)
    energy = ToyEnergy(SHAPE, specs) if energy is None else energy(SHAPE, specs)
    return Agglomerator(Supervoxels.from_labels(labels), specs, energy, **{"threads": 1} | options)


def chain(n, **options):
    """Make an agglomerator of `n` blocks in a row along x, ids 1 to n, each touching the next."""
    labels = np.zeros((3, 3, 3 * n), dtype=np.uint64)
    labels[:] = np.repeat(np.arange(1, n + 1), 3)
    return of_labels(labels, **options)


def of_labels(labels, box=(3, 3, 3), region=(3, 3, 5), **options):
    """Make an agglomerator of a given volume with one spec that looks at all pairs of its box."""
    rng = np.random.default_rng(0)
    specs = (sample_spec("all", "pairwise", box, rng=rng, k=10**4, region_zyx=region),)
    return Agglomerator(
        Supervoxels.from_labels(labels), specs, ToyEnergy(labels.shape, specs), **{"threads": 1} | options
    )


def reference_of(agglomerator):
    """The plain definition for the same problem, made once; the energy must be a `ToyEnergy`."""
    supervoxels = agglomerator.supervoxels
    labels = supervoxels.ids[supervoxels.dense]
    specs = tuple(scores.table.tiling.spec for scores in agglomerator.specs)
    key = (labels.tobytes(), *((spec.pairs.tobytes(), spec.region_zyx, spec.stride_zyx) for spec in specs))
    if key not in _REFERENCES:
        _REFERENCES[key] = Reference(labels, specs, agglomerator.specs[0].energy.local)
    return _REFERENCES[key]


def pair_of(agglomerator, action):
    """Ids of the two ends of an action."""
    ids = agglomerator.supervoxels.ids
    return int(ids[agglomerator.actions.u[action]]), int(ids[agglomerator.actions.v[action]])


def taken_pairs(agglomerator):
    """The actions taken, as a set of pairs of ids."""
    return {frozenset(pair_of(agglomerator, action)) for action in np.flatnonzero(agglomerator.taken())}


def segments_of(agglomerator, n_steps=None):
    """The segments as a set of sets of supervoxel ids."""
    groups = {}
    pairs = zip(agglomerator.supervoxels.ids, agglomerator.segment_ids(n_steps), strict=True)
    for supervoxel, segment in pairs:
        if supervoxel:
            groups.setdefault(int(segment), set()).add(int(supervoxel))
    return {frozenset(group) for group in groups.values()}


def assert_exact(agglomerator, reference):
    """Compare the energy and every score with the definition."""
    taken = taken_pairs(agglomerator)
    np.testing.assert_allclose(agglomerator.energy, reference.energy(taken), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(agglomerator.scores(), reference.scores(taken), rtol=1e-9, atol=1e-9)


def snapshot(agglomerator, *, journal=True):
    """Everything that an operation may change, as bytes: equal snapshots are equal to the last bit."""
    inside = agglomerator._state
    ranking, graph, items = inside.ranking, inside.graph.arrays, inside.items()
    is_left = ranking.ranked.is_candidate(items)
    numbers = {
        "taken": inside.taken,
        "segment": inside.segment,
        "voxels": graph.voxels[graph.segment],
        "surface": graph.surface[graph.segment],
        "area": graph.area[graph.contact_of] * graph.is_open[graph.contact_of],
        "scores": ranking.scores[items],
        "available": ranking.available()[items],
        "is_done": inside.is_done,
        "energies": ranking.ranked.energies.units[items] * is_left[:, None, None],
    }
    state = {name: array.tobytes() for name, array in numbers.items()}
    state |= {
        "totals": tuple(inside.totals),
        "n_segments": agglomerator.n_segments,
        "order": tuple(inside.order),
        "constraints": agglomerator.constraints,
        "energy": agglomerator.energy,
    }
    for scores in agglomerator.specs:
        for name in ("sums", "components", "region_energy", "_pending", "_wanted"):
            state[name, scores.index] = getattr(scores, name).tobytes()
        assert not scores._pending.any()
        assert not scores._wanted.any()
    if journal:
        state["done"] = agglomerator.history
        state["undone"] = tuple(entry.step for entry in agglomerator.journal.undone)
    return state


class FastEnergy:
    """A smooth float32 energy of bits and place, evaluated in one go."""

    def __init__(self, shape, specs):
        rng = np.random.default_rng(1)
        self.weights = [rng.normal(size=spec.n_bits).astype(np.float32) for spec in specs]

    def energies(self, spec_index, centres, bits):
        weights = self.weights[spec_index]
        total = (unpack_bits(bits, len(weights)) * weights).sum(axis=1, dtype=np.float32)
        return np.sin(total + centres.astype(np.float32) * np.float32(0.37), dtype=np.float32)


class FaultyEnergy(ToyEnergy):
    """A toy energy that answers with `fault(spec_index, energies)` while a fault is set."""

    fault = None

    def energies(self, spec_index, centres, bits):
        energies = super().energies(spec_index, centres, bits)
        return energies if self.fault is None else self.fault(spec_index, energies)


def in_thread(function, *arguments):
    """Run a function in a daemon thread and return the thread."""
    thread = threading.Thread(target=function, args=arguments, daemon=True)
    thread.start()
    return thread


def block_of_four():
    """Supervoxels 1 2 over 3 4: a ring of four actions."""
    labels = np.ones((2, 6, 6), dtype=np.uint64)
    labels[:, :3, 3:], labels[:, 3:, :3], labels[:, 3:, 3:] = 2, 3, 4
    return of_labels(labels, box=(2, 3, 3), region=(2, 4, 4))


def operate(agglomerator, operation, choice):
    """Do one operation by number; refusals count as nothing done."""
    pair = pair_of(agglomerator, choice % len(agglomerator.actions))
    taken = np.flatnonzero(agglomerator.taken())
    try:
        if operation == "step":
            agglomerator.step(np.inf)
        elif operation == "merge":
            agglomerator.merge(*pair)
        elif operation == "keep apart":
            agglomerator.keep_apart(*pair)
        elif operation == "allow" and agglomerator.constraints:
            agglomerator.allow(*agglomerator.constraints[choice % len(agglomerator.constraints)])
        elif operation == "cut" and len(taken):
            agglomerator.cut(*pair_of(agglomerator, taken[choice % len(taken)]))
        elif operation == "confirm" and len(taken):
            agglomerator.confirm(*pair_of(agglomerator, taken[choice % len(taken)]))
        elif operation == "not here":
            agglomerator.not_here(*pair)
        elif operation == "done":
            agglomerator.mark_done(pair[0])
        elif operation == "in work":
            agglomerator.mark_in_work(pair[0])
        elif operation in ("undo", "redo"):
            getattr(agglomerator, operation)()
    except ActionError:
        pass

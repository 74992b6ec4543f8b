"""What the agglomerator costs: time, threads, memory, and how exact its scores stay."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from typing import TYPE_CHECKING

import numpy as np

from napari_celis.bench.paper_cost import PaperCosts, StandInEnergy
from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.descriptors import DescriptorSpec, paper_specs
from napari_celis.core.energy import Energy
from napari_celis.core.presets import STRIDES, Preset, preset_specs
from napari_celis.core.regions import tile
from napari_celis.core.scores import SpecScores
from napari_celis.core.supervoxels import Supervoxels

if TYPE_CHECKING:
    from napari_celis.models.energy import EnergyNetwork

Figures = dict[str, float]

COUNTED_EDGE = 100
SMALL_EDGE = 64
PAPER_FEATURES = 512
"""Image features of a centre in the paper."""


@dataclass(frozen=True, eq=False)
class BenchData:
    """The labels that benchmarks run on."""

    name: str
    supervoxels: np.ndarray
    n_steps: int = 300
    """Greedy steps of every benchmark that takes steps."""


def random_networks(
    specs: Sequence[DescriptorSpec], seed: int = 0, preset: Preset = "fast"
) -> list[EnergyNetwork]:
    """Make networks with random weights: the cost of real ones.

    Parameters
    ----------
    specs : sequence of DescriptorSpec
        The descriptor specs.
    seed : int
        Source of every random choice.
    preset : Preset
        How large; those of the paper see its 512 image features.
    """
    import torch

    from napari_celis.models.energy import EnergyNetwork, preset_settings
    from napari_celis.models.features import LAYOUT_GRID, grid_offsets

    torch.manual_seed(seed)
    networks = []
    for spec in specs:
        n_features = PAPER_FEATURES if preset == "paper" else len(grid_offsets(spec, LAYOUT_GRID))
        network = EnergyNetwork(preset_settings(preset, spec.n_bits, n_features))
        # Fresh weights give nearly the same energy everywhere; trained ones have logits of about this spread.
        network.output.weight.data *= 20.0
        networks.append(network)
    return networks


def random_network_energy(
    shape: Sequence[int], specs: Sequence[DescriptorSpec], seed: int = 0, preset: Preset = "fast"
) -> Energy:
    """Make an energy of random networks and features.

    Parameters
    ----------
    shape : sequence of int
        Voxels along z, y, x.
    specs : sequence of DescriptorSpec
        The descriptor specs.
    seed : int
        Source of every random choice.
    preset : Preset
        How large the networks are.
    """
    from napari_celis.models.evaluator import NetworkEnergy
    from napari_celis.models.features import CentreFeatures

    rng = np.random.default_rng(seed)
    networks = random_networks(specs, seed, preset)
    features = []
    for spec, network in zip(specs, networks, strict=True):
        n = tile(shape, spec).n_centres
        layout = rng.normal(size=(n, network.settings.n_features)).astype(np.float16)
        evidence = rng.integers(256, size=(n, spec.n_bits), dtype=np.uint8)
        features.append(CentreFeatures(layout, evidence))
    return NetworkEnergy(networks, features)


def crop_middle(labels: np.ndarray, edge: int) -> np.ndarray:
    """Cut a cube of at most this edge out of the middle.

    Parameters
    ----------
    labels : ndarray
        Labels, (Z, Y, X).
    edge : int
        Voxels along each axis.
    """
    begin = [max(0, (size - edge) // 2) for size in labels.shape]
    return np.ascontiguousarray(labels[tuple(slice(b, b + edge) for b in begin)])


def _agglomerator(labels: np.ndarray, specs: Sequence[DescriptorSpec] | None = None) -> Agglomerator:
    """Make one with the specs of the fast preset, which is what people use, or with others."""
    specs = preset_specs("fast") if specs is None else specs
    return Agglomerator(Supervoxels.from_labels(labels), specs, random_network_energy(labels.shape, specs))


def _seconds(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def measure_score_error(data: BenchData) -> Figures:
    """Compare all scores after a run with scoring the same merges from scratch."""
    with _agglomerator(data.supervoxels) as run:
        for _ in range(data.n_steps):
            if run.step(np.inf) is None:
                break
        ids = run.supervoxels.ids
        merges = [
            (int(ids[run.actions.u[a]]), int(ids[run.actions.v[a]])) for a in np.flatnonzero(run.taken())
        ]
        specs = preset_specs("fast")
        energy = random_network_energy(data.supervoxels.shape, specs)
        with Agglomerator(run.supervoxels, specs, energy, merges=merges) as fresh:
            ours, theirs = run.scores(), fresh.scores()
    size = np.maximum(np.abs(theirs), np.median(np.abs(theirs[theirs != 0])))
    return {"score_error": float((np.abs(ours - theirs) / size).max()), "score_error_merges": len(merges)}


def measure_counts(data: BenchData) -> Figures:
    """Count energy evaluations and look-ups against the paper's, with its specs, on a cube of edge 100."""
    labels = crop_middle(data.supervoxels, COUNTED_EDGE)
    specs = paper_specs(strides=STRIDES)
    with (
        Agglomerator(Supervoxels.from_labels(labels), specs, StandInEnergy(specs)) as agglomerator,
        PaperCosts(agglomerator) as costs,
    ):
        n_steps = sum(1 for _ in costs.run(data.n_steps))
        return {**costs.ratios(), "counted_steps": n_steps}


def measure_kernel(data: BenchData) -> Figures:
    """Time base bits and all flips against a bare gather-and-compare loop, over the paper's five specs."""
    specs = paper_specs(strides=STRIDES)
    with _agglomerator(crop_middle(data.supervoxels, COUNTED_EDGE), specs) as run:
        times = [_time_kernel(scores) for scores in run.specs]
    return {"kernel_vs_gather": sum(ours for ours, _ in times) / sum(bare for _, bare in times)}


def _time_kernel(scores: SpecScores) -> tuple[float, float]:
    from napari_celis.bench import kernels

    table, scratch = scores.table, scores.new_buffers().scratch
    out = np.empty(table.tiling.spec.n_words, dtype=np.uint64)

    def sample() -> None:
        kernels.sample_everything(scores.flat, table.layout, table.offsets, scores.components, scratch)

    def gather() -> None:
        kernels.gather_and_compare(scores.flat, table.layout.flat_centres, table.offsets, out)

    sample()
    gather()
    return min(_seconds(sample) for _ in range(5)), min(_seconds(gather) for _ in range(5))


def measure_first_layer(data: BenchData) -> Figures:
    """Time factorised against plain evaluation of the same rows, one thread each."""
    import torch

    from napari_celis.models.device import one_torch_thread
    from napari_celis.models.evaluator import NetworkEnergy

    labels = crop_middle(data.supervoxels, COUNTED_EDGE)
    specs = paper_specs(strides=STRIDES)
    energy = random_network_energy(labels.shape, specs)
    assert isinstance(energy, NetworkEnergy)
    recorder = _Recorder(energy)
    with Agglomerator(Supervoxels.from_labels(labels), specs, recorder, threads=1):
        pass
    fast = min(_seconds(lambda: [energy.energies(*batch) for batch in recorder.batches]) for _ in range(3))
    with torch.inference_mode(), one_torch_thread():
        plain = min(_seconds(lambda: [energy.dense(*batch) for batch in recorder.batches]) for _ in range(3))
    return {"first_layer_vs_dense": fast / plain}


class _Recorder:
    """Passes energies on and keeps a copy of what was asked."""

    def __init__(self, energy: Energy) -> None:
        self.energy = energy
        self.batches: list[tuple[int, np.ndarray, np.ndarray]] = []

    def energies(self, spec_index: int, centres: np.ndarray, bits: np.ndarray) -> np.ndarray:
        """Ask the energy inside."""
        self.batches.append((spec_index, centres.copy(), bits.copy()))
        return self.energy.energies(spec_index, centres, bits)


def measure_threads(data: BenchData) -> Figures:
    """Time the first scores of the whole volume with one thread and with two."""
    one, two = (_time_initial(data.supervoxels, threads) for threads in (1, 2))
    return {"threads_speedup": one / two, "initial_seconds": two}


def _time_initial(labels: np.ndarray, threads: int) -> float:
    specs = preset_specs("fast")
    energy = random_network_energy(labels.shape, specs)
    supervoxels = Supervoxels.from_labels(labels)

    def work() -> None:
        Agglomerator(supervoxels, specs, energy, threads=threads).close()

    return min(_seconds(work) for _ in range(2))


def measure_growth(data: BenchData) -> Figures:
    """Compare the time per voxel and per centre of the whole volume with that of a cube of edge 64."""
    costs = []
    for labels in (crop_middle(data.supervoxels, SMALL_EDGE), data.supervoxels):
        seconds = _time_initial(labels, 2)
        n_centres = sum(tile(labels.shape, spec).n_centres for spec in preset_specs("fast"))
        costs.append((seconds / labels.size, seconds / n_centres))
    (small_voxel, small_centre), (whole_voxel, whole_centre) = costs
    return {"cost_growth": whole_voxel / small_voxel, "cost_growth_per_centre": whole_centre / small_centre}


def measure_steps(data: BenchData) -> Figures:
    """Time greedy steps one by one, then take them all back."""
    with _agglomerator(data.supervoxels) as run:
        steps = [_seconds(lambda: run.step(np.inf)) for _ in range(data.n_steps)]
        undos = [_seconds(run.undo) for _ in range(len(run.history))]
    return {
        "step_p95_ms": 1e3 * float(np.percentile(steps, 95)),
        "step_p50_ms": 1e3 * float(np.percentile(steps, 50)),
        "undo_p95_ms": 1e3 * float(np.percentile(undos, 95)),
    }


def measure_peak(data: BenchData) -> Figures:
    """Measure the peak memory of first scores and a run, in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor:
        return {"peak_gb": executor.submit(_peak_of_run, data).result()}


def _peak_of_run(data: BenchData) -> float:
    with _agglomerator(data.supervoxels) as run:
        for _ in range(data.n_steps):
            run.step(np.inf)
    return peak_gb()


def peak_gb() -> float:
    """Return the most memory that this process has had, in GB."""
    if sys.platform == "win32":
        import psutil

        return float(psutil.Process().memory_info().peak_wset) / 1e9
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9

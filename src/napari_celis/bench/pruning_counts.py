"""Count what a greedy run costs under every pruning rule: the numbers of the paper's last figure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from napari_celis.bench.paper_cost import PaperCosts, StandInEnergy
from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.descriptors import DescriptorSpec
from napari_celis.core.supervoxels import Supervoxels
from napari_celis.pipeline.stages import Report, silent

DESCRIPTOR_LINES = (
    ("non-incremental", "non_incremental"),
    ("connectivity regions (CR)", "cr"),
    ("CR + visibility", "cr_visibility"),
    ("CR + zones", "cr_zone"),
    ("CR + graph", "cr_graph"),
    ("all four rules", "all"),
    ("lower bound: those that changed", "lower_bound"),
    ("ours: one pass per centre", "ours"),
)
"""What tables call the counts of descriptors."""
CACHE_ENTRIES = 1 << 28
"""Nothing is forgotten: an energy evaluated twice would count against us for want of memory only."""


def count_costs(
    supervoxels: Supervoxels, specs: Sequence[DescriptorSpec], n_steps: int, report: Report = silent
) -> dict[str, Any]:
    """Agglomerate by a stand-in energy and collect the counts, ready for JSON.

    Parameters
    ----------
    supervoxels : Supervoxels
        What to agglomerate.
    specs : sequence of DescriptorSpec
        Descriptors to count.
    n_steps : int
        Merges at most.
    report : callable
        Called as `report(stage, share)`.
    """
    specs = tuple(specs)
    energy = StandInEnergy(specs)
    agglomerator = Agglomerator(
        supervoxels,
        specs,
        energy,
        cache_entries=CACHE_ENTRIES,
        progress=lambda done: report("first scores", done),
    )
    with agglomerator:
        report("counting first scores", 0.0)
        with PaperCosts(agglomerator) as costs:
            for done, _ in enumerate(costs.run(n_steps), start=1):
                report("merges", done / n_steps)
    return {
        "shape_zyx": list(supervoxels.dense.shape),
        "supervoxels": supervoxels.n,
        "actions": len(agglomerator.actions),
        "energy": f"stand-in, target share {energy.target}",
        **costs.figures(),
        "cumulative": costs.cumulative(),
    }

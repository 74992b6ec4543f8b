"""The visibility and the graph rule keep what they should, voxel by voxel."""

import itertools

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.problems import problems
from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.explain import region_components
from napari_celis.core.kernels import summed_area
from napari_celis.core.pruning import masked_centres
from napari_celis.core.supervoxels import Supervoxels
from napari_celis.core.visibility import near_centres, visible_centres


def kept_centres(rule, scores, join):
    """Per joined region: the centres that a rule keeps, as booleans."""
    starts, masks = masked_centres((rule,), scores, join)
    for i, region in enumerate(join.regions):
        n = int(np.diff(scores.table.layout.centre_start)[region])
        words = masks[starts[i] : starts[i + 1]].astype("<u8")
        yield int(region), np.unpackbits(words.view(np.uint8), bitorder="little", count=n).astype(bool)


def joins_of(agglomerator, n_steps):
    """Take some steps, then list every spec with the join of every action that still joins something."""
    for _ in range(n_steps):
        agglomerator.step(threshold=np.inf)
    for scores in agglomerator.specs:
        for action in range(len(agglomerator.actions)):
            join = scores.find_join(action)
            if len(join.regions):
                yield scores, join


@pytest.mark.kernels
@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 2**31), st.tuples(*[st.integers(1, 5)] * 3))
def test_summed_area_counts_voxels_in_any_box(seed, size):
    rng = np.random.default_rng(seed)
    supervoxels = rng.integers(0, 4, size=(7, 7, 7)).astype(np.int32)
    table = np.array([0, 5, 6, 5], dtype=np.int32)
    low = rng.integers(0, 8 - np.array(size))
    high = low + size
    sums = np.full((8, 8, 8), -99, dtype=np.int32)
    summed_area.sum_components(supervoxels, low, high, table, 5, 9, sums)
    inside = np.isin(supervoxels, [1, 3])[tuple(slice(a, b) for a, b in zip(low, high, strict=True))]
    a, b = np.sort(rng.integers(0, np.array(size) + 1, size=(2, 3)), axis=0)
    expected = inside[a[0] : b[0], a[1] : b[1], a[2] : b[2]].sum()
    assert summed_area.count_in_box(sums, *a, *b) == expected


@pytest.mark.kernels
@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(problems(), st.integers(0, 2))
def test_visible_means_a_voxel_in_the_closed_box(problem, n_steps):
    labels, specs, energy = problem
    with Agglomerator(Supervoxels.from_labels(labels), specs, energy, threads=1) as agglomerator:
        for scores, join in itertools.islice(joins_of(agglomerator, n_steps), 12):
            tiling = scores.table.tiling
            for place, (region, kept) in enumerate(kept_centres(visible_centres, scores, join)):
                wanted = np.isin(region_components(scores, region), [join.k1[place], join.k2[place]])
                centres = tiling.centres[tiling.centre_start[region] : tiling.centre_start[region + 1]]
                for centre, is_kept in zip(centres - tiling.low[region], kept, strict=True):
                    box = tuple(
                        slice(c - low, c + high + 1)
                        for c, low, high in zip(
                            centre, tiling.spec.low_zyx, tiling.spec.high_zyx, strict=True
                        )
                    )
                    assert wanted[box].any() == is_kept


@pytest.mark.kernels
@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(problems(), st.integers(0, 2))
def test_near_means_own_component_or_neighbour_of_the_merge(problem, n_steps):
    labels, specs, energy = problem
    with Agglomerator(Supervoxels.from_labels(labels), specs, energy, threads=1) as agglomerator:
        for scores, join in itertools.islice(joins_of(agglomerator, n_steps), 20):
            tiling, layout = scores.table.tiling, scores.table.layout
            for place, (region, kept) in enumerate(kept_centres(near_centres, scores, join)):
                if tiling.spec.kind == "pairwise":
                    assert kept.all()
                    continue
                merged = {int(join.k1[place]), int(join.k2[place])}
                local = scores.components[layout.local_start[region] : layout.local_start[region + 1]]
                slots = slice(layout.slot_start[region], layout.slot_start[region + 1])
                ends = zip(
                    local[layout.slot_u[slots]].tolist(), local[layout.slot_v[slots]].tolist(), strict=True
                )
                near = merged.union(*({a, b} for a, b in ends if {a, b} & merged))
                block = region_components(scores, region)
                centres = tiling.centres[tiling.centre_start[region] : tiling.centre_start[region + 1]]
                own = block[tuple((centres - tiling.low[region]).T)]
                np.testing.assert_array_equal(kept, np.isin(own, list(near)))

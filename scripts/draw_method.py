"""Draw the figures of docs/method.md into docs/images/, with the code that they are about.

    python scripts/draw_method.py [--only NAME …] [--output DIR]

Most show one section of the bundled sample and a descriptor that is flat, so that every pair can be
drawn where it is: 24 pairs in a box of one section, instead of 512 in a cube. All else is what a run
computes. The figure of the whole contact shows a run with the bundled model.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

import napari_celis as celis
from figure_parts import (
    DEEP_BLUE,
    GREY,
    INK,
    PAIR_COLOURS,
    RED,
    lines,
    outline,
    shades,
    show,
    strip,
)
from napari_celis.core.descriptors import DescriptorSpec, sample_spec
from napari_celis.core.explain import explain
from napari_celis.core.inspect import CentreView, RegionState, current_region, region_zones, view_centre
from napari_celis.core.lattice import Lattice
from napari_celis.core.supervoxels import Supervoxels
from napari_celis.core.zones import cut_zones

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "images"
SECTION, WINDOW = 60, (slice(20, 110), slice(30, 150))
"""Section of the sample, and the part of it that flat figures show."""
DPI = 130


class Flat:
    """One section of the sample, agglomerated by a descriptor that lies in it."""

    def __init__(self) -> None:
        labels = celis.sample()["supervoxels"].data[SECTION : SECTION + 1][:, *WINDOW]
        self.atoms = Supervoxels.from_labels(np.asarray(labels))
        self.spec = sample_spec(
            "flat", "pairwise", (1, 25, 25), rng=np.random.default_rng(3), k=24,
            region_zyx=(1, 49, 49), stride_zyx=(1, 4, 4),
        )  # fmt: skip
        self.agglomerator = celis.Agglomerator(self.atoms, (self.spec,), FewerPieces())
        self.lattice = Lattice.of(self.atoms.dense.shape, self.spec)

    def view(self) -> tuple[CentreView, tuple[int, int]]:
        """Return what the centre sees where a merge turns on many bits and some stay off."""
        found: tuple[int, CentreView, tuple[int, int]] | None = None
        actions = self.agglomerator.actions
        for action in range(len(actions)):
            merge = int(actions.u[action]), int(actions.v[action])
            changes = explain(self.agglomerator.specs[0], [action])
            if not len(changes.centres):
                continue
            flips = np.bitwise_count(changes.before ^ changes.after).sum(axis=1)
            z, y, x = (int(c) for c in changes.centres[flips.argmax()])
            region = self.lattice.region_of((z, y, x))
            view = view_centre(current_region(self.agglomerator, "flat", region), (z, y, x), merge)
            worth = int(min(view.changed.sum(), 7) + min(view.before.sum(), 6) + min((~view.after).sum(), 6))
            if found is None or worth > found[0]:
                found = worth, view, merge
        assert found is not None
        return found[1], found[2]


class FewerPieces:
    """An energy that is lower the more pairs are connected; it only orders the merges of these figures."""

    def energies(self, spec_index: int, centres: np.ndarray, bits: np.ndarray) -> np.ndarray:
        """Return one energy per row."""
        return 1 - np.bitwise_count(bits).sum(axis=1) / 64


def draw_descriptor(folder: Path) -> None:
    """The descriptor of one centre before and after a merge."""
    view, _ = Flat().view()
    assert view.joined is not None
    figure = Figure(figsize=(9, 5.5), layout="constrained")
    axes = figure.subplots(2, 2, gridspec_kw={"height_ratios": [12, 1]})
    low, high = view.box
    inner = tuple(slice(a, b) for a, b in zip(low - view.region.low, high - view.region.low, strict=True))
    for column, (bits, components, title) in enumerate(
        (
            (view.before, view.components, "before the merge"),
            (view.after, view.merged_components(), "after orange and blue are one"),
        )
    ):
        above = axes[0, column]
        strong = view.joined if column == 0 else view.joined[:1]
        show(above, shades(components[inner], *strong)[0], low, title)
        lines(above, view.ends[~bits], GREY, lw=1, linestyles="dotted")
        lines(above, view.ends[bits & ~view.changed], INK, lw=1.4)
        if column:
            lines(above, view.ends[view.changed], RED, lw=2)
        above.plot(view.centre[2], view.centre[1], "+", ms=14, mew=2, color="crimson")
        n_on = f"{int(bits.sum())} of {len(bits)} pairs are connected"
        strip(axes[1, column], bits, view.changed, n_on)
    styles = [
        Line2D([], [], color=INK, lw=1.4, label="connected"),
        Line2D([], [], color=GREY, lw=1, ls=":", label="not connected"),
        Line2D([], [], color=RED, lw=2, label="turned on by the merge: its flips"),
        Line2D([], [], color="crimson", marker="+", ms=10, mew=2, ls="", label="centre"),
    ]
    figure.legend(handles=styles, loc="outside lower center", ncols=4, fontsize=9, frameon=False)
    figure.savefig(folder / "method-descriptor.png", dpi=DPI)


def draw_flips(folder: Path) -> None:
    """One look at each pair tells what every merge would do."""
    view, _ = Flat().view()
    local = view.ends - view.region.low
    ends = view.components[tuple(np.moveaxis(local, -1, 0))]
    low, high = view.box
    inner = tuple(slice(a, b) for a, b in zip(low - view.region.low, high - view.region.low, strict=True))
    joined = [tuple(sorted(pair)) for pair in ends.tolist()]
    open_pairs = sorted({pair for pair in joined if pair[0] != pair[1] and 0 not in pair}, key=joined.count)[
        ::-1
    ]
    figure = Figure(figsize=(9, 4.6), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[1.15, 1])
    show(left, shades(view.components[inner])[0], low, "pairs, coloured by the two components they lie in")
    lines(left, view.ends[view.before], INK, lw=1)
    for number, pair in enumerate(open_pairs):
        rows = np.array([one == pair for one in joined])
        lines(left, view.ends[rows], colour_of(number), lw=1.8)
    named = sorted({c for pair in open_pairs[: len(PAIR_COLOURS)] for c in pair})
    letters = dict(zip(named, "ABCDEFGHIJKLMN", strict=False))
    for component, letter in letters.items():
        rows, columns = np.nonzero(view.components[inner][0] == component)
        middle = np.argmin(np.hypot(rows - rows.mean(), columns - columns.mean()))
        at = columns[middle] + low[2], rows[middle] + low[1]
        left.text(*at, letter, fontsize=13, weight="bold", color=INK, ha="center", va="center")
    table = np.zeros((len(open_pairs[: len(PAIR_COLOURS)]) + 1, view.spec.n_bits), int)
    table[0] = view.before
    for number, pair in enumerate(open_pairs[: len(PAIR_COLOURS)]):
        table[number + 1] = [(number + 2) * (one == pair) for one in joined]
    right.imshow(
        table,
        cmap=ListedColormap(["white", INK, *PAIR_COLOURS]),
        vmin=0,
        vmax=len(PAIR_COLOURS) + 1,
        aspect="auto",
    )
    right.set_yticks(
        range(len(table)),
        ["descriptor", *(f"{letters[a]} + {letters[b]}" for a, b in open_pairs[: len(PAIR_COLOURS)])],
        fontsize=9,
    )  # fmt: skip
    right.set_xticks(np.arange(-0.5, view.spec.n_bits), [])
    right.set_yticks(np.arange(-0.5, len(table)), minor=True)
    right.grid(axis="x", color=GREY, lw=0.5)
    right.grid(axis="y", which="minor", color=GREY, lw=0.5)
    right.tick_params(length=0, which="both")
    right.set_title("bits now, and those that each merge would turn on", fontsize=10, color=INK)
    right.set_xlabel("pairs", fontsize=9)
    figure.savefig(folder / "method-flips.png", dpi=DPI)


def colour_of(number: int) -> str:
    """Return the colour of a pair of components; the rare ones share grey."""
    return PAIR_COLOURS[number] if number < len(PAIR_COLOURS) else GREY


def draw_regions(folder: Path) -> None:
    """Regions overlap, each centre has one, and connectivity inside one differs from that outside."""
    flat = Flat()
    figure = Figure(figsize=(9.4, 3.4), layout="constrained")
    axes = figure.subplots(1, 3, width_ratios=[1.33, 1.41, 1])
    show(axes[0], shades(flat.atoms.dense)[0], np.zeros(3), "regions overlap; each centre belongs to one")
    centre = flat.lattice.snap((0, 45, 60))
    region = flat.lattice.region_of(centre)
    for low, high in flat.lattice.neighbours(region):
        outline(axes[0], low, high, edgecolor=GREY, lw=1.2)
    outline(axes[0], region.low, region.high, edgecolor=RED, lw=2.5)
    every = np.array(np.meshgrid(flat.lattice.positions(1), flat.lattice.positions(2))).reshape(2, -1)
    axes[0].plot(every[1], every[0], ".", ms=2.5, color="#4a4f57")
    own = region.centres()
    axes[0].plot(own[:, 2], own[:, 1], ".", ms=4.5, color=RED)
    box = np.array(centre) - flat.spec.low_zyx, np.array(centre) + flat.spec.high_zyx + 1
    outline(axes[0], *box, edgecolor=DEEP_BLUE, lw=1.8, ls="--")
    labels, spec, pieces = hairpin()
    with celis.Agglomerator(Supervoxels.from_labels(labels), (spec,), FewerPieces()) as bent:
        for pair in pieces:
            bent.merge(*pair)
        segment = bent.segment_ids()[np.searchsorted(bent.supervoxels.ids, labels)] * (labels > 0)
        lattice = Lattice.of(labels.shape, spec)
        here = lattice.region_of(lattice.snap((0, 20, 14)))
        local = view_centre(
            current_region(bent, spec.name, here), (0, 20, int(here.lattice[2][0]))
        ).components
    show(axes[1], shades((segment > 0).astype(int), 1)[0], np.zeros(3), "in the volume: one segment")
    outline(axes[1], here.low, here.high, edgecolor=RED, lw=2.5)
    show(axes[2], shades(local, *np.unique(local[local > 0]))[0], here.low, "in this region: two components")
    styles = [
        Line2D([], [], color=RED, lw=2.5, label="a connectivity region, and its centres"),
        Line2D([], [], color=GREY, lw=1.2, label="its neighbours"),
        Line2D([], [], color=DEEP_BLUE, ls="--", lw=1.8, label="the box of one descriptor"),
    ]
    figure.legend(handles=styles, loc="outside lower center", ncols=3, fontsize=9, frameon=False)
    figure.savefig(folder / "method-regions.png", dpi=DPI)


def hairpin() -> tuple[np.ndarray, DescriptorSpec, list[tuple[int, int]]]:
    """Make a neurite that leaves a region and comes back: three supervoxels, and how they are merged."""
    labels = np.zeros((1, 41, 58), np.uint64)
    labels[0, 8:15, 2:44] = 1
    labels[0, 26:33, 2:44] = 2
    labels[0, 8:33, 44:54] = 3
    spec = sample_spec(
        "bent",
        "pairwise",
        (1, 21, 21),
        rng=np.random.default_rng(0),
        k=24,
        region_zyx=(1, 41, 41),
        stride_zyx=(1, 2, 2),
    )
    return labels, spec, [(1, 3), (2, 3)]


def draw_zones(folder: Path) -> None:
    """Zones of the paper, and the centres that we look at."""
    flat = Flat()
    view, merge = flat.view()
    assert view.joined is not None
    state = current_region(flat.agglomerator, "flat", view.region)
    zones = region_zones(state)
    centres = view.region.centres()
    changes = explain(flat.agglomerator.specs[0], [flat.agglomerator.actions.find(*merge)])
    touched = {tuple(c) for c in changes.centres.tolist()}
    is_touched = np.array([tuple(c) in touched for c in centres.tolist()])
    looked_at = seen_from_zones(state, merge)[zones.ravel() - 1]
    figure = Figure(figsize=(9, 4.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    for axes, title in (
        (left, f"{zones.max()} zones of one region"),
        (right, "centres that the merge touches"),
    ):
        show(axes, shades(view.components, *view.joined)[0], view.region.low, title)
    colours = [PAIR_COLOURS[int(zone) % len(PAIR_COLOURS)] for zone in zones.ravel()]
    left.scatter(centres[:, 2], centres[:, 1], c=colours, s=34, edgecolors=INK, linewidths=0.5)
    right.plot(centres[:, 2], centres[:, 1], ".", ms=3, color="#4a4f57")
    zoned = centres[looked_at]
    right.plot(
        zoned[:, 2],
        zoned[:, 1],
        "o",
        ms=8,
        mfc="none",
        mec=DEEP_BLUE,
        label="in a zone that sees both sides: the paper looks there",
    )
    seen = centres[is_touched]
    right.plot(
        seen[:, 2], seen[:, 1], "o", ms=5, color=RED, label="the descriptor changes: only these matter"
    )
    figure.legend(loc="outside lower center", ncols=2, fontsize=9, frameon=False)
    figure.savefig(folder / "method-zones.png", dpi=DPI)


def seen_from_zones(state: RegionState, merge: tuple[int, int]) -> np.ndarray:
    """Tell from which zones of a region both sides of a merge are seen; nothing is merged yet."""
    table = state.scores.table
    places = slice(table.layout.local_start[state.index], table.layout.local_start[state.index + 1])
    seen = cut_zones(table).seen[places][np.isin(table.layout.local_sv[places], merge)]
    both = int(np.bitwise_and.reduce(seen))
    return np.array([bool(both >> zone & 1) for zone in range(64)])


def draw_contact(folder: Path) -> None:
    """One action, and the whole contact of its two segments."""
    volumes = celis.sample()
    choice = celis.Choice(
        volumes["image"], volumes["supervoxels"], model=celis.load_model(celis.bundled_models()["phantom"]),
        policy="energy",
    )  # fmt: skip
    prepared = celis.prepare(choice)
    with prepared.agglomerator as agglomerator:
        for _ in agglomerator.steps(prepared.threshold):
            pass
        action = telling(agglomerator)
        spec = int(np.argmax([len(c.centres) for c in agglomerator.scoring.by_centre(action)]))
        alone = explain(agglomerator.specs[spec], [action])
        whole = agglomerator.scoring.by_centre(action)[spec]
        segments = agglomerator.segment_ids()
        ends = [int(end[action]) for end in (agglomerator.actions.u, agglomerator.actions.v)]
        sides = [np.flatnonzero(segments == segments[end]) for end in ends]
        dense = agglomerator.supervoxels.dense
    _draw_changes(folder, dense, ends, sides, alone, whole)


def telling(agglomerator: celis.Agglomerator) -> int:
    """Find an action that looks good by itself, and whose whole contact speaks against it most."""
    alone, whole = agglomerator.scoring.energy_changes(), agglomerator.scores()
    open_ = agglomerator.available() & np.isfinite(whole) & (alone < 0)
    return int(np.where(open_, whole - alone, -np.inf).argmax())


def _draw_changes(
    folder: Path, dense: np.ndarray, ends: list[int], sides: list[np.ndarray], alone: Any, whole: Any
) -> None:
    """Draw energy changes at centres, for an action and its contact, in the section that has most of them."""
    heights, counts = np.unique(alone.centres[:, 0], return_counts=True)
    z = int(heights[counts.argmax()])
    near = whole.centres[np.abs(whole.centres[:, 0] - z) <= 2]
    low = np.maximum(near.min(axis=0) - 14, 0)
    high = np.minimum(near.max(axis=0) + 15, dense.shape)
    part = dense[z, low[1] : high[1], low[2] : high[2]]
    table = np.zeros(dense.max() + 1, int)
    table[1:] = 3 + np.arange(dense.max()) % 40
    for number, side in enumerate(sides, start=1):
        table[side] = number
    picture = shades(table[part], 1, 2)
    for end, number in zip(ends, (1, 2), strict=True):
        picture[part == end] = [int(PAIR_COLOURS[number - 1][n : n + 2], 16) / 255 for n in (1, 3, 5)]
    figure = Figure(figsize=(9.4, 4.0), layout="constrained")
    for axes, changes, title in zip(
        figure.subplots(1, 2), (alone, whole),
        ("this action alone, as in the paper", "the whole contact of the two segments"), strict=True,
    ):  # fmt: skip
        show(axes, picture, np.array([z, low[1], low[2]]), f"{title}: {changes.changes.sum():+.1f}")
        shown = np.abs(changes.centres[:, 0] - z) <= 2
        at, value = changes.centres[shown], changes.changes[shown]
        limit = float(np.abs(whole.changes).max())
        points = axes.scatter(at[:, 2], at[:, 1], c=value, cmap="RdBu_r", vmin=-limit, vmax=limit, s=26,
                              edgecolors=INK, linewidths=0.5)  # fmt: skip
    figure.colorbar(points, ax=figure.axes, shrink=0.7, label="energy change at a centre")
    figure.savefig(folder / "method-contact.png", dpi=DPI)


FIGURES: dict[str, Callable[[Path], None]] = {
    "descriptor": draw_descriptor,
    "regions": draw_regions,
    "flips": draw_flips,
    "zones": draw_zones,
    "contact": draw_contact,
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=list(FIGURES), default=list(FIGURES), metavar="NAME")
    parser.add_argument("--output", type=Path, default=FOLDER, help="another folder than docs/images")
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    for name in arguments.only:
        FIGURES[name](arguments.output)
        print(f"method-{name}.png", flush=True)


if __name__ == "__main__":
    main()

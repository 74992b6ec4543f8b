"""The paper's pipeline, executed as it is written (with its slips put right), counting every descriptor.

Slow and plain, sharing nothing with the library. Positions are voxels of the volume, components are the ids
that `reference.energy.components_of` gives.
"""

from __future__ import annotations

import functools
import itertools

import numpy as np

from reference.energy import centres_of, components_of, faces, region_of


def compute_descriptor(ends, psi):
    """Algorithm 2 on the components at both ends of every pair, renamed by psi; 0 is connected to nothing."""
    return tuple(psi.get(a, a) == psi.get(b, b) and a != 0 for a, b in ends)


def compute_changes(ends_at, positions, merges_at):
    """Algorithm 3: how many descriptors are computed, and which (position, descriptor) are emitted."""
    n_computed, emitted = 0, []
    for x in positions:
        merges = merges_at(x)
        if not merges:
            continue
        r = compute_descriptor(ends_at(x), {})
        n_computed += 1
        has_r = False
        for pair in merges:
            k1, k2 = sorted(pair)
            r_e = compute_descriptor(ends_at(x), {k2: k1})
            n_computed += 1
            if r != r_e:
                if not has_r:
                    has_r = True
                    emitted.append((x, r))
                emitted.append((x, r_e))
    return n_computed, emitted


def compute_changes_incremental(merged, ends_at, positions, merges_at):
    """Algorithm 4 for the merge `merged`; the saved values are those of the merge that is tried."""
    n_computed, emitted = 0, []
    m1, m2 = sorted(merged)
    psi_after = {m2: m1}
    for x in positions:
        merges = merges_at(x)
        if not merges:
            continue
        ends = ends_at(x)
        r, r_after = compute_descriptor(ends, {}), compute_descriptor(ends, psi_after)
        n_computed += 2
        emitted_r = emitted_after = False
        for pair in merges:
            k1, k2 = sorted(pair)
            saved = psi_after.get(k1, k1), psi_after.get(k2, k2)
            if k2 in (m1, m2):
                psi_after[k1] = saved[1]
            else:
                psi_after[k2] = saved[0]
            r_e, r_both = compute_descriptor(ends, {k2: k1}), compute_descriptor(ends, psi_after)
            n_computed += 2
            psi_after[k1], psi_after[k2] = saved
            if r_e != r_both:
                if r_after != r_both:
                    if not emitted_after:
                        emitted_after = True
                        emitted.append((x, r_after))
                    emitted.append((x, r_both))
                if r != r_e:
                    if not emitted_r:
                        emitted_r = True
                        emitted.append((x, r))
                    emitted.append((x, r_e))
            elif r != r_after:
                if not emitted_r:
                    emitted_r = True
                    emitted.append((x, r))
                if not emitted_after:
                    emitted_after = True
                    emitted.append((x, r_after))
    return n_computed, emitted


class Pipeline:
    """One spec in one state: which positions and merges each rule leaves over, and what that costs."""

    def __init__(self, labels, spec, taken, zone_of):
        self.labels, self.spec, self.taken, self.zone_of = labels, spec, frozenset(taken), zone_of
        self.regions = {}
        for position in centres_of(labels.shape, spec):
            self.regions.setdefault(region_of(position, labels.shape, spec), []).append(position)

    def run(self, action=None, *, visibility=False, zone=False, graph=False):
        """Count the first scores (no action) or the update by an action: computed, emitted."""
        total, emitted = 0, []
        for (low, high), positions in self.regions.items():
            n, part = self._run_region(low, high, positions, action, visibility, zone, graph)
            total += n
            emitted += part
        return total, emitted

    def _run_region(self, low, high, positions, action, visibility, zone, graph):
        block = self.labels[tuple(slice(a, b) for a, b in zip(low, high, strict=True))]
        actions = {pair for _, _, pair in faces(block)}
        components = components_of(block, actions & self.taken)
        name = dict(zip(block.ravel().tolist(), components.ravel().tolist(), strict=True))
        ends = {pair: frozenset(name[u] for u in pair) for pair in actions}
        if action is not None and len(ends.get(action, ())) < 2:
            return 0, []
        merged = ends[action] if action is not None else frozenset()
        merges = {ends[pair] for pair in actions if len(ends[pair]) == 2 and pair != action}

        voxels = dict(np.ndenumerate(components))

        def label(x, c):
            return int(voxels[tuple(p + d - a for p, d, a in zip(x, c, low, strict=True))])

        @functools.cache
        def ends_at(x):
            return [(label(x, a), label(x, b)) for a, b in self.spec.pairs.tolist()]

        def star(k):
            return min(merged) if k in merged else k

        seen = {}
        for x in positions:
            for k in itertools.chain(*ends_at(x)):
                seen.setdefault(star(k), set()).add(self.zone_of[x])

        def merges_at(x):
            here = merges
            if graph and self.spec.kind == "center":
                here = {m for m in here if not merged or m & merged}
                here = {m for m in here if star(label(x, (0, 0, 0))) in {star(k) for k in m}}
            if zone:
                here = {m for m in here if all(self.zone_of[x] in seen.get(star(k), ()) for k in m)}
            return here

        if visibility and merged:
            positions = [x for x in positions if self.sees(x, label, merged)]
        if action is None:
            return compute_changes(ends_at, positions, merges_at)
        return compute_changes_incremental(merged, ends_at, positions, merges_at)

    def sees(self, x, label, wanted):
        """Whether a component of `wanted` has a voxel in the closed box around x."""
        ranges = (
            range(-low, high + 1) for low, high in zip(self.spec.low_zyx, self.spec.high_zyx, strict=True)
        )
        return any(label(x, c) in wanted for c in itertools.product(*ranges))


def merge_zones(sizes, seen_from, actions, alpha, beta):
    """Greedy zone merging by the cost of the paper: the best pair first, until none pays.

    `seen_from[u]` is the set of zones that see u. Returns the final zone of each zone.
    """
    zones = {zone: {zone} for zone in sorted(sizes)}

    def cost(parts):
        size = sum(sizes[zone] for zone in parts)
        active = sum(bool(seen_from[u] & parts) and bool(seen_from[v] & parts) for u, v in actions)
        return (size + alpha) * active

    while True:
        best, pair = 0.0, None
        for a, b in itertools.combinations(sorted(zones), 2):
            gain = cost(zones[a]) + cost(zones[b]) - cost(zones[a] | zones[b]) + beta
            if gain > best:
                best, pair = gain, (a, b)
        if pair is None:
            return {zone: place for place, name in enumerate(sorted(zones)) for zone in zones[name]}
        zones[pair[0]] |= zones.pop(pair[1])

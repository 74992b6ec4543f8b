"""Growing neurites into free space: thick ones first, ever finer ones into what is left."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from napari_celis.synthetic.space import (
    PADDING_NM,
    STEP_NM,
    THINNEST_NM,
    FreeSpace,
    Skeletons,
    unit,
)
from napari_celis.synthetic.sprouts import grow_sheet, sprout_spines

FILLED_NM = 45
"""Gaps below this are left to the neurites beside them."""
SHORTEST = 14
"""Twigs with fewer balls are no neurites of their own."""
SHEETS_PER_UM3 = 1.5
DENDRITE_SHARE = 0.26
"""Share of the space that dendrites take."""
TRUNK_SHARE = 0.48
"""Share of the space that dendrites and axons take together."""
FINAL_SHARE = 0.8
"""Share that is taken in the end, about; only the progress depends on it."""


@dataclass(frozen=True)
class Habit:
    """How one kind of neurite grows."""

    radius_nm: tuple[float, float]
    """Range of the mean radius."""
    wander: float
    """How far each step may turn; 0 is straight."""
    swelling: float
    """Size of the varicosities relative to the mean radius."""
    wavelength_nm: float
    """Distance between varicosities."""
    branches_per_um: float
    """Side branches per micrometre."""


DENDRITE = Habit((110, 210), wander=0.25, swelling=0.25, wavelength_nm=900, branches_per_um=0.35)
AXON = Habit((48, 85), wander=0.35, swelling=1.3, wavelength_nm=600, branches_per_um=0.5)
TWIG = Habit((35, 75), wander=0.6, swelling=0.5, wavelength_nm=300, branches_per_um=0.8)


def grow_neuropil(
    extent_nm: np.ndarray,
    rng: np.random.Generator,
    calibre: float,
    necks_per_um3: float,
    neck_diameter_nm: tuple[float, float],
    tell: Callable[[float], None],
) -> Skeletons:
    """Grow neurites until no room is left for another.

    Parameters
    ----------
    extent_nm : ndarray of int64, shape (3,)
        Size of the volume.
    rng : numpy.random.Generator
        Source of every random choice.
    calibre : float
        Factor on the radius of the neurites.
    necks_per_um3 : float
        Thin necks to ask for per cubic micrometre.
    neck_diameter_nm : tuple of float
        Range of their diameters.
    tell : callable
        Called with the share of the work that is done.

    Returns
    -------
    skeletons : Skeletons
        They fill the volume and a margin around it.
    """
    space = FreeSpace(extent_nm)
    volume_um3 = float(np.prod((extent_nm + 2 * PADDING_NM) / 1000.0))
    wanted = round(volume_um3 * necks_per_um3)
    for habit, share in ((DENDRITE, DENDRITE_SHARE), (AXON, TRUNK_SHARE)):
        _grow_kind(space, rng, habit, calibre, share, tell)
        sprout_spines(space, rng, wanted // 2, neck_diameter_nm)
    for _ in range(round(volume_um3 * SHEETS_PER_UM3)):
        grow_sheet(space, rng, space.open_position(rng))
    _fill_up(space, rng, calibre, tell)
    return space.skeletons()


def _grow_kind(
    space: FreeSpace,
    rng: np.random.Generator,
    habit: Habit,
    calibre: float,
    share: float,
    tell: Callable[[float], None],
) -> None:
    """Grow neurites of one habit until `share` of the space is taken."""
    while (taken := space.share_taken()) < share:
        tell(taken / FINAL_SHARE)
        start = space.open_position(rng)
        radius = calibre * rng.uniform(*habit.radius_nm)
        _grow_tree(space, rng, habit, start, radius, space.new_neurite())


def _fill_up(
    space: FreeSpace, rng: np.random.Generator, calibre: float, tell: Callable[[float], None]
) -> None:
    """Start a twig at the widest spot left until every spot is narrow."""
    for count in itertools.count():
        start, room = space.widest()
        if room < FILLED_NM:
            return
        if count % 50 == 0:
            tell(min(1.0, space.share_taken() / FINAL_SHARE))
        radius = min(float(room), calibre * rng.uniform(*TWIG.radius_nm))
        _grow_tree(space, rng, TWIG, start.astype(float), radius, space.new_neurite())


def _grow_tree(
    space: FreeSpace, rng: np.random.Generator, habit: Habit, start: np.ndarray, radius: float, owner: int
) -> None:
    """Grow a trunk both ways from `start`, then branches from the trunk."""
    heading = unit(rng.normal(size=3))
    neighbour = space.nearest_owner(start)
    ahead, ahead_radii = _walk(space, rng, habit, start, heading, radius, owner)
    back, back_radii = _walk(space, rng, habit, start, -heading, radius, owner)
    trunk = np.concatenate([back[:0:-1], ahead])
    radii = np.concatenate([back_radii[:0:-1], ahead_radii])
    if len(trunk) < SHORTEST and neighbour:
        # A crumb that fits nowhere becomes a bulge of what it touches.
        owner = neighbour
    space.add(trunk, radii, owner)
    for _ in range(rng.poisson(habit.branches_per_um * len(trunk) * STEP_NM / 1000)):
        _grow_branch(space, rng, habit, trunk, radii, owner)


def _grow_branch(
    space: FreeSpace,
    rng: np.random.Generator,
    habit: Habit,
    trunk: np.ndarray,
    radii: np.ndarray,
    owner: int,
) -> None:
    """Grow one side branch, joined to the trunk by balls of its own radius."""
    at = int(rng.integers(len(trunk)))
    heading = unit(rng.normal(size=3))
    radius = max(float(THINNEST_NM), radii[at] * rng.uniform(0.4, 0.8))
    root = trunk[at] + heading * (radii[at] + radius)
    if space.room_at(root) < 0.6 * radius:
        return
    path, sizes = _walk(space, rng, habit, root, heading, radius, owner)
    if len(path) < 4:
        return
    stem = trunk[at] + np.linspace(0, 1, 8)[:-1, None] * (root - trunk[at])
    space.add(np.concatenate([stem, path]), np.concatenate([np.full(len(stem), sizes[0]), sizes]), owner)


def _walk(
    space: FreeSpace,
    rng: np.random.Generator,
    habit: Habit,
    start: np.ndarray,
    heading: np.ndarray,
    radius: float,
    owner: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Walk along the free space until it ends; the tube narrows where there is less room."""
    points: list[np.ndarray] = []
    radii: list[float] = []
    here = start
    phase = rng.uniform(0, 2 * np.pi)
    while space.holds(here) and len(points) < 400:
        room = float(space.room_at(here))
        wave = np.sin(phase + len(points) * STEP_NM * 2 * np.pi / habit.wavelength_nm)
        wish = radius * (1 + habit.swelling * max(0.0, wave) ** 2) * rng.uniform(0.93, 1.07)
        if room < 0.6 * THINNEST_NM:
            break
        points.append(here)
        radii.append(max(THINNEST_NM, min(wish, room)))
        _leave_behind(space, points, radii, owner)
        turns = heading + habit.wander * rng.normal(size=(10, 3))
        turns /= np.sqrt((turns * turns).sum(axis=1, keepdims=True))
        near, far = (space.room_at(here + turns * reach) for reach in (STEP_NM, STEP_NM + 2 * radius))
        fit = np.minimum(np.minimum(near, far) / radius, 1.3) + 0.5 * (turns * heading).sum(axis=1)
        heading = turns[int(fit.argmax())]
        here = here + heading * STEP_NM
    return np.array(points).reshape(-1, 3), np.array(radii)


def _leave_behind(space: FreeSpace, points: list[np.ndarray], radii: list[float], owner: int) -> None:
    """Take the room of a ball once the tip is clear of it, so that a tube does not run into itself."""
    lag = int(3 * radii[-1] / STEP_NM) + 2
    if len(points) > lag:
        behind = np.rint(points[-lag - 1]).astype(np.int64)[None]
        space.fill(behind, np.array([round(radii[-lag - 1])], dtype=np.int64), owner)

"""What grows beside the tubes of a phantom: sheets of glia, and heads on thin necks."""

from __future__ import annotations

import numpy as np

from napari_celis.synthetic.space import STEP_NM, THINNEST_NM, FreeSpace, NeckPlan, unit

SHEET_ROWS = 60
TRIES_PER_HEAD = 60
HEADS_NM = (60, 125)
NECKS_NM = (140, 200)


def grow_sheet(space: FreeSpace, rng: np.random.Generator, start: np.ndarray) -> None:
    """Grow a thin, wide, gently bending sheet, as glia do between neurites.

    Parameters
    ----------
    space : FreeSpace
        Takes the new neurite.
    rng : numpy.random.Generator
        Chooses width and bends.
    start : ndarray, shape (3,)
        Where the sheet begins, in nanometres.
    """
    owner = space.new_neurite()
    heading = unit(rng.normal(size=3))
    side = unit(np.cross(heading, rng.normal(size=3)))
    here = start
    half_width = rng.uniform(150, 400)
    offsets = np.arange(-half_width, half_width + 1, STEP_NM)
    rows: list[np.ndarray] = []
    for _ in range(SHEET_ROWS):
        if not space.holds(here):
            break
        row = here + offsets[:, None] * side
        row = row[_run_around_middle(space.room_at(row) > THINNEST_NM)]
        if not len(row):
            break
        rows.append(row)
        heading = unit(heading + 0.15 * rng.normal(size=3))
        side = unit(side + 0.15 * rng.normal(size=3))
        side = unit(side - heading * (side * heading).sum())
        here = here + heading * STEP_NM
    for row in rows:
        space.add(row, rng.uniform(26, 36, size=len(row)), owner)


def _run_around_middle(free: np.ndarray) -> slice:
    """Longest run of free positions that includes the middle one."""
    middle = len(free) // 2
    taken = np.flatnonzero(~free)
    below, above = taken[taken <= middle], taken[taken >= middle]
    low = int(below[-1]) + 1 if len(below) else 0
    return slice(low, int(above[0]) if len(above) else len(free))


def sprout_spines(
    space: FreeSpace, rng: np.random.Generator, wanted: int, diameter_nm: tuple[float, float]
) -> None:
    """Put heads on thin necks onto the neurites grown so far.

    Parameters
    ----------
    space : FreeSpace
        Takes heads and necks.
    rng : numpy.random.Generator
        Chooses the positions.
    wanted : int
        Number of heads; fewer if they do not find room.
    diameter_nm : tuple of float
        Range of the diameters of the necks.
    """
    so_far = space.skeletons()
    n_grown = 0
    for _ in range(TRIES_PER_HEAD * wanted):
        if n_grown == wanted:
            return
        at = int(rng.integers(len(so_far.points_nm)))
        heading = unit(rng.normal(size=3))
        body, length, head = float(so_far.radii_nm[at]), rng.uniform(*NECKS_NM), rng.uniform(*HEADS_NM)
        path = so_far.points_nm[at] + np.arange(0, body + length + head, 2.0)[:, None] * heading
        bridge = path[round(body / 2) : round((body + length) / 2)]
        radius = max(1, round(rng.uniform(*diameter_nm) / 2))
        has_room = space.room_at(path[-1]) >= head + 10 and space.room_at(bridge[len(bridge) // 2]) >= 25
        if has_room and space.holds(path[-1]):
            owner = int(so_far.owners[at])
            whole = np.rint(path).astype(np.int64)
            space.necks.append(NeckPlan(whole, radius, length, round(1.1 * head), owner))
            _add_head(space, rng, path[-1], head, owner)
            space.fill(np.rint(bridge[::5]).astype(np.int64), np.full(len(bridge[::5]), radius), owner)
            n_grown += 1


def _add_head(
    space: FreeSpace, rng: np.random.Generator, centre: np.ndarray, radius: float, owner: int
) -> None:
    """Add one lumpy ball."""
    bumps = centre + unit(rng.normal(size=(3, 3))) * radius * 0.35
    space.add(np.concatenate([centre[None], bumps]), radius * np.array([0.9, 0.75, 0.75, 0.75]), owner)

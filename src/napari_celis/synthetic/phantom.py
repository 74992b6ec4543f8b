"""Synthetic neuropil with its truth: packed, branching neurites with necks at the limit of resolution."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from napari_celis.core.errors import CelisError
from napari_celis.core.volume import Triple
from napari_celis.synthetic.growth import grow_neuropil
from napari_celis.synthetic.labels import draw_labels
from napari_celis.synthetic.necks import Necks, thin_necks
from napari_celis.synthetic.space import Grid
from napari_celis.synthetic.texture import photograph

SMALLEST_SHAPE = 16
SMALLEST_EXTENT_NM = 160.0
LARGEST_VOXELS = 1024**3
LARGEST_VOXEL_NM = 60.0
"""The thinnest neurites are about as wide; coarser voxels would show none of them."""
WIDEST = 1.25
"""Necks that came out wider than this times the widest asked for are no necks."""

Report = Callable[[str, float], None]
"""Called with the name of the stage and the share of the work that is done."""


class PhantomError(CelisError):
    """A phantom cannot be made from these settings."""


@dataclass(frozen=True)
class PhantomSettings:
    """What to make; equal settings give equal voxels on every machine."""

    shape_zyx: tuple[int, int, int] = (96, 160, 160)
    """Number of voxels."""
    voxel_size_nm: Triple = (10.0, 10.0, 10.0)
    """Edge lengths of one voxel; neurites have their natural size in nanometres."""
    seed: int = 0
    """Source of every random choice."""
    calibre: float = 1.0
    """Factor on the thickness of the neurites."""
    necks_per_um3: float = 120.0
    """Thin necks to ask for per cubic micrometre; some do not find room."""
    neck_diameter_nm: tuple[float, float] = (64.0, 88.0)
    """Range of their diameters, membranes included."""
    gap_share: float = 0.12
    """Share of the membrane that loses its contrast."""
    pale_share: float = 0.4
    """Share of the membrane that has lost three eighths of its contrast, in patches wider than a gap."""
    veil_darkness: tuple[float, float] = (0.8, 1.0)
    """Range of the darkness of the veil across every neck; 1 is a membrane in full contrast, 0 is none."""
    blur_voxels: float = 0.7
    """Standard deviation of the blur, in units of the smallest edge of a voxel."""
    noise_grey: float = 7.0
    """Standard deviation of the grain, in grey values."""

    def __post_init__(self) -> None:
        _check(self)


@dataclass(frozen=True, eq=False)
class Phantom:
    """An image, the objects in it, and the places where they are hardest to follow."""

    image: np.ndarray
    """Grey values, uint8 (Z, Y, X): membranes dark, cytoplasm bright."""
    truth: np.ndarray
    """Object of each voxel, uint64; dense, each id one 6-connected piece, never 0."""
    voxel_size_nm: Triple
    """Edge lengths of one voxel."""
    necks: Necks
    """The thin necks, measured in `truth`."""


def make_phantom(settings: PhantomSettings, report: Report | None = None) -> Phantom:
    """Grow, draw and photograph synthetic neuropil.

    Parameters
    ----------
    settings : PhantomSettings
        What to make.
    report : callable, optional
        Called as `report(stage, share_done)` between the stages.

    Returns
    -------
    phantom : Phantom
        The same bits for the same settings, whatever the machine.
    """
    tell = report or (lambda stage, done: None)
    # One stream per stage: a change in how the image looks leaves the shapes alone.
    growth, bending, look = (np.random.default_rng([settings.seed, stage]) for stage in range(3))
    grid = Grid.of(settings.shape_zyx, settings.voxel_size_nm)
    skeletons = grow_neuropil(
        np.array([axis[-1] for axis in grid.axes]),
        growth,
        calibre=settings.calibre,
        necks_per_um3=settings.necks_per_um3,
        neck_diameter_nm=settings.neck_diameter_nm,
        tell=lambda done: tell("growing neurites", 0.5 * done),
    )
    tell("filling space", 0.5)
    labels, owners = draw_labels(skeletons, grid, bending, smallest=_smallest_object(settings))
    tell("measuring necks", 0.7)
    necks = thin_necks(labels, owners, skeletons.necks, grid, _widest_neck_nm(settings))
    tell("drawing the image", 0.75)
    image = photograph(
        labels,
        owners,
        skeletons,
        grid,
        look,
        gap_share=settings.gap_share,
        pale_share=settings.pale_share,
        darkness_of_veils=settings.veil_darkness,
        blur_voxels=settings.blur_voxels,
        noise_grey=settings.noise_grey,
    )
    tell("done", 1.0)
    return Phantom(image, labels.astype(np.uint64), settings.voxel_size_nm, necks)


def _widest_neck_nm(settings: PhantomSettings) -> float:
    """Diameter up to which a neck is one; where sections are thick it may be off by one of them."""
    widest = settings.neck_diameter_nm[1]
    return max(WIDEST * widest, widest + max(settings.voxel_size_nm))


def _smallest_object(settings: PhantomSettings) -> int:
    """Voxels in a cube of 45 nm: less than that is a crumb, not an object."""
    return max(8, round(45.0**3 / float(np.prod(settings.voxel_size_nm))))


def _check(settings: PhantomSettings) -> None:
    """Refuse settings that cannot give a phantom."""
    shape, voxel_size = settings.shape_zyx, settings.voxel_size_nm
    if len(voxel_size) != 3 or not all(1.0 <= size <= LARGEST_VOXEL_NM for size in voxel_size):
        raise PhantomError(
            f"`voxel_size_nm` is {_plain(voxel_size)} but each of z, y, x must lie between 1 and "
            f"{LARGEST_VOXEL_NM:g} nm. Give three sizes in nanometres, for example 10 10 10 or 40 4 4."
        )
    if len(shape) != 3 or min(shape) < SMALLEST_SHAPE:
        raise PhantomError(
            f"`shape_zyx` is {_plain(shape)} but a phantom needs {SMALLEST_SHAPE} voxels or more along each "
            "axis. Ask for a larger one, for example 96 160 160."
        )
    extents = [n * size for n, size in zip(shape, voxel_size, strict=True)]
    if min(extents) < SMALLEST_EXTENT_NM:
        raise PhantomError(
            f"The phantom would measure {_plain(extents)} nm but no neurite fits below "
            f"{SMALLEST_EXTENT_NM:g} nm. Ask for more voxels or larger ones."
        )
    if np.prod(shape, dtype=object) > LARGEST_VOXELS:
        raise PhantomError(
            f"`shape_zyx` is {_plain(shape)}, more than the {LARGEST_VOXELS:,} voxels a phantom may have. "
            "Ask for a smaller one."
        )
    if settings.seed < 0:
        raise PhantomError(f"`seed` is {settings.seed} but must not be negative. Use 0, 1, 2 and so on.")
    _check_looks(settings)


def _check_looks(settings: PhantomSettings) -> None:
    """Refuse numbers that no picture corresponds to."""
    low, high = settings.neck_diameter_nm
    ranges = {
        "calibre": (settings.calibre, 0.2, 10.0),
        "necks_per_um3": (settings.necks_per_um3, 0.0, 200.0),
        "neck_diameter_nm": (low, 1.0, high),
        "gap_share": (settings.gap_share, 0.0, 1.0),
        "pale_share": (settings.pale_share, 0.0, 1.0),
        "veil_darkness": (settings.veil_darkness[0], 0.0, settings.veil_darkness[1]),
        "the upper end of `veil_darkness`": (settings.veil_darkness[1], 0.0, 1.0),
        "blur_voxels": (settings.blur_voxels, 0.0, 10.0),
        "noise_grey": (settings.noise_grey, 0.0, 100.0),
    }
    for name, (value, least, most) in ranges.items():
        if not least <= value <= most:
            raise PhantomError(
                f"`{name}` is {value:g} but must lie between {least:g} and {most:g}. "
                "Choose a value in that range."
            )


def _plain(numbers: Sequence[float]) -> str:
    """Write numbers as a person types them."""
    return " × ".join(f"{number:g}" for number in numbers)

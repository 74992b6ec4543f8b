"""The two segments of a contact in 3-D, as a shaded picture.

Made with numpy and scipy in a thread: a 3-D frame of napari takes seconds where no graphics card draws it.
"""

from __future__ import annotations

import numpy as np
from scipy import ndimage

GRID = 80
"""Samples along each side of the cube that is shown."""
PIXELS = 150
"""Height and width of the picture."""
SOFT = 0.9
"""Blur of the bodies, in samples, that takes the stairs out of them."""
SOFT_SLOPES = 1.8
"""Blur of what their slopes are taken from: light shows stairs that outlines do not."""
LIGHT = np.array([-0.62, -0.58, -0.53])
"""Where the light comes from: in front, above, left."""
AMBIENT, DIFFUSE = 0.30, 0.75
NEAR, DEEP = 1.0, 0.55
"""Brightness of what is nearest and of what lies furthest behind."""
CUT = 0.5
"""Brightness of bodies that are cut because they go on towards the eye."""
RIM = 0.8
"""From this share of the radius on, bodies fade out: they go on beyond what is shown."""


def view_axes(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Choose from where two bodies are looked at: side by side, and along where they are thin.

    Parameters
    ----------
    first, second : ndarray of float, shape (n, 3)
        Points of the bodies around the contact, in nm.

    Returns
    -------
    axes : ndarray of float, shape (3, 3)
        Unit vectors: into the picture, down, right.
    """
    across = second.mean(axis=0) - first.mean(axis=0)
    length = np.linalg.norm(across)
    right = across / length if length > 0 else np.array([0.0, 0.0, 1.0])
    points = np.concatenate([first - first.mean(axis=0), second - second.mean(axis=0)])
    flat = points - np.outer(points @ right, right)
    _, vectors = np.linalg.eigh(flat.T @ flat + 1e-9 * np.eye(3))
    # The thinnest direction that is not the one between the bodies.
    candidates = [vector for vector in vectors.T if abs(vector @ right) < 0.7]
    into = candidates[0] - (candidates[0] @ right) * right
    into /= np.linalg.norm(into)
    if into[0] < 0:
        into = -into
    return np.stack([into, np.cross(into, right), right])


def turned_axes(axes: np.ndarray, right: float, down: float) -> np.ndarray:
    """Turn what is looked at.

    Parameters
    ----------
    axes : ndarray of float, shape (3, 3)
        From `view_axes`.
    right, down : float
        How far the front moves, in radians.
    """
    cos, sin = np.cos(right), np.sin(right)
    about_down = np.array([[cos, 0, sin], [0, 1, 0], [-sin, 0, cos]])
    cos, sin = np.cos(down), np.sin(down)
    about_right = np.array([[cos, sin, 0], [-sin, cos, 0], [0, 0, 1]])
    turned: np.ndarray = about_right @ about_down @ axes
    return turned


def shaded(side: np.ndarray, axes: np.ndarray, colours: np.ndarray, pixels: int = PIXELS) -> np.ndarray:
    """Draw two bodies.

    Parameters
    ----------
    side : ndarray of int8, shape (n, n, n)
        1 and 2 where the bodies are, in a cube around the contact.
    axes : ndarray of float, shape (3, 3)
        From `view_axes`.
    colours : ndarray of float, shape (2, 3)
        Of the two bodies, from 0 to 1.
    pixels : int
        Height and width of the picture.

    Returns
    -------
    picture : ndarray of uint8, shape (pixels, pixels, 4)
        Transparent where there is nothing.
    """
    n = side.shape[0]
    middle = (n - 1) / 2
    is_body = (side > 0).astype(np.float32)
    solid = ndimage.gaussian_filter(is_body, SOFT)
    # Steps along a ray, rows and columns, as positions in the cube.
    step = np.array([1.0, n / pixels, n / pixels])
    shape = (n, pixels, pixels)
    matrix = axes.T * step
    offset = middle - matrix @ ((np.array(shape) - 1) / 2)
    turned = ndimage.affine_transform(solid, matrix, offset, shape, order=1, mode="nearest", prefilter=False)
    enters, from_middle = _ball(n, pixels)
    is_solid = (turned > 0.5) & (np.abs(np.arange(n)[:, None, None] - middle) <= middle - enters)
    rows, columns = np.nonzero(is_solid.any(axis=0))
    hit = is_solid.argmax(axis=0)[rows, columns]
    before = turned[np.maximum(hit - 1, 0), rows, columns]
    is_cut = before > 0.5
    depth = np.where(is_cut, hit, _surface(hit, before, turned[hit, rows, columns]))
    normal = _normals(is_body, matrix @ np.stack([depth, rows, columns]) + offset[:, None]) @ axes.T
    light = LIGHT / np.linalg.norm(LIGHT)
    bright = AMBIENT + DIFFUSE * np.clip(normal @ light, 0, 1)
    bright *= NEAR + (DEEP - NEAR) * depth / n
    bright[is_cut] = CUT
    at = matrix @ np.stack([depth + 1.0, rows, columns]) + offset[:, None]
    colour = colours[np.clip(_sides_at(side, at), 1, 2) - 1]
    picture = np.zeros((pixels, pixels, 4), dtype=np.float32)
    picture[rows, columns, :3] = 255 * np.clip(colour * bright[:, None], 0, 1)
    picture[rows, columns, 3] = 255 * np.clip((1 - from_middle[rows, columns]) / (1 - RIM), 0, 1)
    return np.ascontiguousarray(picture.astype(np.uint8))


def _ball(n: int, pixels: int) -> tuple[np.ndarray, np.ndarray]:
    """Return where the ray of each pixel enters the ball in the cube, and how far it passes from the middle.

    The first counts in samples, and is beyond the middle where a ray misses the ball; the second is a share
    of the radius.
    """
    middle = (n - 1) / 2
    along = (np.arange(pixels) - (pixels - 1) / 2) * n / pixels
    from_middle = np.hypot(along[:, None], along) / middle
    half = np.sqrt(np.clip(1 - from_middle**2, 0, None))
    return np.where(from_middle < 1, middle * (1 - half), n), from_middle


def _surface(hit: np.ndarray, before: np.ndarray, behind: np.ndarray) -> np.ndarray:
    """Find where rays meet the surface: between the first sample in the body and the one before."""
    depth: np.ndarray = hit - (behind - 0.5) / np.maximum(behind - before, 1e-6)
    return depth


def _normals(is_body: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Return the direction out of the body at positions (3, n), along the axes of the cube.

    Slopes are taken before the cube is turned: those of a turned one differ from ray to ray, which draws
    stripes on what is flat.
    """
    soft = ndimage.gaussian_filter(is_body, SOFT_SLOPES)
    slopes = [ndimage.map_coordinates(slope, at, order=1, mode="nearest") for slope in np.gradient(soft)]
    normal = -np.stack(slopes, axis=1)
    normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-6)
    return normal


def _sides_at(side: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Look up whose surface a ray met: the side there, or of a neighbour where blur moved the surface out."""
    found = np.zeros(at.shape[1], dtype=np.int64)
    last = np.array(side.shape)[:, None] - 1
    for shift in ((0, 0, 0), (1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1)):
        z, y, x = np.clip(np.rint(at).astype(int) + np.array(shift)[:, None], 0, last)
        found = np.where(found > 0, found, side[z, y, x])
    return found

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
LIGHT = np.array([-0.62, -0.58, -0.53])
"""Where the light comes from: in front, above, left."""
AMBIENT, DIFFUSE = 0.30, 0.75
NEAR, DEEP = 1.0, 0.55
"""Brightness of what is nearest and of what lies furthest behind."""
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
    solid = ndimage.gaussian_filter((side > 0).astype(np.float32), SOFT)
    # Steps along a ray, rows and columns, as positions in the cube.
    step = np.array([1.0, n / pixels, n / pixels])
    shape = (n, pixels, pixels)
    matrix = axes.T * step
    offset = middle - matrix @ ((np.array(shape) - 1) / 2)
    turned = ndimage.affine_transform(solid, matrix, offset, shape, order=1, prefilter=False)
    is_solid = turned > 0.5
    depth = is_solid.argmax(axis=0)
    is_hit = is_solid.any(axis=0)
    rows, columns = np.nonzero(is_hit)
    hit = depth[rows, columns]
    normal = _normals(turned, hit, rows, columns) / step
    normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-6)
    light = LIGHT / np.linalg.norm(LIGHT)
    bright = AMBIENT + DIFFUSE * np.clip(normal @ light, 0, 1)
    bright *= NEAR + (DEEP - NEAR) * hit / n
    at = matrix @ np.stack([hit + 1.0, rows, columns]) + offset[:, None]
    colour = colours[np.clip(_sides_at(side, at), 1, 2) - 1]
    radius = np.linalg.norm(at - middle, axis=0) / middle
    picture = np.zeros((pixels, pixels, 4), dtype=np.float32)
    picture[rows, columns, :3] = 255 * np.clip(colour * bright[:, None], 0, 1)
    picture[rows, columns, 3] = 255 * np.clip((1 - radius) / (1 - RIM), 0, 1)
    return np.ascontiguousarray(picture.astype(np.uint8))


def _normals(turned: np.ndarray, hit: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Return the direction out of the body where rays meet it."""
    at = [hit, rows, columns]
    slopes = []
    for axis, size in enumerate(turned.shape):
        ahead, behind = list(at), list(at)
        ahead[axis], behind[axis] = np.minimum(at[axis] + 1, size - 1), np.maximum(at[axis] - 1, 0)
        slopes.append(turned[tuple(behind)] - turned[tuple(ahead)])
    return np.stack(slopes, axis=1)


def _sides_at(side: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Look up whose surface a ray met: the side there, or of a neighbour where blur moved the surface out."""
    found = np.zeros(at.shape[1], dtype=np.int64)
    last = np.array(side.shape)[:, None] - 1
    for shift in ((0, 0, 0), (1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1)):
        z, y, x = np.clip(np.rint(at).astype(int) + np.array(shift)[:, None], 0, last)
        found = np.where(found > 0, found, side[z, y, x])
    return found

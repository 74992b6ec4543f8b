"""Open precomputed volumes in neuroglancer: its state, a link file, and a server for the folder they lie in.

Neuroglancer runs in the browser and fetches volumes over HTTP, so a folder on disk has to be served:
`python -m napari_celis.io.neuroglancer FOLDER` does that, for this computer only.
"""

from __future__ import annotations

import html
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from napari_celis.core.errors import VolumeError
from napari_celis.core.volume import Volume
from napari_celis.io.atomic import atomic_file
from napari_celis.io.blocks import Kind
from napari_celis.io.confinement import is_inside
from napari_celis.io.failures import short_reason
from napari_celis.io.precomputed_segments import largest_segments

VIEWER = "https://neuroglancer-demo.appspot.com"
PORT = 9000
N_SHOWN = 12
"""Segments that a view shows in 3-D where nobody chose any."""
OWN_HOSTS = ("localhost", "127.0.0.1", "::1")
"""Names under which a browser may ask; another site that gives its name this address is not answered."""
SUFFIXES = (".html", ".json")
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title} in neuroglancer</title>
<style>body{{font:16px/1.6 system-ui,sans-serif;max-width:42em;margin:3em auto;padding:0 1em}}
code{{background:#eee;color:#222;padding:.15em .4em;border-radius:4px}}</style></head><body>
<h1>{title}</h1>
<ol><li>Serve this folder to your own browser; leave it running while you look:<br><code>{command}</code></li>
<li><a href="{link}">Open {title} in neuroglancer</a></li></ol>
<p>The same view as neuroglancer's JSON state:</p>
<script type="application/json" id="state">{state}</script>
<pre>{shown}</pre></body></html>
"""


@dataclass(frozen=True, eq=False)
class LinkedVolume:
    """A precomputed volume that neuroglancer is to show."""

    path: Path
    """Its folder, which lies beside the link file."""
    volume: Volume
    """What was written there; gives voxel size and offset."""
    kind: Kind
    selected: tuple[int, ...] = ()
    """Segments to show in 3-D from the start; if none, the largest ones that the volume lists."""


def neuroglancer_state(
    volumes: Sequence[LinkedVolume], position_nm: Sequence[float] | None = None, *, port: int = PORT
) -> dict[str, Any]:
    """Describe a view of precomputed volumes that are served from this computer.

    Parameters
    ----------
    volumes : sequence of LinkedVolume
        From the lowest to the highest layer; the first one gives the units of the view.
    position_nm : sequence of float, optional
        Where to look, z, y, x; the middle of the first volume by default, and never outside it.
    port : int
        Where the folder is served.

    Returns
    -------
    state : dict
        As neuroglancer's JSON editor shows it; its axes run x, y, z.
    """
    first = volumes[0].volume
    # Precomputed volumes begin at whole voxels, and neuroglancer counts from their corner.
    position = [
        round(offset / length) + 0.5 + voxel
        for offset, length, voxel in zip(
            first.offset_nm, first.voxel_size_nm, _voxel_at(first, position_nm), strict=True
        )
    ]
    lengths = dict(zip("zyx", first.voxel_size_nm, strict=True))
    return {
        "dimensions": {axis: [lengths[axis] * 1e-9, "m"] for axis in "xyz"},
        "position": position[::-1],
        "crossSectionScale": 1,
        "projectionScale": max(first.shape),
        "layers": [_layer(linked, port) for linked in volumes],
        "layout": "4panel",
    }


def write_link(
    path: Path,
    volumes: Sequence[LinkedVolume],
    position_nm: Sequence[float] | None = None,
    *,
    port: int = PORT,
) -> Path:
    """Write a page to open volumes with (.html), or the bare state for neuroglancer's editor (.json).

    Parameters
    ----------
    path : Path
        In the folder that holds the volumes.
    volumes, position_nm, port
        As for `neuroglancer_state`.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise VolumeError(f"{path} is no link file we can write. Give it a name that ends in .html or .json.")
    for linked in volumes:
        if linked.path.absolute().parent != path.absolute().parent:
            raise VolumeError(
                f"{linked.path} does not lie beside the link file {path}, but one folder is served. "
                "Write both into the same folder."
            )
    state = neuroglancer_state(volumes, position_nm, port=port)
    with atomic_file(path) as temporary:
        text = json.dumps(state, indent=2) + "\n" if path.suffix.lower() == ".json" else _page(path, state)
        temporary.write_text(text, encoding="utf-8")
    return path


def view_address(state: dict[str, Any]) -> str:
    """Write the address that opens a state in neuroglancer."""
    return f"{VIEWER}/#!{quote(json.dumps(state, separators=(',', ':')))}"


def make_server(folder: Path, port: int = PORT) -> ThreadingHTTPServer:
    """Prepare to serve a folder to browsers on this computer; `serve_forever` starts it.

    Parameters
    ----------
    folder : Path
        Everything in it can be read by neuroglancer's page, and by pages of this computer, while the server
        runs; links out of it are not followed.
    port : int
        0 takes a free one.
    """
    if not folder.is_dir():
        raise VolumeError(f"{folder} is not a folder. Give the one that holds the precomputed volumes.")
    try:
        return ThreadingHTTPServer(("127.0.0.1", port), partial(_Handler, directory=str(folder)))
    except OSError as error:
        raise VolumeError(
            f"Port {port} cannot be used ({short_reason(error)}). End the program that uses it."
        ) from error


class _Handler(SimpleHTTPRequestHandler):
    """Serves the files of one folder to neuroglancer's page and to pages of this computer, silently."""

    def send_head(self) -> Any:
        """Answer those who ask for this computer, with what lies in the folder."""
        host = urlsplit(f"//{self.headers.get('Host', 'localhost')}").hostname
        if host not in OWN_HOSTS:
            self.send_error(HTTPStatus.FORBIDDEN, "Ask for localhost")
            return None
        path, folder = Path(self.translate_path(self.path)), Path(self.directory)
        if not is_inside(path, folder) or not (path.is_dir() or path.is_file()):
            self.send_error(HTTPStatus.NOT_FOUND, "There is no such file")
            return None
        return super().send_head()

    def end_headers(self) -> None:
        """Name the page that may read the answer, if it is one of those."""
        origin = self.headers.get("Origin", "") if hasattr(self, "headers") else ""
        if origin == VIEWER or urlsplit(origin).hostname in OWN_HOSTS:
            self.send_header("Access-Control-Allow-Origin", origin)
        self.send_header("Vary", "Origin")
        super().end_headers()

    def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002, the name it has upstream
        """Keep quiet: a view asks for thousands of files."""


def _voxel_at(volume: Volume, position_nm: Sequence[float] | None) -> list[float]:
    """Convert a position to voxels of a volume, inside it; its middle for None."""
    if position_nm is None:
        return [(size - 1) / 2 for size in volume.shape]
    return [
        min(max((position - offset) / length, 0.0), size - 1.0)
        for position, offset, length, size in zip(
            position_nm, volume.offset_nm, volume.voxel_size_nm, volume.shape, strict=True
        )
    ]


def _layer(linked: LinkedVolume, port: int) -> dict[str, Any]:
    """Describe one layer."""
    source = f"precomputed://http://localhost:{port}/{quote(linked.path.name)}"
    layer: dict[str, Any] = {"type": "image", "source": source, "name": linked.path.stem}
    if linked.kind == "labels":
        selected = linked.selected or largest_segments(linked.path, N_SHOWN)
        layer |= {"type": "segmentation", "segments": [str(segment) for segment in selected]}
    return layer


def _page(path: Path, state: dict[str, Any]) -> str:
    """Write the page around a state."""
    folder = str(path.absolute().parent)
    text = json.dumps(state, indent=2)
    return PAGE.format(
        title=html.escape(path.stem),
        command=html.escape(f'python -m napari_celis.io.neuroglancer "{folder}"'),
        link=html.escape(view_address(state)),
        # Inside a script only its own end could be misread.
        state=text.replace("</", "<\\/"),
        shown=html.escape(text),
    )


def main(arguments: Sequence[str]) -> int:
    """Serve a folder until the user stops it."""
    try:
        server = make_server(Path(arguments[0] if arguments else "."))
    except VolumeError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(f"Serving on http://localhost:{server.server_port}. Stop with Ctrl+C.\n")
    sys.stdout.flush()
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        server.server_close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

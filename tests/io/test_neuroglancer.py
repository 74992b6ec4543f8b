"""Link files for neuroglancer, and the server behind them."""

from __future__ import annotations

import json
import os
import re
import threading
from http.client import HTTPConnection
from urllib.parse import unquote

import numpy as np
import pytest

from napari_celis.core.errors import VolumeError
from napari_celis.core.volume import Volume
from napari_celis.io.neuroglancer import (
    VIEWER,
    LinkedVolume,
    main,
    make_server,
    neuroglancer_state,
    view_address,
    write_link,
)
from napari_celis.io.volumes import write_volume

LABELS = Volume(np.full((4, 6, 8), 2**63 + 1, np.uint64), (40.0, 4.0, 5.0), (80.0, 0.0, -10.0), name="cells")


@pytest.fixture
def linked(tmp_path):
    path = write_volume(LABELS, tmp_path / "my cells.precomputed", kind="labels")
    return LinkedVolume(path, LABELS, "labels", selected=(2**63 + 1,))


def test_state_has_units_position_and_segments(linked):
    state = neuroglancer_state([linked])
    assert state["dimensions"] == {"x": [5e-9, "m"], "y": [4e-9, "m"], "z": [40e-9, "m"]}
    # The middle: half the size behind the whole voxels of the offset.
    assert state["position"] == [-2 + 4, 0 + 3, 2 + 2]
    [layer] = state["layers"]
    assert layer["type"] == "segmentation"
    assert layer["segments"] == [str(2**63 + 1)]
    assert layer["source"] == "precomputed://http://localhost:9000/my%20cells.precomputed"
    # At a voxel of 40 × 4 × 5 nm, and outside the volume.
    assert neuroglancer_state([linked], (120, 8, 5))["position"] == [-2 + 3.5, 2.5, 2 + 1.5]
    assert neuroglancer_state([linked], (1e9, -1e9, -10))["position"] == [-2 + 0.5, 0.5, 2 + 3.5]


def test_image_lies_below_the_segmentation(linked, tmp_path):
    image = LinkedVolume(tmp_path / "grey.precomputed", LABELS, "image")
    layers = neuroglancer_state([image, linked], port=9001)["layers"]
    assert [layer["type"] for layer in layers] == ["image", "segmentation"]
    assert ":9001/grey.precomputed" in layers[0]["source"]


def test_page_holds_the_state_and_a_link_to_it(linked, tmp_path):
    page = write_link(tmp_path / "cells.html", [linked]).read_text()
    state = json.loads(re.search(r'<script type="application/json" id="state">(.*?)</script>', page, re.S)[1])
    assert state == neuroglancer_state([linked])
    [link] = re.findall(r'href="([^"]+)"', page)
    assert json.loads(unquote(link.split("#!")[1])) == state
    assert link == view_address(state)
    assert f"-m napari_celis.io.neuroglancer &quot;{tmp_path}&quot;" in page


def test_bare_state(linked, tmp_path):
    path = write_link(tmp_path / "cells.json", [linked])
    assert json.loads(path.read_text()) == neuroglancer_state([linked])


def test_link_must_lie_beside_the_volume_and_have_a_known_suffix(linked, tmp_path):
    with pytest.raises(VolumeError, match="same folder"):
        write_link(tmp_path / "elsewhere" / "cells.html", [linked])
    with pytest.raises(VolumeError, match=r"\.html or \.json"):
        write_link(tmp_path / "cells.txt", [linked])
    assert [entry.name for entry in tmp_path.iterdir()] == ["my cells.precomputed"]


@pytest.fixture
def ask(linked, tmp_path):
    """Ask a server for a file; return the status, the page that may read it, and the content."""
    server = make_server(tmp_path, port=0)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()

    def request(name, **headers):
        connection = HTTPConnection("127.0.0.1", server.server_port, timeout=10)
        connection.request("GET", name, headers=headers)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer.status, answer.getheader("Access-Control-Allow-Origin"), content

    yield request
    server.shutdown()
    server.server_close()
    thread.join()


INFO = "/my%20cells.precomputed/info"


def test_server_lets_the_viewer_read_the_volume(ask):
    status, page, content = ask(INFO, Origin=VIEWER)
    assert (status, page) == (200, VIEWER)
    assert json.loads(content)["type"] == "segmentation"
    assert ask(INFO, Origin="http://localhost:8080")[:2] == (200, "http://localhost:8080")
    assert ask("/my%20cells.precomputed/missing", Origin=VIEWER)[0] == 404


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost.evil.example", ""])
def test_server_lets_no_other_page_read(ask, origin):
    assert ask(INFO, Origin=origin)[1] is None


@pytest.mark.parametrize("host", ["evil.example", "evil.example:9000", "10.0.0.7", "localhost.evil.example"])
def test_server_answers_only_for_this_computer(ask, host):
    """A site that gives its own name this address would be of the same origin."""
    assert ask(INFO, Host=host)[0] == 403
    for own in ("localhost", "LOCALHOST:9000", "127.0.0.1:9000", "[::1]:9000"):
        assert ask(INFO, Host=own)[0] == 200


def test_server_stays_in_its_folder(ask, tmp_path, tmp_path_factory, monkeypatch):
    private = tmp_path_factory.mktemp("private")
    (private / "secret.txt").write_text("secret")
    (tmp_path / "link.txt").symlink_to(private / "secret.txt")
    (tmp_path / "folder").symlink_to(private)
    (tmp_path / "inside.txt").symlink_to(tmp_path / "my cells.precomputed" / "info")
    os.mkfifo(tmp_path / "pipe")
    for setting in ("", "1"):
        monkeypatch.setenv("CELIS_FOLLOW_LINKS", setting)
        for name in ("/link.txt", "/folder/secret.txt", "/folder/", "/../private/secret.txt", "/pipe"):
            assert ask(name)[0] == 404
    assert ask("/inside.txt")[0] == 200


def test_server_says_what_is_wrong(linked, tmp_path, capsys):
    with pytest.raises(VolumeError, match="not a folder"):
        make_server(tmp_path / "missing")
    assert main([str(tmp_path / "missing")]) == 1
    assert "not a folder" in capsys.readouterr().err
    with make_server(tmp_path, port=0) as server, pytest.raises(VolumeError, match="cannot be used"):
        make_server(tmp_path, port=server.server_port)

"""What the manifest declares for napari's preferences, and what the window makes of it."""

from __future__ import annotations

import pytest
from napari.settings import get_plugin_settings

from napari_celis.core import parallel
from napari_celis.gui.canvas import highlight
from napari_celis.gui.canvas.selection_colours import selection_colours
from napari_celis.gui.qt.colours import OKABE_ITO
from napari_celis.gui.session.preferences import Preferences, apply_threads, preferences
from napari_celis.gui.session.session_store import new_path, new_sessions_folder, sessions_folder


@pytest.fixture
def chosen(plugin_settings, our_plugin):
    return get_plugin_settings("napari-celis")


def test_defaults_are_those_of_the_manifest(chosen):
    assert preferences() == Preferences()


def test_choices_of_colours_are_the_palette(our_plugin):
    colours = our_plugin.manifest.contributions.configurations["colours"].properties
    assert [colours[name].enum for name in ("first", "second")] == [list(OKABE_ITO)] * 2


def test_without_the_plugin_the_defaults_hold(plugin_settings, npe2pm):
    assert preferences() == Preferences()


def test_sessions_go_to_the_chosen_folder(chosen, tmp_path):
    assert new_path("em.h5").parent == sessions_folder()
    chosen.work.sessions_folder = str(tmp_path / "mine")
    assert new_sessions_folder() == tmp_path / "mine"
    assert new_path("em.h5").parent == tmp_path / "mine"


def test_threads(chosen, monkeypatch):
    monkeypatch.setattr(parallel, "_most_threads", [])
    before = parallel.default_threads()
    apply_threads()
    assert parallel.default_threads() == before
    chosen.work.threads = 3
    apply_threads()
    assert parallel.default_threads() == 3


def test_colours_of_selected_segments(chosen):
    assert selection_colours() == (OKABE_ITO["orange"], OKABE_ITO["sky"])
    assert highlight.colours_of_values() == highlight.COLOURS
    chosen.colours.second = "purple"
    colours = highlight.colours_of_values()
    assert list(colours) == list(highlight.COLOURS)
    assert colours[highlight.FIRST] == OKABE_ITO["orange"]
    assert colours[highlight.SECOND] == OKABE_ITO["purple"]
    assert colours[highlight.SECOND_CLICKED] != colours[highlight.SECOND]

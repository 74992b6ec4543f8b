"""What the manifest promises is what napari shows: menus, names, the icon, the preferences."""

from __future__ import annotations

from importlib.resources import files

import pytest
from napari._app_model.constants._menus import MenuId
from npe2 import PluginManifest

from napari_celis.gui.canvas.key_table import COMMANDS
from napari_celis.gui.plugin.viewer_window import PANEL_NAME


@pytest.fixture(scope="module")
def manifest() -> PluginManifest:
    return PluginManifest.from_file(str(files("napari_celis") / "napari.yaml"))


def test_every_menu_is_open_to_plugins(manifest):
    # napari drops the others without a word; the menu of the layer list is one of them.
    named = set(manifest.contributions.menus)
    assert named == {"napari/layers/segment", "napari/layers/annotate"}
    assert named <= {str(menu) for menu in MenuId.contributables()}


def test_names_do_without_the_one_that_napari_adds(manifest):
    given = manifest.contributions
    names = [command.title for command in given.commands]
    names += [one.display_name for one in (*given.widgets, *given.sample_data)]
    assert not [name for name in names if manifest.display_name.lower() in name.lower()]
    [widget] = given.widgets
    assert f"{widget.display_name} ({manifest.display_name})" == PANEL_NAME


def test_the_palette_offers_only_what_needs_nothing_else(manifest):
    given = manifest.contributions
    need_more = {one.command for one in (*given.readers, *given.writers)}
    assert {command.id for command in given.commands if command.enablement == "False"} == need_more


def test_it_has_an_icon_and_categories(manifest):
    package, _, name = manifest.icon.partition(":")
    assert (files(package) / name).read_text().startswith("<svg")
    assert manifest.categories[0] == "Segmentation"


def test_preferences_are_those_that_the_window_reads(manifest):
    sections = {one.title: one.properties for one in manifest.contributions.configurations.values()}
    assert list(sections) == ["Work", "Colours", "Keys"]
    assert list(sections["Work"]) == ["threads", "sessions_folder"]
    assert {name: one.default for name, one in sections["Keys"].items()} == {
        name: command.default for name, command in COMMANDS.items()
    }
    assert all(one.title for properties in sections.values() for one in properties.values())

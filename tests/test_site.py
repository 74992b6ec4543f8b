"""The site of the documentation: pages that are made from the code, and what no page may do."""

from __future__ import annotations

import pytest
import typer.main
from PIL import Image

from napari_celis.cli import app


@pytest.fixture
def build_site(checkout, monkeypatch):
    pytest.importorskip("sphinx")
    monkeypatch.syspath_prepend(checkout / "scripts")
    import build_site

    return build_site


def test_every_command_and_option_is_on_its_page(build_site):
    import site_commands

    page = site_commands.commands_page()
    found = dict(site_commands.every_command(typer.main.get_command(app), "celis"))
    assert {"celis agglomerate", "celis sessions merge"} <= set(found)
    for name, command in found.items():
        section = page.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
        assert section.startswith(f"\n{site_commands.summary(command)}")
        options = [one for one in command.params if one.param_type_name == "option" and not one.hidden]
        assert all(option.opts[0] in section for option in options), name


def test_pages_of_the_library_name_what_the_examples_use(build_site):
    from site_reference import front_door_page, inner_rooms_page

    assert ".. autofunction:: napari_celis.agglomerate" in front_door_page()
    assert ".. autoexception:: napari_celis.CelisError" in front_door_page()
    lines = (
        "from napari_celis.core.policy import LearnedPolicy",
        "from napari_celis.core.volume import Volume",
    )
    page = inner_rooms_page(["\n".join(["```python", *lines, "```"])])
    assert ".. autoclass:: napari_celis.core.policy.LearnedPolicy" in page
    assert "Volume" not in page  # stands at the front door


def test_an_example_becomes_text_and_code(build_site, tmp_path):
    script = tmp_path / "one.py"
    script.write_text('"""A title.\n\nWhy.\n"""\n\n# %% [markdown]\n# ## Part\n#\n# Text.\n\n# %%\nx = 1\n')
    page = build_site.example(script)
    assert page.startswith("# A title\n\nWhy.\n\n## Part\n\nText.\n\n```python\nx = 1\n```\n")


def test_the_quick_start_is_that_of_the_readme(build_site, checkout):
    page = build_site.quick_start((checkout / "README.md").read_text())
    assert "celis agglomerate --image" in page
    assert "](docs/" not in page


def test_what_other_computers_would_have_to_send_is_found(build_site, tmp_path):
    (tmp_path / "good.html").write_text('<a href="https://napari.org">napari</a><script src="a.js"></script>')
    assert build_site.loaded_from_elsewhere(tmp_path) == []
    (tmp_path / "bad.html").write_text('<link rel="stylesheet" href="https://fonts.example/a.css">')
    (tmp_path / "worse.html").write_text('<script src="//cdn.example/a.js"></script>')
    assert build_site.loaded_from_elsewhere(tmp_path) == [
        "bad.html loads https://fonts.example/a.css",
        "worse.html loads //cdn.example/a.js",
    ]


def test_every_page_is_in_the_menu_once(build_site, checkout):
    menu = [page for pages in build_site.NAVIGATION.values() for page in pages.values()]
    docs = checkout / "docs"
    written = {path.relative_to(docs).with_suffix("").as_posix() for path in docs.rglob("*.md")} - {"index"}
    assert written <= set(menu)
    assert len(menu) == len(set(menu))


@pytest.mark.parametrize("name", ["descriptor", "regions", "flips", "zones"])
def test_figures_of_the_method_can_be_drawn(name, checkout, monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(checkout / "scripts")
    import draw_method

    draw_method.FIGURES[name](tmp_path)
    drawn, kept = (
        Image.open(folder / f"method-{name}.png") for folder in (tmp_path, checkout / "docs/images")
    )
    assert drawn.size == kept.size

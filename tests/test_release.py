"""What a release says in several places is the same everywhere, and its checks find what is wrong."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import distribution

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import napari_celis
from check_links import anchors, broken_links
from licences import is_gpl, licence_of
from release_facts import classified_pythons, pins, project

ON_CONDA = {"matplotlib": "matplotlib-base", "napari": "napari-base", "torch": "pytorch"}
"""Names of conda-forge that differ from those in pyproject.toml; napari-base brings no window toolkit."""
HOME = "https://github.com/napari-celis/napari-celis"


@pytest.fixture(scope="module")
def citation(checkout):
    return yaml.safe_load((checkout / "CITATION.cff").read_text())


@pytest.fixture(scope="module")
def recipe(checkout):
    return yaml.safe_load((checkout / ".conda/recipe.yaml").read_text())


def test_version_is_the_same_everywhere(citation, recipe, checkout):
    version = napari_celis.__version__
    assert citation["version"] == version
    assert recipe["context"]["version"] == version
    changes = (checkout / "docs/changelog.md").read_text()
    assert re.search(rf"^## {re.escape(version)}\b", changes, re.MULTILINE)


def test_citation_names_the_software_and_the_paper(citation, checkout):
    assert citation["title"] == project(checkout)["name"]
    assert citation["license"] == project(checkout)["license"]
    [paper] = citation["references"]
    authors = [author["family-names"] for author in paper["authors"]]
    readme = " ".join((checkout / "README.md").read_text().split())
    assert ", ".join(authors[:-1]) + f" and {authors[-1]}, NIPS {paper['year']}" in readme


def test_addresses_are_of_one_home(citation, recipe, checkout):
    urls = project(checkout)["urls"]
    assert {"Homepage", "Documentation", "Source", "Issues", "Changelog"} <= set(urls)
    site = "https://napari-celis.github.io/napari-celis"
    assert all(url.startswith((HOME, site)) for url in urls.values())
    assert citation["repository-code"] == HOME
    assert recipe["about"]["homepage"] == recipe["about"]["repository"] == urls["Homepage"]
    assert recipe["source"]["url"].startswith(f"{HOME}/")


def test_recipe_requires_what_the_package_requires(recipe, checkout):
    wanted = {}
    for requirement in map(Requirement, project(checkout)["dependencies"]):
        name = canonicalize_name(requirement.name)
        wanted[ON_CONDA.get(name, name)] = str(requirement.specifier)
    listed = dict(line.split(maxsplit=1) for line in recipe["requirements"]["run"])
    assert listed.pop("python") == ">=${{ python_min }}"
    assert listed == wanted
    assert f">={recipe['context']['python_min']}" == project(checkout)["requires-python"]


def test_classifiers_begin_with_the_oldest_python(checkout):
    pythons = classified_pythons(checkout)
    assert f">={pythons[0]}" == project(checkout)["requires-python"]
    assert [int(version.partition(".")[2]) for version in pythons] == list(range(11, 11 + len(pythons)))
    # The set-up finds them under their full names too.
    [names] = re.findall(r"for candidate in python3 (.*); do", (checkout / "scripts/setup.sh").read_text())
    assert names.split() == [f"python{version}" for version in reversed(pythons)]


def test_every_dependency_is_pinned(checkout):
    table, known = project(checkout), pins(checkout)
    extras = table["optional-dependencies"]
    lines = [*table["dependencies"], *(line for extra in extras.values() for line in extra)]
    for requirement in map(Requirement, lines):
        name = canonicalize_name(requirement.name)
        if name != table["name"]:
            assert requirement.specifier.contains(known[name]), requirement


def test_types_travel_with_the_package(checkout):
    assert (checkout / "src/napari_celis/py.typed").exists()
    assert "Typing :: Typed" in project(checkout)["classifiers"]


@pytest.mark.parametrize(
    ("licence", "expected"),
    [
        ("MIT", False),
        ("LGPL-3.0-or-later", False),
        ("GNU Lesser General Public License v3 (LGPLv3)", False),
        ("BSD-3-Clause AND GPL-3.0-or-later WITH GCC-exception-3.1", False),
        ("MIT OR GPL-2.0-only", False),
        ("(MIT OR GPL-2.0-only) AND GPL-3.0-only", True),
        ("GPL-3.0-only", True),
        ("GPLv3+", True),
        ("AGPL-3.0", True),
        ("GNU General Public License v3 or later (GPLv3+)", True),
        ("GNU Affero General Public License v3", True),
    ],
)
def test_the_gpl_is_told_from_others(licence, expected):
    assert is_gpl(licence) is expected


def test_licences_are_read_from_packages(monkeypatch):
    assert licence_of(distribution("napari")).text == "BSD-3-Clause"
    assert licence_of(distribution("PyQt6")).is_gpl


def test_there_is_no_gpl_in_the_base(checkout):
    run = subprocess.run(
        [sys.executable, checkout / "scripts/licences.py"], capture_output=True, text=True, timeout=60
    )
    assert run.returncode == 0, run.stderr
    names = {line.split()[0] for line in run.stdout.splitlines()}
    assert {"napari", "torch", "numpy", "zarr"} <= names
    assert not {"pyqt6", "pyside6-essentials"} & names


def test_links_between_documents(checkout):
    run = subprocess.run(
        [sys.executable, checkout / "scripts/check_links.py"], capture_output=True, text=True, timeout=60
    )
    assert run.returncode == 0, run.stderr


def test_broken_links_are_found(tmp_path):
    (tmp_path / "other.md").write_text("# Two words, `code`\n\n# Same\n\n# Same\n")
    assert anchors((tmp_path / "other.md").read_text()) == {"two-words-code", "same", "same-1"}
    page = tmp_path / "page.md"
    page.write_text(
        "[a](other.md#two-words-code) [b](other.md#same-1) [w](https://example.org/x#y) `[c](no.md)`\n"
        "```\n[d](no.md)\n```\n"
        "[e](no.md) ![f](no.png)\n"
        "[g](other.md#nothing) [h](#nothing) [i](../outside.md)\n"
    )
    assert [problem.partition(": ")[::2] for problem in broken_links(page, tmp_path)] == [
        ("page.md:5", "there is no no.md"),
        ("page.md:5", "there is no no.png"),
        ("page.md:6", "other.md has no heading #nothing"),
        ("page.md:6", "page.md has no heading #nothing"),
        ("page.md:6", "there is no ../outside.md"),
    ]


def test_release_check_explains_its_arguments(checkout):
    run = subprocess.run(
        ["sh", checkout / "scripts/release-check", "--nonsense"], capture_output=True, text=True, timeout=60
    )
    assert run.returncode == 1
    assert run.stderr == "usage: scripts/release-check [--keep DIR]\n"

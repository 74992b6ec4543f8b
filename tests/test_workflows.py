"""The files that GitHub reads: they run the scripts that exist, on the versions that the package names."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from release_facts import classified_pythons, pins


def read(path: Path) -> dict[str, Any]:
    # YAML takes the key `on` for a truth.
    return {("on" if key is True else key): value for key, value in yaml.safe_load(path.read_text()).items()}


@pytest.fixture(scope="module")
def workflows(checkout) -> dict[str, dict[str, Any]]:
    found = {path.stem: read(path) for path in (checkout / ".github/workflows").glob("*.yml")}
    assert set(found) == {"docs", "release", "tests"}
    return found


@pytest.fixture(scope="module")
def prepare(checkout) -> dict[str, Any]:
    return read(checkout / ".github/actions/prepare/action.yml")


def steps(workflow: dict[str, Any]) -> list[dict[str, Any]]:
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


def test_they_run_only_what_is_there(checkout, workflows):
    called = {
        name
        for workflow in workflows.values()
        for step in steps(workflow)
        for name in re.findall(r"(?<![\w./])(?:\./)?((?:scripts|\.ci)/[\w.-]+)", step.get("run", ""))
    }
    assert {".ci/run", "scripts/test", "scripts/docs", "scripts/release-check"} <= called
    # The documentation is built by a script of its own.
    for name in called - {"scripts/docs"}:
        assert (checkout / name).is_file(), name
        assert name.endswith(".txt") or os.access(checkout / name, os.X_OK), name


def test_their_pythons_are_those_of_the_package(checkout, workflows):
    matrix = workflows["tests"]["jobs"]["tests"]["strategy"]["matrix"]
    assert matrix["python"] == classified_pythons(checkout)
    assert {name.partition("-")[0] for name in matrix["os"]} == {"ubuntu", "macos", "windows"}


def test_what_the_matrix_leaves_out_is_done_by_ci_run(workflows, prepare):
    jobs = workflows["tests"]["jobs"]
    [left_out] = jobs["tests"]["strategy"]["matrix"]["exclude"]
    assert left_out == {
        "os": jobs["check"]["runs-on"],
        "python": prepare["inputs"]["python-version"]["default"],
    }
    assert [step["run"] for step in jobs["check"]["steps"] if "run" in step] == [".ci/run"]


def test_windows_installs_and_tests_what_scripts_test_does(checkout, workflows):
    lines = [step["run"] for step in steps(workflows["tests"]) if step.get("name", "").endswith("Windows")]
    [install, test] = lines
    [same] = re.findall(r"-m (pytest .*) \"\$@\"", (checkout / "scripts/test").read_text())
    assert same in test
    assert "--constraint scripts/constraints.txt" in install
    assert ".[dev]" in install


def test_system_libraries_are_those_of_the_set_up(checkout, prepare):
    setup = (checkout / "scripts/setup.sh").read_text()
    wanted = {"xvfb", "xauth", *re.findall(r"^lib\S+\.so\S*\s+(\S+)$", setup, re.MULTILINE)}
    assert len(wanted) > 8
    [line] = [step["run"] for step in prepare["runs"]["steps"] if "apt-get" in step.get("run", "")]
    assert set(line.partition("--no-install-recommends")[2].split()) == wanted
    documented = (checkout / "docs/install.md").read_text().partition("sudo apt-get install")[2]
    assert set(documented.partition("```")[0].replace("\\", "").split()) == wanted


def test_only_publishing_may_do_more_than_read(workflows):
    for name, workflow in workflows.items():
        assert workflow["permissions"] == {"contents": "read"}, name
        assert all("timeout-minutes" in job for job in workflow["jobs"].values()), name
        writing = {job for job, what in workflow["jobs"].items() if "permissions" in what}
        assert writing <= {"publish"}, name
    publish = workflows["release"]["jobs"]["publish"]
    assert publish["permissions"] == {"id-token": "write"}
    assert publish["if"] == "github.ref_type == 'tag'"
    assert publish["needs"] == "build"
    assert "password" not in str(publish)


def test_questions_of_the_issue_forms_have_names_of_their_own(checkout):
    forms = [path for path in (checkout / ".github/ISSUE_TEMPLATE").glob("*.yml") if path.stem != "config"]
    assert forms
    for path in forms:
        form = read(path)
        assert {"name", "description", "body"} <= set(form), path.name
        ids = [question["id"] for question in form["body"]]
        assert len(ids) == len(set(ids)), path.name
        kinds = {"textarea", "input", "checkboxes", "dropdown"}
        assert {question["type"] for question in form["body"]} <= kinds, path.name
        assert all(question["attributes"]["label"] for question in form["body"]), path.name


def test_the_hook_before_a_commit_is_the_pinned_ruff(checkout):
    repositories = read(checkout / ".pre-commit-config.yaml")["repos"]
    [ruff] = [repository for repository in repositories if repository["repo"].endswith("ruff-pre-commit")]
    assert ruff["rev"] == f"v{pins(checkout)['ruff']}"

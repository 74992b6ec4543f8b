"""The folder of a report: what is finished stays, and nothing else is touched."""

import json

import pytest

from bench.reproduce.tiny import tiny_experiment
from napari_celis.bench.reproduce import accuracy, networks, pruning
from napari_celis.bench.reproduce.identity import settings_of
from napari_celis.bench.reproduce.run import ReproduceError, Results, Settings, reproduce, require_own
from napari_celis.bench.reproduce.section import Finding, Paragraph, Section
from napari_celis.io.locks import locked
from napari_celis.io.samples import bundled_models

SETTINGS = Settings({"judged": "a <volume> & more"}, "digest")
TIMES = {"took", "seconds", "fit_seconds"}


def counting_section(name, calls, *, fails=False):
    """A section whose number is its name, which counts how often it was measured."""

    def measure(experiment, report):
        calls.append(name)
        report("half", 0.5)
        if fails:
            raise KeyboardInterrupt
        return {"name": name}

    return Section(
        name, name.title(), "Figure 0", measure,
        lambda numbers: [Paragraph(numbers["name"])], lambda numbers: [Finding(name, "1", "2")],
    )  # fmt: skip


def timeless(values):
    """Drop what no two runs have in common."""
    if isinstance(values, dict):
        return {key: timeless(value) for key, value in values.items() if key not in TIMES}
    return [timeless(value) for value in values] if isinstance(values, list) else values


def numbers_of(folder):
    return timeless(json.loads((folder / "numbers.json").read_text()))


def test_what_is_finished_is_not_measured_again(tmp_path):
    calls, stages = [], []
    sections = [counting_section("one", calls), counting_section("two", calls, fails=True)]
    results = Results(tmp_path / "out", SETTINGS)
    with pytest.raises(KeyboardInterrupt), results.opened():
        reproduce(None, results, sections, lambda stage, share: stages.append((stage, share)))
    assert stages == [("One: half", 0.5), ("Two: half", 0.5)]
    sections[1] = counting_section("two", calls)
    with results.opened():
        reproduce(None, results, sections)
        results.write(sections, "celis reproduce")
    assert calls == ["one", "two", "two"]
    found = numbers_of(tmp_path / "out")
    assert {name: one["numbers"] for name, one in found["sections"].items()} == {
        "one": {"name": "one"},
        "two": {"name": "two"},
    }
    assert found["about"]["command"] == "celis reproduce"
    assert {"napari-celis", "Python", "torch"} <= set(found["about"]["environment"])
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "settings.json", "numbers.json", "report.html", "sections",
    }  # fmt: skip


def test_an_interrupted_run_ends_with_the_same_numbers(tmp_path, experiment):
    sections = [networks.SECTION, pruning.SECTION, accuracy.SECTION]
    settings = settings_of(experiment, bundled_models()["phantom"], {})

    def stop(stage, share):
        if stage.startswith("Accuracy") and share > 0:
            raise KeyboardInterrupt

    for name, stops in (("whole", False), ("broken", True)):
        results = Results(tmp_path / name, settings)
        if stops:
            with pytest.raises(KeyboardInterrupt), results.opened():
                reproduce(experiment, results, sections, stop)
            assert {path.stem for path in (tmp_path / name / "sections").iterdir()} == {"networks", "pruning"}
        with results.opened():
            reproduce(experiment, results, sections)
            results.write(sections, "celis reproduce")
    assert numbers_of(tmp_path / "whole") == numbers_of(tmp_path / "broken")


def test_other_settings_are_refused_or_start_again(tmp_path):
    calls, folder = [], tmp_path / "out"
    sections = [counting_section("one", calls)]
    results, other = (Results(folder, Settings({}, digest)) for digest in ("a", "b"))
    with results.opened():
        reproduce(None, results, sections)
    (folder / "notes.txt").write_text("mine")
    with pytest.raises(ReproduceError, match="--restart"), other.opened():
        pass
    with other.opened(restart=True):
        reproduce(None, other, sections)
    assert calls == ["one", "one"]
    assert (folder / "notes.txt").read_text() == "mine"
    with pytest.raises(ReproduceError, match="other volumes"), results.opened():
        pass


def test_settings_tell_volumes_seeds_and_models_apart(experiment, tmp_path):
    model = bundled_models()["phantom"]
    own = settings_of(experiment, model, {})
    assert own == settings_of(tiny_experiment(), model, {})
    other_model = tmp_path / "other.safetensors"
    other_model.write_bytes(model.read_bytes() + b" ")
    others = [settings_of(tiny_experiment(seed=1), model, {}), settings_of(experiment, other_model, {})]
    turned = tiny_experiment()
    turned.choices = turned.choices[::-1]
    others.append(settings_of(turned, model, {}))
    assert len({own.digest, *(one.digest for one in others)}) == 4


def test_a_folder_with_something_else_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(ReproduceError, match="something else"):
        require_own(tmp_path)
    with (
        pytest.raises(ReproduceError, match="something else"),
        Results(tmp_path, SETTINGS).opened(restart=True),
    ):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_two_at_once_are_refused(tmp_path):
    results = Results(tmp_path / "out", SETTINGS)
    with results.opened():
        pass
    with (
        locked(tmp_path / "out" / "settings.json"),
        pytest.raises(ReproduceError, match="another celis reproduce"),
        results.opened(),
    ):
        pass


def test_a_damaged_section_is_explained(tmp_path):
    calls = []
    sections = [counting_section("one", calls)]
    results = Results(tmp_path / "out", SETTINGS)
    with results.opened():
        reproduce(None, results, sections)
    (tmp_path / "out/sections/one.json").write_text("{")
    with pytest.raises(ReproduceError, match=r"one\.json is damaged"), results.opened():
        reproduce(None, results, sections)

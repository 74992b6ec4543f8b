"""The programs of benchmarks/accuracy, on a phantom as small as it may be."""

import json
import re
import subprocess
import sys

import h5py
import numpy as np
import pytest

from models.small import cut_into_pieces
from napari_celis.models.model_file import load_model
from napari_celis.synthetic.phantom import PhantomSettings, make_phantom


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A phantom in the CREMI layout, its true objects cut along a grid."""
    folder = tmp_path_factory.mktemp("accuracy")
    phantom = make_phantom(PhantomSettings(shape_zyx=(80, 56, 56), seed=3))
    with h5py.File(folder / "phantom.h5", "w") as file:
        for name, data in (
            ("volumes/raw", phantom.image),
            ("volumes/labels/neuron_ids", phantom.truth),
            ("volumes/labels/supervoxels", cut_into_pieces(phantom.truth)),
        ):
            file[name] = data
            file[name].attrs["resolution"] = (10.0, 10.0, 10.0)
    return folder


@pytest.fixture(scope="module")
def program(checkout, folder):
    """Run one of the programs and return what it printed."""

    def run(name, *arguments):
        command = [sys.executable, checkout / "benchmarks/accuracy" / name, *map(str, arguments)]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=500)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.fixture(scope="module")
def results(folder, program):
    """Train one fold for a few seconds and judge every method on it."""
    path = folder / "results.jsonl"
    for _ in range(2):
        program(
            "run.py", folder / "phantom.h5", "--work", folder / "work", "--folds", "z-low", "--seeds", 0,
            "--minutes", 0.1, "--results", path,
        )  # fmt: skip
    return path


def test_what_is_done_is_not_done_again(results):
    everything = [json.loads(line) for line in results.read_text().splitlines()]
    for kind in ("given", "own"):
        rows = {row["method"]: row for row in everything if row["supervoxels"] == kind}
        assert {"none", "mean_affinity", "forest", "celis_energy", "celis_learned", "oracle"} <= set(rows)
        assert min(row["vi"] for row in rows.values()) == rows["oracle"]["vi"]
        assert all(row["best"][0] <= row["vi"] + 1e-9 for row in rows.values())
        for method in ("mean_affinity", "celis_learned"):
            figures = rows[method]["contacts"]
            assert 0 <= figures["auc"] <= 1
            assert 0 <= figures["calibration"] <= 1
            assert figures["log_loss"] > 0
    assert len({(row["method"], row["supervoxels"]) for row in everything}) == len(everything)


def test_the_table_holds_the_figures(results, program):
    printed = program("table.py", results, "--minutes", 0.1)
    printed += program("table.py", results, "--minutes", 0.1, "--supervoxels", "own")
    for row in map(json.loads, results.read_text().splitlines()):
        figures = f"{row['vi']:.3f} / {row['ignore_boundary']['vi']:.3f}"
        assert re.search(rf"\| {re.escape(figures)} .*\| {row['rand_f1']:.3f} \|", printed)
    assert "oracle: " in printed


def test_the_table_counts_runs_and_tells_contacts(folder, program):
    lines = []
    for seed, errors in enumerate([(1.0, 1.1, 0.9), (1.0, 0.8, 0.9), (1.0, 1.2, 1.1)]):
        for method, vi in zip(
            ("mean_affinity", "forest", "celis_learned", "celis_energy"), (*errors, 2.0), strict=True
        ):
            row = {"fold": "z-low", "seed": seed, "minutes": 1.0, "note": "", "method": method, "vi": vi}
            row |= {
                "ignore_boundary": {"vi": vi},
                "rand_f1": 0.5,
                "seconds": 1.0,
                "best": [vi - 0.1, vi - 0.2],
            }
            if method == "mean_affinity":
                row["contacts"] = {"auc": 0.9 + 0.01 * seed, "log_loss": 0.2, "calibration": 0.03}
            lines.append(json.dumps(row))
    path = folder / "three-seeds.jsonl"
    path.write_text("\n".join(reversed(lines)))
    printed = program("table.py", path, "--minutes", 1)
    assert (
        "learned policy of 3 runs lower than mean affinity in 2, forest (after GALA) in 2, the first two in 1"
        in printed
    )
    assert (
        "energy of 3 runs lower than mean affinity in 0, forest (after GALA) in 0, the first two in 0"
        in printed
    )
    assert (
        "threshold of each slab: mean affinity 0.900 / 0.800, forest (after GALA) 1.000 / 0.900," in printed
    )
    assert "mean affinity, contacts: AUC 0.910 (0.900 to 0.920), log loss 0.200 (0.200 to 0.200)" in printed


def test_causes_add_up(results, folder, program):
    model = folder / "work/z-low-0-0.1.safetensors"
    printed = program("errors.py", folder / "phantom.h5", "z-low", model, "--picture", folder / "worst.png")
    sums = re.findall(r"VI ([\d.]+) = floor ([\d.-]+) \+ missed ([\d.-]+) \+ wrong ([\d.-]+)", printed)
    assert len(sums) == 2
    for whole, *parts in sums:
        assert float(whole) == pytest.approx(sum(map(float, parts)), abs=2e-3)
    assert (folder / "worst.png").stat().st_size > 1000


@pytest.mark.parametrize("name", ["z-low", "z-high", "y-low", "y-high"])
def test_a_judged_slab_is_apart_from_what_was_learned(checkout, folder, name, monkeypatch):
    monkeypatch.syspath_prepend(checkout / "benchmarks/accuracy")
    from folds import GAP, AnnotatedVolume

    volume = AnnotatedVolume.read(folder / "phantom.h5")
    axis = "zyx".index(name[0])
    place = np.arange(volume.whole.image.shape[axis])
    numbered = np.broadcast_to(
        place.reshape([-1 if other == axis else 1 for other in range(3)]), volume.whole.image.shape
    )
    volume.whole.image[:] = numbered
    learned, judged = (np.unique(block.image) for block in volume.fold(name))
    assert np.abs(learned[:, None].astype(int) - judged.astype(int)).min() == GAP + 1
    assert len(learned) + len(judged) + GAP == len(place)


@pytest.fixture
def unsure(checkout, monkeypatch, one_thread):
    """The learning curve, with one box and one phantom of each kind."""
    monkeypatch.syspath_prepend(checkout / "benchmarks/accuracy")
    import phantoms
    import unsure

    for module in (phantoms, unsure):
        monkeypatch.setattr(module, "NAMES", ("pairwise3",))
        monkeypatch.setattr(module, "SPECS", {"pairwise3": phantoms.SPECS["pairwise3"]})
    monkeypatch.setattr(unsure, "POLICIES", {"contact": (), "box 3": ("pairwise3",)})
    monkeypatch.setattr(unsure, "RUNS", {"box 3": ("pairwise3",)})
    monkeypatch.setattr(unsure, "FITTED", (42,))
    monkeypatch.setattr(unsure, "JUDGED", (45,))
    return unsure


def test_the_learning_curve_judges_contacts_and_whole_runs(unsure, checkout, tmp_path):
    model = load_model(checkout / "sample_data/models/phantom.safetensors")
    phantoms = unsure.Phantoms(model, tmp_path, (32, 48, 48), 2000, 2)
    networks = {"pairwise3": phantoms.energies("pairwise3", 1, 0)}
    told = {row["policy"]: row for row in unsure.contact_rows(phantoms, networks, 0)}
    assert {"mean affinity", "energy of pairwise3 alone", "box 3, second forest"} <= set(told)
    assert all(0 <= row["auc"] <= 1 for row in told.values())
    problems = phantoms.stacked((42,)), phantoms.stacked((45,))
    runs = {row["method"]: row["vi"] for row in unsure.run_rows(phantoms, networks, 0, *problems)}
    assert {"mean_affinity", "forest", "energy, box 3", "learned, box 3"} <= set(runs)
    assert min(runs.values()) == runs["oracle"] < runs["none"]


def test_phantoms_in_a_stack_do_not_touch(unsure, checkout, tmp_path):
    model = load_model(checkout / "sample_data/models/phantom.safetensors")
    phantoms = unsure.Phantoms(model, tmp_path, (24, 40, 40), 0, 0)
    both, *single = (phantoms.stacked(seeds) for seeds in ((42, 45), (42,), (45,)))
    assert len(both.actions) == sum(len(one.actions) for one in single)
    assert both.supervoxels.n == sum(one.supervoxels.n for one in single)
    for name in ("truth", "affinities"):
        whole, first, last = (getattr(one, name) for one in (both, *single))
        np.testing.assert_array_equal(whole[..., :24, :, :] > 0, first > 0)
        np.testing.assert_array_equal(whole[..., -24:, :, :] > 0, last > 0)
        assert not whole[..., 24:-24, :, :].any()

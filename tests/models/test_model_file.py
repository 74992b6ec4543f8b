"""A model file comes back as it was, and anything else is refused in words."""

import contextlib
import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from models.small import small_forest
from napari_celis.core.contact_features import DECISIVE, N_CONTACT_FEATURES
from napari_celis.core.descriptors import paper_specs
from napari_celis.core.errors import ModelError
from napari_celis.core.seeded_watershed import SeededSettings
from napari_celis.models.affinity import build_affinity_net
from napari_celis.models.affinity_base import AffinitySettings
from napari_celis.models.energy import EnergyNetwork, EnergySettings
from napari_celis.models.examples import MOST_STORED, PolicyRows
from napari_celis.models.features import LAYOUT_GRID, grid_offsets
from napari_celis.models.model_file import KEY, CelisModel, load_model, save_model
from napari_celis.models.policy import PolicyClassifier
from napari_celis.models.refit import Refit


def classifier(n):
    rng = np.random.default_rng(5)
    sums = rng.normal(size=n), rng.uniform(1, 2, n), rng.normal(size=n), rng.normal(size=1)
    return PolicyClassifier(*sums, small_forest(4))


def examples(n):
    rng = np.random.default_rng(6)
    return PolicyRows.of(rng.normal(size=(20, n)), rng.normal(size=20), rng.random(20) < 0.5, rng.random(20))


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    specs = paper_specs(seed=3, k=32, strides=(4, 4, 8))
    specs = (replace(specs[0], share=2.5), *specs[1:])
    return CelisModel(
        affinity=build_affinity_net(AffinitySettings(width=4, levels=1, n_features=8)),
        specs=specs,
        energies=tuple(
            EnergyNetwork(EnergySettings(spec.n_bits, len(grid_offsets(spec, LAYOUT_GRID)), hidden=8))
            for spec in specs
        ),
        voxel_size_nm=(10.0, 10.0, 10.0),
        thresholds={"energy": -1.25, "learned": 0.5},
        classifier=classifier(len(DECISIVE) + len(specs)),
        examples=examples(len(DECISIVE) + len(specs)),
        policy="learned",
        n_symmetries=4,
        supervoxels=SeededSettings(foreground=0.6, separation_nm=25.0),
        figures={"validation_auc": {"pairwise9": [0.5, 0.75]}},
        attribution="Nobody, CC0",
    )


@pytest.fixture
def path(model, tmp_path):
    return save_model(model, tmp_path / "model.safetensors")


def test_everything_comes_back(model, path):
    again = load_model(path)
    for old, new in zip(model.specs, again.specs, strict=True):
        for field in ("name", "kind", "box_zyx", "region_zyx", "stride_zyx", "share"):
            assert getattr(old, field) == getattr(new, field)
        np.testing.assert_array_equal(old.pairs, new.pairs)
    networks = [(m.affinity, *m.energies) for m in (model, again)]
    for old, new in zip(*networks, strict=True):
        for name, tensor in old.state_dict().items():
            torch.testing.assert_close(new.state_dict()[name], tensor)
    for old, new in zip(*(m.classifier.to_tensors().items() for m in (model, again)), strict=True):
        assert old[0] == new[0]
        torch.testing.assert_close(old[1], new[1], rtol=0, atol=0)
    for old, new in zip(*(m.examples.to_tensors().items() for m in (model, again)), strict=True):
        assert old[0] == new[0]
        torch.testing.assert_close(old[1], new[1], rtol=0, atol=0)
    assert (again.voxel_size_nm, again.threshold, again.policy) == ((10.0, 10.0, 10.0), 0.5, "learned")
    assert again.thresholds == model.thresholds
    assert again.policies == ("energy", "learned")
    assert again.figures == model.figures
    assert again.supervoxels == model.supervoxels
    assert (again.attribution, again.n_symmetries) == ("Nobody, CC0", 4)


def test_nothing_is_left_beside_it(path):
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def rewrite(path, change):
    """Write the file again with another description."""
    from safetensors import safe_open

    with safe_open(path, framework="pt") as file:
        described = json.loads(file.metadata()[KEY])
    change(described)
    save_file(load_file(path), path, metadata={KEY: json.dumps(described)})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.update(format=99), "Upgrade"),
        (lambda d: d.update(policy="magic"), "magic"),
        (lambda d: d.pop("thresholds"), "damaged"),
        (lambda d: d["thresholds"].pop("learned"), "learned"),
        (lambda d: d.update(format=2), "Train the model again"),
        (lambda d: d.update(has_classifier=False), "learned"),
        (lambda d: d["specs"][0].update(name="other"), "damaged"),
        (lambda d: d["specs"][0].update(box_zyx=[3, 3, 3]), "outside the box"),
        (lambda d: d["specs"][0]["energy"].update(hidden=9), "damaged"),
        (lambda d: d["affinity"].update(preset="resnet"), "resnet"),
        (lambda d: d["supervoxels"].update(foreground=2.0), "`foreground` must be"),
        (lambda d: d["supervoxels"].update(reach_nm="far"), "damaged"),
        (lambda d: d["supervoxels"].update(magic=1.0), "damaged"),
        (lambda d: d.update(supervoxels=None), "damaged"),
    ],
)
def test_descriptions_that_do_not_fit(path, change, message):
    rewrite(path, change)
    with pytest.raises(ModelError, match=message):
        load_model(path)


def change_tensors(path, change):
    """Write the file again with other tensors."""
    from safetensors import safe_open

    with safe_open(path, framework="pt") as file:
        metadata = file.metadata()
    tensors = load_file(path)
    change(tensors)
    save_file(tensors, path, metadata=metadata)


def of_format_5(tensors):
    for name in [name for name in tensors if name.startswith("examples.")]:
        del tensors[name]
    del tensors["policy.shares"]


def test_files_from_before_answers_were_learned_from(model, path):
    rewrite(path, lambda d: d.update(format=5) or d.pop("has_examples"))
    change_tensors(path, of_format_5)
    again = load_model(path)
    assert again.examples is None
    np.testing.assert_array_equal(again.classifier.shares, [0.5, 0.5])
    assert isinstance(again.learner(), Refit)


@pytest.mark.parametrize(
    ("name", "tensor", "message"),
    [
        ("examples.features", torch.zeros(20, 3).half(), "another number of features"),
        ("examples.features", torch.zeros(19, 11).half(), "numbers of rows differ"),
        ("examples.odds", torch.full((20,), float("nan")).half(), "NaN"),
        ("examples.is_wrong", torch.full((20,), 2, dtype=torch.uint8), "neither right nor wrong"),
        ("examples.is_wrong", torch.zeros(20), "neither right nor wrong"),
        ("examples.weights", torch.full((20,), -1.0).half(), "below 0"),
        ("examples.weights", None, "damaged"),
        ("policy.shares", torch.tensor([0.5, -0.5]), "less than nothing"),
        ("policy.shares", torch.zeros(3), "do not fit together"),
    ],
)
def test_examples_that_cannot_be_are_refused(path, name, tensor, message):
    change_tensors(path, lambda t: t.pop(name) if tensor is None else t.update({name: tensor}))
    with pytest.raises(ModelError, match=message):
        load_model(path)


def test_more_examples_than_there_can_be(path):
    n = MOST_STORED + 1

    def grow(tensors):
        for name in ("features", "odds", "is_wrong", "weights"):
            old = tensors[f"examples.{name}"]
            tensors[f"examples.{name}"] = torch.ones((n, *old.shape[1:]), dtype=old.dtype)

    change_tensors(path, grow)
    with pytest.raises(ModelError, match="but there are 1 to"):
        load_model(path)


def test_files_from_before_the_settings_of_supervoxels(path):
    rewrite(path, lambda d: d.pop("supervoxels"))
    assert load_model(path).supervoxels == SeededSettings()


def test_a_policy_that_looks_at_other_features(model, tmp_path):
    other = replace(model, classifier=classifier(3))
    with pytest.raises(ModelError, match="looks at 3 features of actions"):
        load_model(save_model(other, tmp_path / "other.safetensors"))


def test_a_policy_without_a_scale():
    with pytest.raises(ModelError, match="without a scale"):
        PolicyClassifier(np.zeros(2), np.array([1.0, 0.0]), np.zeros(2), np.zeros(1), small_forest(2))
    with pytest.raises(ModelError, match="fit together"):
        PolicyClassifier(np.zeros(2), np.ones(3), np.zeros(2), np.zeros(1), small_forest(2))


def test_a_forest_that_looks_beyond_the_features(model, tmp_path):
    for n, is_known in ((N_CONTACT_FEATURES, True), (N_CONTACT_FEATURES + 1, False)):
        other = replace(model, classifier=replace(model.classifier, forest=small_forest(n)))
        saved = save_model(other, tmp_path / "other.safetensors")
        if is_known:
            assert load_model(saved).classifier.forest.n_features == n
        else:
            with pytest.raises(ModelError, match=f"and {n} of contacts"):
                load_model(saved)


def test_truncated_and_foreign_files(path, tmp_path):
    data = path.read_bytes()
    for n in (0, 7, 100, len(data) // 2, len(data) - 1):
        path.write_bytes(data[:n])
        with pytest.raises(ModelError, match="damaged or not"):
            load_model(path)
    foreign = tmp_path / "foreign.safetensors"
    save_file({"a": torch.zeros(2)}, foreign)
    with pytest.raises(ModelError, match="not a model of napari-celis"):
        load_model(foreign)
    with pytest.raises(ModelError, match="no model file"):
        load_model(tmp_path / "missing.safetensors")


def test_flipped_bytes_never_end_in_a_traceback(path):
    data = path.read_bytes()
    rng = np.random.default_rng(0)
    for _ in range(150):
        damaged = bytearray(data)
        for place in rng.integers(0, 3000, size=3):
            damaged[place] = int(rng.integers(256))
        path.write_bytes(bytes(damaged))
        with contextlib.suppress(ModelError):
            load_model(path)


def test_what_cannot_be_written_is_said_and_leaves_what_was_there(model, path):
    with pytest.raises(ModelError, match="cannot be written"):
        save_model(model, path.parent / "nowhere" / "model.safetensors")
    folder = path.parent / "folder"
    folder.mkdir()
    with pytest.raises(ModelError, match="cannot be written"):
        save_model(model, folder)
    assert sorted(entry.name for entry in path.parent.iterdir()) == ["folder", "model.safetensors"]

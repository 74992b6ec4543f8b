"""The models that come with the package can be used as they are."""

import pytest

from napari_celis.models.model_file import load_model

NAMES = ("fibsem-medulla", "phantom")
MOST_BYTES = 12_000_000


@pytest.fixture(scope="module")
def folder(checkout):
    return checkout / "sample_data" / "models"


def test_there_are_two_and_they_are_small(folder):
    files = sorted(folder.iterdir())
    assert [path.name for path in files] == [f"{name}.safetensors" for name in NAMES]
    assert sum(path.stat().st_size for path in files) <= MOST_BYTES


@pytest.mark.parametrize("name", NAMES)
def test_a_shipped_model_is_whole(folder, name):
    model = load_model(folder / f"{name}.safetensors")
    assert model.attribution.strip()
    assert model.policy == "learned"
    assert model.policies == ("energy", "learned")
    assert set(model.thresholds) == {"energy", "learned"}
    assert len(model.energies) == len(model.specs) > 0
    assert {spec.name for spec in model.specs} == set(model.figures["centre_auc"])
    assert model.voxel_size_nm == (10.0, 10.0, 10.0)


def test_the_attribution_names_the_source_and_the_licence(folder):
    attribution = load_model(folder / "fibsem-medulla.safetensors").attribution
    for part in ("FlyEM", "CC-BY", "Takemura"):
        assert part in attribution

"""The factorised evaluation equals the plain network."""

import numpy as np
import pytest
import torch

from napari_celis.core.descriptors import sample_spec
from napari_celis.core.regions import tile
from napari_celis.models.energy import EnergyNetwork, EnergySettings
from napari_celis.models.evaluator import CACHED_ROWS, NetworkEnergy
from napari_celis.models.features import CentreFeatures, interior_probability, line, pair_evidence


@pytest.fixture(params=[True, False], ids=["evidence", "no evidence"])
def energy(request):
    torch.manual_seed(1)
    rng = np.random.default_rng(1)
    features = rng.normal(size=(40, 6)).astype(np.float32) * 3 + 1
    network = EnergyNetwork(EnergySettings(n_bits=70, n_features=6, hidden=16, has_evidence=request.param))
    network.set_feature_scale(torch.from_numpy(features))
    evidence = rng.integers(256, size=(40, 70), dtype=np.uint8)
    return NetworkEnergy([network], [CentreFeatures(features, evidence)])


def some_rows(n_rows, n_centres=40):
    rng = np.random.default_rng(2)
    centres = np.sort(rng.integers(n_centres, size=n_rows)).astype(np.int32)
    bits = rng.integers(2**63, size=(n_rows, 2), dtype=np.uint64)
    bits[:, 1] &= np.uint64(63)
    return centres, bits


@pytest.mark.parametrize("n_rows", [1, 7, 500, CACHED_ROWS + 3])
def test_factorised_equals_plain(energy, n_rows):
    centres, bits = some_rows(n_rows)
    with torch.inference_mode():
        plain = energy.dense(0, centres, bits)
    np.testing.assert_allclose(energy.energies(0, centres, bits), plain, rtol=1e-5, atol=1e-6)


def test_no_rows_are_no_energies(energy):
    assert energy.energies(0, np.empty(0, np.int32), np.empty((0, 2), np.uint64)).shape == (0,)


def test_torch_keeps_its_threads(energy):
    before = torch.get_num_threads()
    energy.energies(0, *some_rows(5))
    assert torch.get_num_threads() == before


def test_the_paper_preset_has_the_published_size():
    from napari_celis.models.energy import preset_settings

    network = EnergyNetwork(preset_settings("paper", 512, 512))
    n_parameters = sum(parameter.numel() for parameter in network.parameters())
    assert n_parameters == (1024 + 1) * 2048 + (2048 + 1) * 2048 + (2048 + 1)


def test_the_same_row_gives_the_same_energy_in_any_company(energy):
    centres, bits = some_rows(300)
    together = energy.energies(0, centres, bits)
    alone = np.concatenate([energy.energies(0, centres[[i]], bits[[i]]) for i in range(300)])
    np.testing.assert_allclose(alone, together, rtol=1e-9)


@pytest.mark.parametrize("hidden", [128, 256, 512])
def test_few_rows_give_the_energies_of_many(hidden):
    """Products of a few rows take another way on some processors; widths are those of real networks."""
    torch.manual_seed(1)
    rng = np.random.default_rng(1)
    features = rng.normal(size=(40, 6)).astype(np.float32)
    evidence = rng.integers(256, size=(40, 70), dtype=np.uint8)
    network = EnergyNetwork(EnergySettings(n_bits=70, n_features=6, hidden=hidden))
    energy = NetworkEnergy([network], [CentreFeatures(features, evidence)])
    centres, bits = some_rows(300)
    together = energy.energies(0, centres, bits)
    for n in range(1, 41):
        few = energy.energies(0, centres[:n], bits[:n])
        np.testing.assert_allclose(few, together[:n], rtol=1e-12, err_msg=f"{n} rows")


@pytest.mark.kernels
def test_evidence_is_the_lowest_interior_probability_on_the_way():
    rng = np.random.default_rng(5)
    interior = interior_probability(rng.random((3, 12, 13, 14)).astype(np.float32) ** 0.2)
    spec = sample_spec("one", "pairwise", (5, 7, 9), rng=rng, k=40)
    centres = tile(interior.shape, spec).centres
    found = pair_evidence(interior, centres, spec)
    for c in range(0, len(centres), 37):
        for k, (first, second) in enumerate(spec.pairs):
            voxels = centres[c] + line(first, second)
            assert found[c, k] == min(round(float(interior[tuple(p)]) * 255) for p in voxels)


def test_a_line_has_both_ends_and_no_gaps():
    points = line(np.array([-2, 3, 0]), np.array([4, -1, 1]))
    assert points[0].tolist() == [-2, 3, 0]
    assert points[-1].tolist() == [4, -1, 1]
    assert (np.abs(np.diff(points, axis=0)).max(axis=1) == 1).all()

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from napari_celis.core.errors import ModelError
from napari_celis.models.affinity import affinity_settings, build_affinity_net, from_tensors, to_tensors
from napari_celis.models.affinity_base import AffinitySettings
from napari_celis.models.affinity_unet import from_cells, pooling_factors, to_cells
from napari_celis.models.device import available_devices, choose_device
from reference import affinity as reference

pytestmark = pytest.mark.usefixtures("one_thread")

SMALL = AffinitySettings(width=4, n_features=5, long_range=((-3, 0, 0),))
SERIAL = (40.0, 4.0, 4.0)


def random_image(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).standard_normal((1, 1, *shape), dtype=np.float32))


@pytest.fixture(scope="module")
def paper():
    net = build_affinity_net(affinity_settings("paper")).eval()
    # Fresh biases are zero, which would hide one that is added twice.
    with torch.no_grad():
        for name, parameter in net.named_parameters():
            if name.endswith("bias"):
                parameter.copy_(torch.linspace(-0.3, 0.3, len(parameter)))
    return net


def test_paper_network_has_the_parameters_of_the_table(paper):
    counts = {name: sum(p.numel() for p in layer.parameters()) for name, layer in paper.named_children()}
    assert counts == {
        "convolution1": 64 * (5**2 + 1),
        "convolution2": 64 * (64 * 5**3 + 1),
        "convolution3": 64 * (64 * 5**3 + 1),
        "hidden": 512 * (64 * 5**2 + 1),
        "output": 3 * (512 + 1),
    }


def test_paper_features_of_a_patch_follow_the_table(paper):
    patch = random_image(9, 35, 35).double()
    double = from_tensors(*to_tensors(paper)).double()
    tensors, _ = to_tensors(double)
    with torch.no_grad():
        features = double.patch_features(patch)[0].numpy()
    assert_allclose(features, reference.paper_features(tensors, patch[0, 0].numpy()), atol=1e-10)


def test_dense_evaluation_equals_patch_by_patch(paper):
    image = random_image(10, 37, 37)
    with torch.no_grad():
        dense = torch.sigmoid(paper(image))[0]
        features = paper.features(image)[0]
        assert dense.shape == (3, 2, 3, 3)
        for z, y, x in np.ndindex(2, 3, 3):
            patch = image[:, :, z : z + 9, y : y + 35, x : x + 35]
            own = paper.patch_features(patch)[0]
            assert_allclose(features[:, z, y, x], own, atol=1e-5 * float(features.max()))
            assert_allclose(dense[:, z, y, x], torch.sigmoid(paper.patch_logits(patch))[0], atol=1e-5)


def test_dropout_acts_in_training_only(paper):
    image = random_image(9, 35, 35)
    with torch.no_grad():
        still = paper.features(image)
        assert torch.equal(still, paper.features(image))
        paper.train()
        share_dropped = (paper.features(image) == 0).float().mean() - (still == 0).float().mean()
        paper.eval()
    assert 0.1 < share_dropped < 0.4


def test_pooling_goes_towards_isotropic_voxels():
    assert pooling_factors((10, 10, 10), 2) == [(2, 2, 2), (2, 2, 2)]
    assert pooling_factors(SERIAL, 4) == [(1, 2, 2), (1, 2, 2), (1, 2, 2), (2, 2, 2)]
    assert pooling_factors((8, 4, 4), 2) == [(1, 2, 2), (2, 2, 2)]


@pytest.mark.parametrize("voxel_size", [(1.0, 1.0, 1.0), SERIAL])
@pytest.mark.parametrize("levels", [1, 2, 3])
def test_halo_is_as_far_as_an_output_looks(voxel_size, levels):
    net = build_affinity_net(replace(SMALL, voxel_size_nm=voxel_size, levels=levels, width=2)).eval()
    size = [2 * halo + 2 * grid for halo, grid in zip(net.halo_zyx, net.grid_zyx, strict=True)]
    shape = [1 if levels == 3 and axis else n for axis, n in enumerate(size)]
    shape = [max(n, grid) for n, grid in zip(shape, net.grid_zyx, strict=True)]
    image = random_image(*shape).requires_grad_()
    # The voxels at both ends of the middle cell look furthest.
    cell = [n // 2 // grid * grid for n, grid in zip(shape, net.grid_zyx, strict=True)]
    corner = tuple(slice(c, c + grid) for c, grid in zip(cell, net.grid_zyx, strict=True))
    net(image)[(0, slice(None), *corner)].square().sum().backward()
    for axis in range(3):
        seen = torch.nonzero(image.grad[0, 0].abs().amax(dim=[a for a in range(3) if a != axis]))
        assert cell[axis] - int(seen.min()) <= net.halo_zyx[axis]
        assert int(seen.max()) - cell[axis] < net.halo_zyx[axis] + net.grid_zyx[axis]


def test_cells_come_back_as_voxels():
    voxels = torch.arange(2 * 4 * 6 * 4 * 3).reshape(2, 4, 6, 4, 3)
    assert torch.equal(from_cells(to_cells(voxels, (1, 2, 2)), (1, 2, 2)), voxels)
    assert to_cells(voxels, (2, 2, 2))[0, 0, 0, 0, :6].tolist() == [*range(6)]


@pytest.mark.parametrize(
    ("settings", "shape", "core"),
    [
        (SMALL, (8, 12, 8), (slice(4, 8), slice(0, 8), slice(4, 8))),
        (affinity_settings("paper"), (11, 39, 40), (slice(1, 3), slice(2, 5), slice(0, 4))),
    ],
)
def test_neighbours_in_a_part_are_those_of_the_whole(settings, shape, core):
    net = build_affinity_net(settings).eval()
    image = random_image(*shape)
    with torch.no_grad():
        whole = net(image)
        part = net.neighbour_logits(image, core)
    assert part.shape == (1, 3, *(own.stop - own.start for own in core))
    assert_allclose(part, whole[(slice(None), slice(3), *core)], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("settings", [SMALL, affinity_settings("unet", SERIAL), affinity_settings("paper")])
def test_a_network_survives_being_taken_apart(settings):
    net = build_affinity_net(settings, seed=3).eval()
    tensors, described = to_tensors(net)
    again = from_tensors(tensors, json.loads(json.dumps(described)))
    assert again.settings == settings
    assert not again.training
    image = random_image(9, 36, 36)[..., :8, :, :] if settings.preset == "unet" else random_image(9, 35, 35)
    with torch.no_grad():
        assert torch.equal(net(image), again(image))


def test_damaged_tensors_are_refused():
    tensors, described = to_tensors(build_affinity_net(SMALL))
    name = "output.weight"
    with pytest.raises(ModelError, match=name):
        from_tensors({key: value for key, value in tensors.items() if key != name}, described)
    with pytest.raises(ModelError, match=name):
        from_tensors({**tensors, name: tensors[name][:1]}, described)
    with pytest.raises(ModelError, match="surprise"):
        from_tensors(tensors, {**described, "surprise": 1})
    with pytest.raises(ModelError, match="damaged"):
        from_tensors(tensors, {**described, "intensity": None})
    with pytest.raises(ModelError, match="resnet"):
        from_tensors(tensors, {**described, "preset": "resnet"})


def test_bad_settings_are_refused():
    with pytest.raises(ModelError, match="at least one level"):
        build_affinity_net(replace(SMALL, levels=0))
    with pytest.raises(ModelError, match="positive"):
        build_affinity_net(replace(SMALL, intensity=(0.0, 0.0)))
    with pytest.raises(ModelError, match="unet"):
        build_affinity_net(replace(affinity_settings("paper"), long_range=((-3, 0, 0),)))


def test_seed_decides_the_weights_and_nothing_else_changes():
    torch.manual_seed(1)
    expected = torch.rand(1)
    torch.manual_seed(1)
    one, two, other = (build_affinity_net(SMALL, seed=seed) for seed in (5, 5, 6))
    assert torch.equal(torch.rand(1), expected)
    assert torch.equal(one.output.weight, two.output.weight)
    assert not torch.equal(one.output.weight, other.output.weight)


def test_long_range_offsets_follow_the_voxel_size():
    assert affinity_settings("unet", (8, 8, 8)).long_range == (
        (-3, 0, 0), (0, -3, 0), (0, 0, -3), (-9, 0, 0), (0, -9, 0), (0, 0, -9),
    )  # fmt: skip
    assert affinity_settings("unet", SERIAL).long_range == ((0, -3, 0), (0, 0, -3), (0, -9, 0), (0, 0, -9))


def test_devices():
    assert choose_device("cpu").type == "cpu"
    assert choose_device().type == available_devices()[0]
    with pytest.raises(ModelError, match="not a device"):
        choose_device("abacus")
    with pytest.raises(ModelError, match="not there"):
        choose_device("cuda:99")

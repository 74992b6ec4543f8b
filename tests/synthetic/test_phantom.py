import hashlib
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import ndimage

from napari_celis.synthetic import fields as fields
from napari_celis.synthetic import kernels
from napari_celis.synthetic.labels import one_piece_per_id
from napari_celis.synthetic.phantom import PhantomError, PhantomSettings, make_phantom
from napari_celis.synthetic.space import Grid
from reference import phantom as reference

SMALL = PhantomSettings(shape_zyx=(24, 32, 40), seed=5)
FINGERPRINT = "f580a8e4d6dd92c9"


@pytest.fixture(scope="module")
def phantom():
    return make_phantom(PhantomSettings(shape_zyx=(48, 80, 80), seed=1))


@pytest.fixture(scope="module")
def flat_phantom():
    return make_phantom(PhantomSettings(shape_zyx=(32, 192, 192), voxel_size_nm=(40.0, 5.0, 5.0), seed=1))


def fingerprint(made):
    parts = (made.image, made.truth, made.necks.ends_zyx)
    return hashlib.sha256(b"".join(part.astype("<u8").tobytes() for part in parts)).hexdigest()[:16]


def boundary_distance(truth):
    """Voxels between each voxel and the nearest face between two objects."""
    inside = np.ones(truth.shape, dtype=bool)
    for axis in range(3):
        along, mark = np.moveaxis(truth, axis, 0), np.moveaxis(inside, axis, 0)
        differs = along[1:] != along[:-1]
        mark[1:][differs] = mark[:-1][differs] = False
    return ndimage.distance_transform_edt(inside)


def test_same_bits_on_every_machine():
    # A new fingerprint means that every phantom made so far, and the sample, has to be made again.
    assert fingerprint(make_phantom(SMALL)) == FINGERPRINT
    assert fingerprint(make_phantom(SMALL)) == FINGERPRINT


def test_seed_changes_everything():
    one, other = make_phantom(SMALL), make_phantom(replace(SMALL, seed=6))
    assert (one.truth != other.truth).mean() > 0.2
    assert (one.image != other.image).mean() > 0.5


def test_look_leaves_shapes_alone():
    plain, noisy = make_phantom(SMALL), make_phantom(replace(SMALL, noise_grey=20.0, gap_share=0.3))
    assert_array_equal(plain.truth, noisy.truth)
    assert noisy.image.std() > plain.image.std()


@pytest.mark.parametrize("which", ["phantom", "flat_phantom"])
def test_truth_is_dense_and_every_object_is_one_piece(which, request):
    truth = request.getfixturevalue(which).truth
    assert truth.dtype == np.uint64
    ids = np.unique(truth)
    assert_array_equal(ids, np.arange(1, len(ids) + 1))
    assert reference.connected_pieces(truth).max() == len(ids)


def test_space_is_packed_with_objects_of_many_sizes(phantom):
    sizes = np.bincount(phantom.truth.ravel().astype(np.int64))[1:]
    assert len(sizes) > 20
    assert sizes.max() < 0.5 * phantom.truth.size
    assert np.percentile(sizes, 90) > 10 * np.percentile(sizes, 10)
    # Nothing is far from a membrane: there are no large empty areas.
    assert boundary_distance(phantom.truth).max() < 30


@pytest.mark.parametrize("which", ["phantom", "flat_phantom"])
def test_membranes_are_dark(which, request):
    made = request.getfixturevalue(which)
    assert made.image.dtype == np.uint8
    assert made.image.shape == made.truth.shape
    in_plane = np.stack([boundary_distance(section[None])[0] for section in made.truth])
    membrane, interior = made.image[in_plane == 0], made.image[(in_plane > 4) & (in_plane < 8)]
    assert np.median(membrane) < 105
    assert np.median(interior) > np.median(membrane) + 25
    # Gaps: some membrane looks like cytoplasm.
    assert np.percentile(membrane, 99) > np.percentile(interior, 25)


def test_gaps_can_be_turned_off():
    whole, open_ = (make_phantom(replace(SMALL, gap_share=share, noise_grey=0.0)) for share in (0.0, 0.5))
    edge = boundary_distance(whole.truth) == 0
    assert open_.image[edge].mean() > whole.image[edge].mean() + 10


@pytest.mark.parametrize("which", ["phantom", "flat_phantom"])
def test_necks_are_thin_and_hold_their_heads(which, request):
    made = request.getfixturevalue(which)
    necks = made.necks
    assert len(necks) >= 3
    assert (necks.diameters_nm < 130).all()
    for row, record in enumerate(necks.as_records()):
        base, head = necks.ends_zyx[row]
        assert made.truth[tuple(base)] == made.truth[tuple(head)] == necks.object_ids[row]
        assert record["head_zyx"] == head.tolist()


def test_erasing_a_neck_parts_base_and_head(phantom):
    necks = phantom.necks
    for row in range(len(necks)):
        ends = necks.ends_zyx[row]
        low, high = np.maximum(ends.min(axis=0) - 15, 0), ends.max(axis=0) + 16
        body = (phantom.truth == necks.object_ids[row])[tuple(map(slice, low, high))]
        around = np.ones(body.shape, dtype=bool)
        around[tuple(necks.positions_zyx[row] - low)] = False
        # A ball a little larger than the neck is wide is all that is erased.
        erased = necks.diameters_nm[row] / 20 + 3
        pieces, _ = ndimage.label(body & (ndimage.distance_transform_edt(around) > erased))
        base, head = (pieces[tuple(end - low)] for end in ends)
        assert base != head


def test_a_veil_makes_the_middle_of_a_neck_dark(phantom):
    settings = PhantomSettings(shape_zyx=(48, 80, 80), seed=1)
    clear = make_phantom(replace(settings, veil_darkness=(0.0, 0.0)))
    assert_array_equal(clear.truth, phantom.truth)
    middles = tuple(phantom.necks.positions_zyx.T)
    inside = boundary_distance(phantom.truth)[middles] > 1
    assert inside.any()
    darker = clear.image[middles].astype(int) - phantom.image[middles]
    assert np.median(darker[inside]) > 15
    # Where no veil is, the picture stays as it was.
    assert (clear.image == phantom.image).mean() > 0.8


def test_pale_membranes_are_lighter():
    dark, pale = (make_phantom(replace(SMALL, pale_share=share, noise_grey=0.0)) for share in (0.0, 0.5))
    edge = boundary_distance(dark.truth) == 0
    assert pale.image[edge].mean() > dark.image[edge].mean() + 3


def test_necks_can_be_left_out():
    assert len(make_phantom(replace(SMALL, necks_per_um3=0.0)).necks) == 0


def test_progress_is_reported_and_rises():
    seen = []
    make_phantom(SMALL, report=lambda stage, done: seen.append((stage, done)))
    shares = [done for _, done in seen]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert len({stage for stage, _ in seen}) >= 4


@pytest.mark.parametrize(
    "wrong",
    [
        {"shape_zyx": (4, 160, 160)},
        {"shape_zyx": (96, 160)},
        {"shape_zyx": (100_000, 100_000, 100_000)},
        {"voxel_size_nm": (0.0, 4.0, 4.0)},
        {"voxel_size_nm": (-40.0, 4.0, 4.0)},
        {"voxel_size_nm": (float("nan"), 4.0, 4.0)},
        {"voxel_size_nm": (float("inf"), 4.0, 4.0)},
        {"shape_zyx": (16, 16, 16), "voxel_size_nm": (4.0, 4.0, 4.0)},
        {"seed": -1},
        {"calibre": 0.0},
        {"gap_share": 2.0},
        {"pale_share": -0.1},
        {"veil_darkness": (0.7, 0.5)},
        {"veil_darkness": (0.5, 1.5)},
        {"necks_per_um3": -1.0},
        {"neck_diameter_nm": (50.0, 20.0)},
        {"blur_voxels": float("nan")},
        {"noise_grey": -1.0},
    ],
)
def test_impossible_settings_are_explained(wrong):
    with pytest.raises(PhantomError, match=r"[A-Z`].+\. .+\.$"):
        PhantomSettings(**wrong)


def test_settings_are_frozen():
    with pytest.raises(FrozenInstanceError):
        SMALL.seed = 3


# ------------------------------------------------------------------------------- kernels and their twins


@pytest.fixture
def balls():
    rng = np.random.default_rng(0)
    grid = Grid.of((7, 11, 13), (40.0, 9.0, 10.0))
    points = rng.integers(-30, 300, size=(12, 3))
    return grid, points, rng.integers(5, 90, size=12), rng.integers(1, 5, size=12).astype(np.int32), rng


def both(kernel, twin, arrays, *arguments):
    """Run a kernel and its twin on copies of the arrays they change."""
    ours, theirs = ([array.copy() for array in arrays] for _ in range(2))
    kernel(*ours, *arguments)
    twin(*theirs, *arguments)
    for one, other in zip(ours, theirs, strict=True):
        assert_array_equal(one, other)
    return ours


@pytest.mark.kernels
def test_clearance_equals_its_definition(balls):
    _, points, radii, _, _ = balls
    arrays = [np.full((9, 10, 11), 250, dtype=np.int32), np.zeros((9, 10, 11), dtype=np.int32)]
    reach = 1000
    room, nearest = both(
        kernels.lower_clearance,
        reference.lower_clearance,
        arrays,
        np.array([-20, 0, 10]),
        25,
        points,
        radii,
        7,
        reach,
    )
    assert room.min() < 0
    assert (nearest == 7).any()


@pytest.mark.kernels
def test_clearance_reaches_as_far_as_asked(balls):
    _, points, radii, _, _ = balls
    far = np.full((9, 10, 11), 250, dtype=np.int32)
    near = far.copy()
    zero = np.zeros_like(far)
    kernels.lower_clearance(far, zero, np.zeros(3, dtype=np.int64), 25, points, radii, 1, 1000)
    kernels.lower_clearance(near, zero, np.zeros(3, dtype=np.int64), 25, points, radii, 1, 60)
    assert_array_equal(near[far <= 60], far[far <= 60])


@pytest.mark.kernels
def test_claim_equals_its_definition(balls):
    grid, points, radii, owners, rng = balls
    barred = rng.integers(0, 5, size=grid.shape).astype(np.int32)
    arrays = [np.zeros(grid.shape, dtype=np.int32), np.full(grid.shape, 2**62)]

    def kernel(labels, costs, *arguments):
        kernels.claim(labels, costs, barred, *arguments, 10_000)

    def twin(labels, costs, *arguments):
        reference.claim(labels, costs, barred, *arguments)

    labels, _ = both(kernel, twin, arrays, *grid.axes, points, radii, owners)
    assert labels.all()
    assert (labels != barred).all()


@pytest.mark.kernels
def test_shells_balls_and_depths_equal_their_definitions(balls):
    grid, points, radii, owners, rng = balls
    empty = [np.zeros(grid.shape, dtype=np.int32)]
    both(kernels.bar_shells, reference.bar_shells, empty, *grid.axes, points, radii, radii + 40, owners)
    both(kernels.stamp_balls, reference.stamp_balls, empty, *grid.axes, points, radii, owners)
    owners[:3] = 0
    labels = rng.integers(0, 5, size=grid.shape).astype(np.int32)
    arrays = [np.full(grid.shape, 256, dtype=np.int32), labels]
    both(kernels.lower_depth, reference.lower_depth, arrays, *grid.axes, points, radii, owners)


@pytest.mark.kernels
def test_sheets_equal_their_definition(balls):
    grid, points, reaches, owners, rng = balls
    labels = rng.integers(1, 3, size=grid.shape).astype(np.int32)
    axes = rng.integers(-50, 51, size=points.shape) + np.array([0, 200, 0])
    halves, strengths = rng.integers(10, 40, size=12), rng.integers(50, 257, size=12)

    def kernel(darkness, *arguments):
        kernels.raise_sheets(darkness, labels, *arguments)

    def twin(darkness, *arguments):
        reference.raise_sheets(darkness, labels, *arguments)

    empty = [np.zeros(grid.shape, dtype=np.int32)]
    points[:, 1] = rng.integers(0, 90, size=12)
    sheets = points, axes, 3 * reaches, halves, strengths, owners
    (darkness,) = both(kernel, twin, empty, *grid.axes, *sheets)
    assert darkness.max() > 0


@pytest.mark.kernels
def test_pieces_equal_connected_components():
    labels = np.random.default_rng(3).integers(1, 3, size=(9, 10, 11)).astype(np.int32)
    pieces, old = one_piece_per_id(labels, smallest=1)
    assert_array_equal(pieces, reference.connected_pieces(labels))
    assert_array_equal(old[pieces], labels)


def test_crumbs_join_the_neighbour_they_touch_most():
    labels = np.full((3, 6, 6), 1, dtype=np.int32)
    labels[:, :, 3:] = 2
    labels[1, 1, 1] = 2
    pieces, old = one_piece_per_id(labels, smallest=5)
    assert pieces.max() == 2
    assert old[pieces[1, 1, 1]] == 1


def test_blur_keeps_the_mean_and_smooths():
    volume = np.random.default_rng(0).integers(0, 10_000, size=(20, 20, 20))
    blurred = fields.blur(volume, (1.5, 0.1, 2.0))
    assert blurred.dtype == np.int32
    assert abs(blurred.mean() - volume.mean()) < 50
    assert blurred.std() < 0.5 * volume.std()


def test_noise_has_the_spread_asked_for():
    grid = Grid.of((40, 40, 40), (10.0, 10.0, 10.0))
    field = fields.smooth_noise(grid, np.random.default_rng(0), sigma_nm=20.0, spread=500.0)
    assert 420 < field.std() < 580

"""Lists of volumes for `celis.train`, checked before they are read."""

import numpy as np
import pytest

import napari_celis as celis
from models.small import cut_into_pieces
from napari_celis.core.errors import ShapeMismatchError, TrainingError
from napari_celis.core.volume import Volume
from napari_celis.synthetic.phantom import PhantomSettings, make_phantom
from napari_celis.training.reading import read_annotated

pytestmark = pytest.mark.usefixtures("one_thread")

NM = (10.0, 10.0, 10.0)


def volumes(name, seed=3):
    phantom = make_phantom(PhantomSettings(shape_zyx=(20, 40, 40), seed=seed))
    arrays = phantom.image, phantom.truth, cut_into_pieces(phantom.truth, size=10)
    return [Volume(array, NM, name=name) for array in arrays]


def test_lists_make_one_model(tmp_path):
    # Figures name the file, not its folder.
    (image, truth, pieces), (image_2, truth_2, pieces_2) = volumes("some/where/one"), volumes("two", 4)
    model = celis.train(
        [image, image_2], [truth, truth_2], [pieces, pieces_2], output=tmp_path / "own.safetensors",
        settings=celis.TrainSettings(minutes=1e-4),
    )  # fmt: skip
    assert [one["name"] for one in model.figures["volumes"]] == ["one", "two"]
    assert [path.name for path in tmp_path.iterdir()] == ["own.safetensors"]
    with pytest.raises(TrainingError, match="2 images, 1 truths and 0 supervoxels"):
        celis.train([image, image_2], truth)


def test_shapes_are_compared_volume_by_volume():
    (image, truth, pieces), (image_2, truth_2, _) = volumes("one"), volumes("two", 4)
    smaller = Volume(truth_2.data[1:], NM)
    with pytest.raises(ShapeMismatchError, match="truth"):
        read_annotated([image, image_2], [truth, smaller])
    with pytest.raises(ShapeMismatchError, match="supervoxels"):
        read_annotated([image, image_2], [truth, truth_2], [pieces, smaller])


def test_strange_roles_are_remarked_on():
    image, truth, pieces = volumes("one")
    said = []
    read, voxel_size_nm = read_annotated([image], [truth], [pieces], say=said.append)
    assert not said
    assert voxel_size_nm == NM
    np.testing.assert_array_equal(read[0].truth, truth.data)
    flat = Volume(truth.data.astype(np.uint8), NM)
    read_annotated([flat], [truth], [pieces], say=said.append)
    assert [sentence.startswith("Remark: the image looks like labels") for sentence in said] == [True]

"""Labels inside the group of their image: found by others, and no danger to the image."""

import json
from pathlib import Path

import numpy as np
import pytest
import volume_samples
import zarr
from numpy.testing import assert_array_equal
from ome_zarr_models.v05.image import Image
from ome_zarr_models.v05.image_label import ImageLabel
from ome_zarr_models.v05.labels import Labels

from napari_celis.core.errors import VolumeError
from napari_celis.core.volume import Volume
from napari_celis.io import ome_zarr
from napari_celis.io.volumes import list_datasets, open_volume, write_volume

SIZE, OFFSET = (40.0, 4.0, 4.0), (0.0, 8.0, 12.0)


@pytest.fixture
def image(tmp_path) -> Path:
    return write_volume(Volume(volume_samples.image(), SIZE, OFFSET), tmp_path / "em.zarr", kind="image")


@pytest.fixture
def cells() -> Volume:
    labels = np.zeros(volume_samples.SHAPE, np.uint64)
    labels[2:, :3], labels[2:, 3:] = 7, 2**63 + 5
    return Volume(labels, SIZE, OFFSET)


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_other_programs_find_labels_with_colours_properties_and_source(image, cells):
    before = files_of(image)
    known = {7: {"name": "soma", "state": "done"}, 12: {"note": "gone by now"}}
    write_volume(cells, f"{image}:labels/cells", kind="labels", properties=known)
    assert {name: content for name, content in files_of(image).items() if name in before} == before
    group = zarr.open_group(image, mode="r")
    Image.from_zarr(group)
    assert Labels.from_zarr(group["labels"]).attributes.ome.labels == ["cells"]
    about = ImageLabel.from_zarr(group["labels/cells"]).attributes.ome.image_label
    assert about.source.image == "../../"
    assert (image / "labels/cells" / about.source.image).resolve() == image.resolve()
    assert {colour.label_value for colour in about.colors} == {7, 12, 2**63 + 5}
    stored = {
        entry["label-value"]: entry
        for entry in group["labels/cells"].attrs["ome"]["image-label"]["properties"]
    }
    assert stored[7] == {"label-value": 7, "voxels": 4 * 3 * 8, "name": "soma", "state": "done"}
    assert stored[12] == {"label-value": 12, "note": "gone by now"}
    volume = open_volume(f"{image}:labels/cells")
    assert_array_equal(volume.read(), cells.data)
    assert (volume.voxel_size_nm, volume.offset_nm) == (SIZE, OFFSET)
    assert_array_equal(open_volume(image).read(), volume_samples.image())


def test_labels_are_replaced_and_listed_once(image, cells):
    for name in ("cells", "cells", "by hand/nuclei", "cells"):
        write_volume(cells, f"{image}:labels/{name}", kind="labels")
    labels = zarr.open_group(image / "labels", mode="r")
    assert labels.attrs["ome"]["labels"] == ["cells", "by hand/nuclei"]
    assert labels["by hand/nuclei"].attrs["ome"]["image-label"]["source"] == {"image": "../../../"}
    assert [info.name for info in list_datasets(image)] == ["", "labels/by hand/nuclei", "labels/cells"]
    assert sorted(entry.name for entry in (image / "labels").iterdir()) == ["by hand", "cells", "zarr.json"]


def test_labels_of_an_image_inside_a_store(tmp_path, cells):
    store = tmp_path / "store.zarr"
    write_volume(Volume(volume_samples.image(), SIZE), f"{store}:raw", kind="image")
    write_volume(cells, f"{store}:raw/labels/cells", kind="labels")
    assert zarr.open_group(store / "raw/labels", mode="r").attrs["ome"]["labels"] == ["cells"]
    # Beside an image, labels belong to none.
    write_volume(cells, f"{store}:labels/cells", kind="labels")
    assert "source" not in zarr.open_group(store / "labels/cells", mode="r").attrs["ome"]["image-label"]


@pytest.mark.parametrize(
    ("place", "kind", "words"),
    [
        ("0", "labels", "is a level of the image"),
        ("0/deeper", "labels", "is a level of the image"),
        ("labels", "labels", "Name one in it, such as .*:labels/cells"),
        ("labels/grey", "image", "is for labels, and this is an image"),
    ],
)
def test_the_image_cannot_be_damaged(image, cells, place, kind, words):
    before = files_of(image)
    with pytest.raises(VolumeError, match=words):
        write_volume(cells, f"{image}:{place}", kind=kind)
    assert files_of(image) == before


def test_a_failure_leaves_the_image_and_no_entry(image, cells, monkeypatch):
    before = files_of(image)

    def fail(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(ome_zarr, "multiscale_attributes", fail)
    monkeypatch.setattr(ome_zarr, "image_label", fail)
    with pytest.raises(VolumeError, match="space"):
        write_volume(cells, f"{image}:labels/cells", kind="labels")
    after = files_of(image)
    assert {name: after[name] for name in before} == before
    assert set(after) - set(before) == {"labels/zarr.json"}
    assert "ome" not in json.loads(after["labels/zarr.json"])["attributes"]


def test_an_image_with_labels_is_not_replaced(image, cells):
    write_volume(cells, f"{image}:labels/cells", kind="labels")
    with pytest.raises(VolumeError, match="will not be replaced"):
        write_volume(Volume(volume_samples.image()), image, kind="image")


def test_too_many_labels_are_not_listed(image, monkeypatch):
    monkeypatch.setattr(ome_zarr, "MAX_LISTED", 3)
    write_volume(
        Volume(volume_samples.labels()), f"{image}:labels/all", kind="labels", properties={5: {"name": "a"}}
    )
    about = zarr.open_group(image / "labels/all", mode="r").attrs["ome"]["image-label"]
    assert about["properties"] == [{"name": "a", "label-value": 5}]
    assert [colour["label-value"] for colour in about["colors"]] == [5]


def test_properties_need_a_format_that_has_them(tmp_path, cells):
    with pytest.raises(VolumeError, match=r"\.zarr or \.precomputed"):
        write_volume(cells, tmp_path / "cells.h5", kind="labels", properties={7: {"name": "soma"}})
    assert list(tmp_path.iterdir()) == []


def test_labels_of_an_image_of_version_06_are_of_its_version(image, cells):
    metadata = json.loads((image / "zarr.json").read_text())
    multiscale = metadata["attributes"]["ome"]["multiscales"][0]
    multiscale["coordinateSystems"] = [{"name": "em", "axes": multiscale.pop("axes")}]
    for dataset in multiscale["datasets"]:
        steps = dataset["coordinateTransformations"]
        ends = {"input": {"path": dataset["path"]}, "output": {"name": "em"}}
        dataset["coordinateTransformations"] = [{"type": "sequence", "transformations": steps, **ends}]
    metadata["attributes"]["ome"]["version"] = "0.6"
    (image / "zarr.json").write_text(json.dumps(metadata))
    assert open_volume(image).voxel_size_nm == SIZE
    write_volume(cells, f"{image}:labels/cells", kind="labels")
    labels = zarr.open_group(image / "labels", mode="r")
    assert labels.attrs["ome"] == {"version": "0.6", "labels": ["cells"]}
    stored = labels["cells"].attrs["ome"]
    assert stored["version"] == "0.6"
    assert "axes" not in stored["multiscales"][0]
    volume = open_volume(f"{image}:labels/cells")
    assert (volume.voxel_size_nm, volume.offset_nm) == (SIZE, OFFSET)

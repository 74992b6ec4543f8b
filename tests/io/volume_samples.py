"""Small volumes in every format, as other programs would write them."""

import json
from pathlib import Path

import h5py
import numpy as np
import tensorstore
import tifffile
import zarr
from PIL import Image

from napari_celis.core.volume import Volume
from napari_celis.io.volumes import write_volume

SHAPE = (6, 7, 8)


def labels() -> np.ndarray:
    return np.arange(1, 1 + np.prod(SHAPE), dtype=np.uint64).reshape(SHAPE) * 1_000_003


def image() -> np.ndarray:
    return (np.arange(np.prod(SHAPE)).reshape(SHAPE) % 251).astype(np.uint8)


def cremi(folder: Path) -> list[str]:
    """Write the oldest and the newest layout of the library, which share little."""
    paths = {version: folder / f"{version}.h5" for version in ("earliest", "latest")}
    for version, path in paths.items():
        with h5py.File(path, "w", libver=version) as file:
            for name, data in (("volumes/raw", image()), ("volumes/labels/neuron_ids", labels())):
                dataset = file.create_dataset(name, data=data, chunks=(3, 4, 4), compression="gzip")
                dataset.attrs["resolution"] = [40.0, 4.0, 4.0]
                dataset.attrs["offset"] = [0.0, 8.0, 12.0]
    names = [
        f"{path}:{name}" for name in ("volumes/raw", "volumes/labels/neuron_ids") for path in paths.values()
    ]
    return [*names, *map(str, paths.values())]


def flyem(folder: Path) -> list[str]:
    path = folder / "flyem.h5"
    ids = labels().ravel()
    with h5py.File(path, "w") as file:
        file["stack"] = labels()
        file["transforms"] = np.stack([ids, ids // 7 + 1], axis=1)
    return [f"{path}:stack", f"{path}:bodies", str(path)]


def tiff(folder: Path) -> list[str]:
    """Write one of each kind: ImageJ, compressed BigTIFF, OME and plain pages."""
    names = [str(folder / f"{kind}.tif") for kind in ("imagej", "big", "ome", "pages")]
    write_volume(Volume(image(), (40.0, 4.0, 4.0)), names[0], kind="image")
    write_volume(Volume(labels(), (40.0, 4.0, 4.0)), names[1], kind="labels")
    metadata = {"axes": "ZYX", "PhysicalSizeX": 0.004, "PhysicalSizeY": 0.004, "PhysicalSizeZ": 0.04}
    tifffile.imwrite(names[2], image(), ome=True, metadata=metadata)
    tifffile.imwrite(
        names[3], image(), metadata=None, photometric="minisblack", tile=(16, 16), compression="zlib"
    )
    return names


def sections(folder: Path) -> list[str]:
    for kind in ("png", "tif"):
        (folder / kind).mkdir()
    for z, section in enumerate(image()):
        Image.fromarray(section).save(folder / "png" / f"s{z}.png")
        tifffile.imwrite(folder / "tif" / f"s{z}.tif", section, compression="zlib")
    return [str(folder / "png"), str(folder / "tif")]


def npy(folder: Path) -> list[str]:
    write_volume(Volume(labels(), (40.0, 4.0, 4.0)), folder / "labels.npy", kind="labels")
    np.save(folder / "plain.npy", np.asfortranarray(image()))
    return [str(folder / "labels.npy"), str(folder / "plain.npy")]


def npz(folder: Path) -> list[str]:
    path = folder / "volumes.npz"
    np.savez_compressed(path, raw=image(), ids=labels(), voxel_size_nm=[40.0, 4.0, 4.0])
    return [f"{path}:raw", f"{path}:ids", str(path)]


def zarr2(folder: Path) -> list[str]:
    group = zarr.open_group(folder / "two.zarr", mode="w", zarr_format=2)
    attributes = {"resolution": [40, 4, 4], "offset": [0, 8, 12]}
    for name, data in (("raw", image()), ("labels/ids", labels())):
        group.create_array(name, data=data, chunks=(3, 4, 8), attributes=attributes)
    return [f"{folder / 'two.zarr'}:raw", f"{folder / 'two.zarr'}:labels/ids", str(folder / "two.zarr")]


def zarr3(folder: Path) -> list[str]:
    group = zarr.open_group(folder / "three.zarr", mode="w", zarr_format=3)
    group.create_array("raw", data=image(), chunks=(3, 4, 8), attributes={"voxel_size": [40, 4, 4]})
    group.create_array("ids", data=labels(), chunks=(3, 4, 4), shards=(6, 8, 8))
    return [f"{folder / 'three.zarr'}:raw", f"{folder / 'three.zarr'}:ids", str(folder / "three.zarr")]


def ome_axes() -> list[dict[str, str]]:
    space = [{"name": axis, "type": "space", "unit": "micrometer"} for axis in "zyx"]
    return [{"name": "c", "type": "channel"}, *space]


def ome_zarr(folder: Path) -> list[str]:
    """Write version 0.5 with our writer, and 0.4 with a channel axis by hand."""
    write_volume(
        Volume(labels(), (40.0, 4.0, 4.0), (0.0, 8.0, 12.0)), folder / "five.ome.zarr", kind="labels"
    )
    group = zarr.open_group(folder / "five.ome.zarr", mode="r+")
    # Damage has to tell: hundreds of colours would take most of it.
    group.attrs["ome"] = {**group.attrs["ome"], "image-label": {"version": "0.5"}}
    transformations = [
        {"type": "scale", "scale": [1.0, 0.04, 0.004, 0.004]},
        {"type": "translation", "translation": [0.0, 0.0, 0.008, 0.012]},
    ]
    datasets = [{"path": "s0", "coordinateTransformations": transformations}]
    multiscales = [{"version": "0.4", "axes": ome_axes(), "datasets": datasets}]
    group = zarr.open_group(folder / "four.ome.zarr", mode="w", zarr_format=2)
    group.attrs["multiscales"] = multiscales
    group.create_array("s0", data=image()[None], chunks=(1, 3, 4, 4))
    return [str(folder / "five.ome.zarr"), str(folder / "four.ome.zarr")]


def n5(folder: Path) -> list[str]:
    path = folder / "volumes.n5"
    for name, data, compression in (("raw", image(), "gzip"), ("ids", labels(), "zstd")):
        spec = {
            "driver": "n5",
            "kvstore": {"driver": "file", "path": f"{path / name}/"},
            "metadata": {
                "dimensions": data.shape[::-1],
                "blockSize": [4, 4, 3],
                "dataType": str(data.dtype),
                "compression": {"type": compression},
                "pixelResolution": {"dimensions": [0.004, 0.004, 0.04], "unit": "um"},
            },
        }
        tensorstore.open(spec, create=True).result().T.write(data).result()
    (path / "attributes.json").write_text(json.dumps({"n5": "2.0.0"}))
    return [f"{path}:raw", f"{path}:ids", str(path)]


def precomputed(folder: Path) -> list[str]:
    names = [str(folder / f"{kind}.precomputed") for kind in ("labels", "image")]
    write_volume(Volume(labels(), (40.0, 4.0, 4.0), (40.0, 8.0, 12.0)), names[0], kind="labels")
    # Nobody reads it here.
    (Path(names[0]) / "properties" / "info").unlink()
    write_volume(Volume(image(), (40.0, 4.0, 4.0), (40.0, 8.0, 12.0)), names[1], kind="image")
    return names


FORMATS = {
    "hdf5-cremi": cremi,
    "hdf5-flyem": flyem,
    "tiff": tiff,
    "sections": sections,
    "npy": npy,
    "npz": npz,
    "zarr2": zarr2,
    "zarr3": zarr3,
    "ome-zarr": ome_zarr,
    "n5": n5,
    "precomputed": precomputed,
}

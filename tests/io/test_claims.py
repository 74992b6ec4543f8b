"""Small files that claim, or unpack to, more than any machine has are refused in bounded memory and time."""

import bz2
import gzip
import json
import lzma
import struct
import subprocess
import sys
import zipfile
import zlib

import h5py
import numcodecs
import numpy as np
import pytest
import tensorstore
import tifffile
import zarr
from numpy.testing import assert_array_equal

from napari_celis.core.errors import CelisError, CorruptFileError, VolumeError
from napari_celis.core.volume import Volume
from napari_celis.io import blocks
from napari_celis.io.unpacking import unpack_gzip, unpack_zstd
from napari_celis.io.volumes import list_datasets, open_volume, write_volume

ONES = np.ones((3, 4, 5), np.uint8)
BOMB = bytes(32 * 2**20)
MAX_MEMORY_MB = 300
"""What opening and refusing all of them may take, together with the libraries."""

PROGRAM = """
import json, sys, time
from pathlib import Path
from napari_celis.core.errors import CelisError
from napari_celis.io.volumes import list_datasets, open_volume, write_volume

out = sys.argv[1]
for target in sys.argv[2:]:
    begin = time.monotonic()
    said = []
    works = (lambda: list_datasets(target), lambda: open_volume(target).read(),
             lambda: write_volume(open_volume(target), out, kind="image"))
    for work in works:
        try:
            work()
            said.append("")
        except CelisError as error:
            said.append(str(error))
    megabytes = int(Path('/proc/self/status').read_text().split('VmHWM:')[1].split()[0]) / 1024
    print(json.dumps([target, said, megabytes, time.monotonic() - begin]), flush=True)
"""


def png(folder):
    """A section of 2³¹ × 2³¹ in 65 bytes."""

    def part(kind, content):
        body = kind + content
        return struct.pack(">I", len(content)) + body + struct.pack(">I", zlib.crc32(body))

    (folder / "png").mkdir()
    header = struct.pack(">IIBBBBB", 2**31 - 1, 2**31 - 1, 8, 0, 0, 0, 0)
    content = part(b"IHDR", header) + part(b"IDAT", zlib.compress(b"")) + part(b"IEND", b"")
    (folder / "png" / "s0.png").write_bytes(b"\x89PNG\r\n\x1a\n" + content)
    return folder / "png"


def ome_tiff(folder):
    """A thousand million sections in the metadata."""
    tifffile.imwrite(folder / "x.ome.tif", ONES, ome=True, metadata={"axes": "ZYX"})
    content = (folder / "x.ome.tif").read_bytes()
    with tifffile.TiffFile(folder / "x.ome.tif") as tif:
        xml = tif.ome_metadata
    xml = xml.replace('SizeZ="3"', 'SizeZ="1000000000"')
    tifffile.imwrite(folder / "x.ome.tif", ONES, description=xml, metadata=None, photometric="minisblack")
    assert content
    return folder / "x.ome.tif"


def tiff_tile(folder):
    """Sections of 16 × 16 voxels in tiles of 65536 × 65536."""
    path = folder / "tile.tif"
    image = np.arange(512, dtype=np.uint8).reshape(2, 16, 16)
    tifffile.imwrite(path, image, tile=(16, 16), compression="zlib", photometric="minisblack")
    content = bytearray(path.read_bytes())
    with tifffile.TiffFile(path) as tif:
        for page in tif.pages:
            for name in ("TileWidth", "TileLength"):
                tag = page.tags[name]
                struct.pack_into("<HHII", content, tag.offset, tag.code, 4, 1, 65536)
    path.write_bytes(content)
    return path


def npz_header(folder):
    """An array whose header alone unpacks to gigabytes."""
    path = folder / "header.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("a.npy", "w") as file:
        file.write(b"\x93NUMPY\x02\x00" + struct.pack("<I", 3 * 10**9))
        for _ in range(32):
            file.write(b" " * 2**25)
    return path


def npz_claim(folder):
    """An array of terabytes in an archive of a few bytes."""
    path = folder / "claim.npz"
    with zipfile.ZipFile(path, "w") as archive:
        header = b"{'descr': '|u1', 'fortran_order': False, 'shape': (33333, 99999, 9999), }\n"
        archive.writestr("a.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + bytes(60))
    return path


def zarr_chunks(folder):
    """Chunks of a few voxels that claim gigabytes."""
    zarr.create_array(folder / "chunks.zarr", shape=(3, 4, 5), chunks=(2048, 2048, 2048), dtype="u1")
    return folder / "chunks.zarr"


def hdf5_chunks(folder):
    with h5py.File(folder / "chunks.h5", "w") as file:
        file.create_dataset("a", (3, 4, 5), "u1", chunks=(1000, 1000, 1000), maxshape=(None,) * 3)
    return folder / "chunks.h5"


def n5_block(folder):
    """A block of 60 voxels that unpacks to a gigabyte."""
    spec = {
        "driver": "n5",
        "kvstore": {"driver": "file", "path": f"{folder / 'bomb.n5' / 'a'}/"},
        "metadata": {
            "dimensions": [5, 4, 3],
            "blockSize": [5, 4, 3],
            "dataType": "uint8",
            "compression": {"type": "gzip"},
        },
    }
    tensorstore.open(spec, create=True).result().T.write(ONES).result()
    block = folder / "bomb.n5" / "a" / "0" / "0" / "0"
    block.write_bytes(block.read_bytes()[:16] + 32 * gzip.compress(BOMB, 1))
    return f"{folder / 'bomb.n5'}:a"


CLAIMS = [png, ome_tiff, tiff_tile, npz_header, npz_claim, zarr_chunks, hdf5_chunks, n5_block]


@pytest.mark.skipif(sys.platform != "linux", reason="needs the peak of a process")
def test_claims_are_judged_before_memory_is_taken(tmp_path):
    targets = [str(make(tmp_path)) for make in CLAIMS]
    process = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path / "out.npy"), *targets],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert process.returncode == 0, process.stderr
    rows = [json.loads(line) for line in process.stdout.splitlines()]
    assert [row[0] for row in rows] == targets
    for target, (_, read, written), megabytes, seconds in rows:
        assert read, target
        assert written, target
        assert megabytes < MAX_MEMORY_MB, target
        assert seconds < 20, target
    assert not (tmp_path / "out.npy").exists()


PACKED = {
    "gzip": lambda: gzip.compress(BOMB, 1),
    "zlib": lambda: zlib.compress(BOMB, 1),
    "bz2": lambda: bz2.compress(BOMB),
    "lzma": lambda: lzma.compress(BOMB, preset=0),
    "zstd": lambda: numcodecs.Zstd().encode(BOMB),
    "lz4": lambda: numcodecs.LZ4().encode(BOMB),
    "blosc": lambda: numcodecs.Blosc().encode(BOMB),
}


@pytest.mark.parametrize("codec", PACKED)
def test_zarr_chunks_that_unpack_to_more_than_they_hold(tmp_path, codec):
    compressor = numcodecs.get_codec({"id": codec})
    path = tmp_path / "two.zarr"
    zarr.create_array(path, data=ONES, zarr_format=2, compressors=compressor)
    assert_array_equal(open_volume(path).read(), ONES)
    (path / "0.0.0").write_bytes(PACKED[codec]())
    with pytest.raises(CorruptFileError, match=r"a chunk unpacks to .* but holds"):
        open_volume(path).read()


@pytest.mark.parametrize("shards", [None, (4, 4, 8)])
@pytest.mark.parametrize("codec", ["gzip", "zstd", "blosc"])
def test_the_same_in_version_3(tmp_path, codec, shards):
    compressor = {
        "gzip": zarr.codecs.GzipCodec(),
        "zstd": zarr.codecs.ZstdCodec(),
        "blosc": zarr.codecs.BloscCodec(),
    }[codec]
    path = tmp_path / "three.zarr"
    data = np.arange(128, dtype=np.uint16).reshape(4, 4, 8)
    zarr.create_array(path, data=data, compressors=compressor, chunks=(4, 4, 4), shards=shards)
    assert_array_equal(open_volume(path).read(), data)
    if shards is None:
        (path / "c" / "0" / "0" / "0").write_bytes(PACKED[codec]())
    else:
        bomb = PACKED[codec]()
        index = struct.pack("<QQQQ", 0, len(bomb), 0, len(bomb))
        check = struct.pack("<I", numcodecs.CRC32C.checksum(index))
        (path / "c" / "0" / "0" / "0").write_bytes(bomb + index + check)
    with pytest.raises(CorruptFileError, match=r"a chunk unpacks to .* but holds"):
        open_volume(path).read()


@pytest.mark.filterwarnings("ignore:Numcodecs codecs are not in the Zarr")
def test_codecs_of_version_2_in_version_3(tmp_path):
    from zarr.codecs import numcodecs as named

    path = tmp_path / "named.zarr"
    zarr.create_array(path, data=ONES, compressors=named.Zlib(level=1))
    assert_array_equal(open_volume(path).read(), ONES)
    (path / "c" / "0" / "0" / "0").write_bytes(PACKED["zlib"]())
    with pytest.raises(CorruptFileError, match="a chunk unpacks to"):
        open_volume(path).read()


@pytest.mark.parametrize(
    "codecs",
    [
        [{"name": "vlen-utf8"}],
        [{"name": "bytes"}, {"name": "numcodecs.pickle"}],
        [{"name": "sharding_indexed", "configuration": {"codecs": [{"name": "numcodecs.zfpy"}]}}],
        [{"name": "bytes"}, {"name": "numcodecs.astype", "configuration": {"decode_dtype": "S9999999"}}],
    ],
)
def test_codecs_of_version_3_without_bounds(tmp_path, codecs):
    zarr.create_array(tmp_path / "v.zarr", data=ONES)
    metadata = tmp_path / "v.zarr" / "zarr.json"
    metadata.write_text(json.dumps({**json.loads(metadata.read_text()), "codecs": codecs}))
    with pytest.raises(VolumeError, match=r"could run code|plain numbers"):
        open_volume(tmp_path / "v.zarr")


@pytest.mark.parametrize("setting", ["encode_dtype", "decode_dtype"])
def test_filters_that_make_text_of_numbers(tmp_path, setting):
    types = {"encode_dtype": "u1", "decode_dtype": "u1", setting: "S9999999"}
    zarr.create_array(tmp_path / "v.zarr", data=ONES, zarr_format=2)
    metadata = tmp_path / "v.zarr" / ".zarray"
    changed = {**json.loads(metadata.read_text()), "filters": [{"id": "astype", **types}]}
    metadata.write_text(json.dumps(changed))
    with pytest.raises(VolumeError, match="plain numbers"):
        open_volume(tmp_path / "v.zarr")


def test_streams_in_several_parts():
    parts = [b"a" * 1000, b"b" * 1000]
    assert unpack_gzip(b"".join(map(gzip.compress, parts)), 2000) == b"".join(parts)
    assert unpack_zstd(b"".join(map(numcodecs.Zstd().encode, parts)), 2000) == b"".join(parts)
    for unpack, pack in ((unpack_gzip, gzip.compress), (unpack_zstd, numcodecs.Zstd().encode)):
        with pytest.raises(ValueError, match="unpacks to"):
            unpack(b"".join(map(pack, parts)), 1999)
    with pytest.raises(ValueError, match="ends too early"):
        unpack_gzip(gzip.compress(bytes(1000))[:-9], 2000)


def test_boxes_are_not_written_out(monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 1)
    boxes = blocks.iterate_boxes((2**40, 2**40, 2**40), 1)
    assert next(boxes) == (slice(0, 1), slice(0, 1), slice(0, 1))
    assert next(boxes) == (slice(0, 1), slice(0, 1), slice(1, 2))


def test_an_npz_archive_is_read_when_it_is_needed(tmp_path):
    np.savez_compressed(tmp_path / "v.npz", a=np.arange(60, dtype=">u2").reshape(3, 4, 5))
    volume = open_volume(tmp_path / "v.npz")
    (tmp_path / "v.npz").rename(tmp_path / "w.npz")
    with pytest.raises(CelisError):
        volume.read()
    (tmp_path / "w.npz").rename(tmp_path / "v.npz")
    assert_array_equal(volume.data[1:, 2], np.arange(60).reshape(3, 4, 5)[1:, 2])


def test_metadata_of_any_length_and_depth(tmp_path):
    write_volume(Volume(ONES), tmp_path / "v.zarr", kind="image")
    metadata = tmp_path / "v.zarr" / "zarr.json"
    metadata.write_text('{"node_type": "group", "attributes": ' + "[" * 100_000 + "]" * 100_000 + "}")
    with pytest.raises(CorruptFileError):
        list_datasets(tmp_path / "v.zarr")
    with metadata.open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(CorruptFileError, match="metadata take less than"):
        list_datasets(tmp_path / "v.zarr")


def test_a_chunk_larger_than_memory(tmp_path):
    zarr.create_array(tmp_path / "v.zarr", data=ONES)
    with (tmp_path / "v.zarr" / "c" / "0" / "0" / "0").open("wb") as file:
        file.truncate(2**42)
    with pytest.raises(CelisError, match="GB of memory"):
        open_volume(tmp_path / "v.zarr").read()


@pytest.mark.filterwarnings("ignore:Numcodecs codecs are not in the Zarr")
def test_arrays_that_others_open_keep_their_own_codecs(tmp_path):
    """Our guard is for our reads: napari and other plugins read in the same process."""
    from zarr.codecs import numcodecs as named

    zarr.create_array(tmp_path / "two.zarr", data=ONES, zarr_format=2, compressors=numcodecs.Blosc())
    zarr.create_array(tmp_path / "three.zarr", data=ONES, compressors=zarr.codecs.BloscCodec())
    zarr.create_array(tmp_path / "named.zarr", data=ONES, compressors=named.Zlib(level=1))
    before = dict(numcodecs.registry.codec_registry), zarr.config.get("codecs")
    for name in ("two", "three", "named"):
        assert_array_equal(open_volume(tmp_path / f"{name}.zarr").read(), ONES)
    assert (dict(numcodecs.registry.codec_registry), zarr.config.get("codecs")) == before
    for name in ("two", "three", "named"):
        theirs = zarr.open_array(tmp_path / f"{name}.zarr", mode="r").compressors[0]
        assert "napari_celis" not in type(getattr(theirs, "_codec", theirs)).__module__

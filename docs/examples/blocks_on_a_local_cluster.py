"""Blocks on a local cluster.

A volume that does not fit into memory is cut into blocks, which go to workers; their decisions are
joined at the end. This does it with two workers on your own computer. On a cluster only the line with
`connect` differs: [Large volumes](../scale.md) has the lines for SLURM, LSF, SGE and Kubernetes.
"""

# %% [markdown]
# ## The volume
#
# Zarr in chunks, so that each worker reads only its own part. Here a crop of the bundled sample;
# usually it is there already.

# %%
from pathlib import Path

import napari_celis as celis
from napari_celis.scale.begin import Request, begin_run
from napari_celis.scale.cluster import connect
from napari_celis.scale.runner import Progress, run_stages


def write_inputs(folder: Path) -> None:
    for role, kind in (("image", "image"), ("supervoxels", "labels")):
        volume = celis.sample()[role]
        part = celis.Volume(volume.data[:48, :80, :96], volume.voxel_size_nm, name=role)
        celis.write_volume(part, folder / f"{role}.zarr", kind=kind)


# %% [markdown]
# ## The run
#
# `begin_run` checks everything before anything is computed. `run_stages` computes what is not done
# yet: after a crash, or `Ctrl+C`, the same lines go on where it ended.


# %%
def tell(progress: Progress) -> None:
    print(f"{progress.share:4.0%}  {progress.stage}: {progress.done} of {progress.total} blocks")


def agglomerate(folder: Path) -> celis.Volume:
    run = begin_run(
        Request(
            model=celis.bundled_models()["phantom"],
            image=str(folder / "image.zarr"),
            supervoxels=str(folder / "supervoxels.zarr"),
            output=str(folder / "segmentation.zarr"),
            block_zyx=(48, 80, 48),
        )
    )
    with connect(n_workers=2) as client:  # or connect("tcp://HOST:8786")
        outcome = run_stages(run, client, on_progress=tell)
    for failure in outcome.failures:
        print(f"{failure.stage} of block {failure.block} at {failure.place}: {failure.error}")
    return celis.open_volume(folder / "segmentation.zarr")


# %% [markdown]
# ## Is it the same?
#
# Workers are processes that load this file too, so what it does stands under `if __name__ ==
# "__main__"`. A notebook does not need that line. The result is compared with one run over the
# whole crop: variation of information is 0 when they are equal. Near the borders of blocks a few
# merges may differ.

# %%
if __name__ == "__main__":
    here = Path.cwd()
    write_inputs(here)
    blocks = agglomerate(here)
    whole = celis.agglomerate(
        here / "image.zarr", celis.bundled_models()["phantom"], supervoxels=here / "supervoxels.zarr"
    )
    print(f"VI between blocks and the whole: {celis.evaluate(blocks, whole).vi:.3f} bits")

"""`celis predict`: the affinities of an image."""

from __future__ import annotations

from typing import Annotated

import typer

from napari_celis.cli.app import app
from napari_celis.cli.options import (
    AnyVoxelSizeOption,
    ImageOption,
    JsonOption,
    ModelOption,
    open_for_model,
    require_outputs,
    require_target,
    say,
    write_json,
)
from napari_celis.cli.outputs import require_distinct


@app.command()
def predict(
    image: ImageOption,
    model: ModelOption,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="OUT", help="File to write: .h5 or .zarr.")
    ],
    any_voxel_size: AnyVoxelSizeOption = False,
    json: JsonOption = None,
) -> None:
    """Compute the affinities of an image with a model's network."""
    import time

    from napari_celis.cli.progress import bar
    from napari_celis.io.affinities import DEFAULT_DATASET, Affinities, write_affinities
    from napari_celis.io.memory import require_memory
    from napari_celis.io.volumes import read_image
    from napari_celis.models.apply import affinities_of
    from napari_celis.pipeline.memory import prediction_bytes

    require_target(output, is_affinities=True)
    require_outputs(json)
    outputs = {"--output": output, "--json": json}
    require_distinct(outputs, {"--image": image, "--model": model}, unnamed=DEFAULT_DATASET)
    loaded, volume = open_for_model(image, model, any_voxel_size)
    needed = prediction_bytes(loaded, volume.shape, volume.dtype.itemsize)
    require_memory(needed, volume.name, "Predicting")
    begin = time.monotonic()
    with bar("affinities") as progress:
        affinities = affinities_of(loaded, read_image(volume), progress=progress, say=say)
    seconds = time.monotonic() - begin
    write_affinities(Affinities(affinities, volume.voxel_size_nm, volume.offset_nm, volume.name), output)
    typer.echo(f"Wrote {output}.")
    write_json(json, {"output": output, "shape": list(affinities.shape), "seconds": seconds})

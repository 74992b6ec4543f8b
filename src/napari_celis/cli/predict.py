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
    affinities_for,
    open_for_model,
    require_memory_for,
    require_outputs,
    require_target,
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

    from napari_celis.io.affinities import DEFAULT_DATASET, Affinities, write_affinities
    from napari_celis.io.volumes import read_image

    require_target(output, is_affinities=True)
    require_outputs(json)
    outputs = {"--output": output, "--json": json}
    require_distinct(outputs, {"--image": image, "--model": model}, unnamed=DEFAULT_DATASET)
    loaded, volume = open_for_model(image, model, any_voxel_size)
    require_memory_for("Predicting", volume)
    begin = time.monotonic()
    affinities = affinities_for(loaded, read_image(volume))
    seconds = time.monotonic() - begin
    write_affinities(Affinities(affinities, volume.voxel_size_nm, volume.offset_nm, volume.name), output)
    typer.echo(f"Wrote {output}.")
    write_json(json, {"output": output, "shape": list(affinities.shape), "seconds": seconds})

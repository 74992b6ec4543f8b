"""`celis predict`: the affinities of an image."""

from __future__ import annotations

from typing import Annotated

import typer

from napari_celis.cli.app import app
from napari_celis.cli.options import JsonOption, write_json


@app.command()
def predict(
    image: Annotated[str, typer.Option(metavar="V", help="Image.")],
    model: Annotated[str, typer.Option(metavar="MODEL", help="Model file made by celis train.")],
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="OUT", help="Where to write: .h5 or .zarr.")
    ],
    any_voxel_size: Annotated[
        bool, typer.Option(help="Go on although the model was trained at another voxel size.")
    ] = False,
    json: JsonOption = None,
) -> None:
    """Compute the affinities of an image with a model's network."""
    import time

    from napari_celis.cli.progress import bar
    from napari_celis.io.affinities import Affinities, write_affinities
    from napari_celis.io.volumes import open_volume, read_image
    from napari_celis.models.apply import affinities_of, require_voxel_size
    from napari_celis.models.checkpoint import load_model

    loaded, volume = load_model(model), open_volume(image)
    if not any_voxel_size:
        require_voxel_size(loaded, volume.voxel_size_nm)
    begin = time.monotonic()
    with bar("affinities") as progress:
        affinities = affinities_of(loaded, read_image(volume), progress=progress)
    seconds = time.monotonic() - begin
    write_affinities(Affinities(affinities, volume.voxel_size_nm, volume.offset_nm, volume.name), output)
    typer.echo(f"Wrote {output}.")
    write_json(json, {"output": output, "shape": list(affinities.shape), "seconds": seconds})

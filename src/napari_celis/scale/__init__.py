"""Block-wise runs: one volume, many processes, the same recipe on overlapping parts of it.

`grid` cuts a volume into blocks, `storage` keeps everything of a run under one URL, `settings` says what a
run is about. Each file in `stages` is one stage of the work on one block. `reconcile` joins the decisions of
all blocks, `runner` brings the work to the workers of a Dask cluster. Nothing here decides a merge of its
own: a block is agglomerated by `napari_celis.pipeline`, as a whole volume is.
"""

from importlib.util import find_spec

from napari_celis.core.errors import MissingExtraError

for _name in ("distributed", "fsspec", "pyarrow"):
    if find_spec(_name) is None:
        raise MissingExtraError(
            f"Block-wise runs need the package {_name}, which is not installed. Install it with "
            'pip install "napari-celis[cluster]".'
        )

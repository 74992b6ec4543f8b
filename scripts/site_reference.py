"""The pages of the library reference: which names are shown; their texts come from docstrings."""

from __future__ import annotations

import ast
import re
from importlib import import_module

import napari_celis

FRONT_DOOR = {
    "Volumes": ("open_volume", "write_volume", "Volume", "sample"),
    "Models": ("bundled_models", "load_model", "save_model", "CelisModel"),
    "Affinities and supervoxels": (
        "predict_affinities", "make_supervoxels", "read_affinities", "write_affinities", "Affinities",
    ),
    "Agglomeration": ("agglomerate", "Choice", "prepare", "Agglomerator"),
    "Training": ("train", "TrainSettings"),
    "Evaluation": ("evaluate", "compare"),
    "Errors": ("CelisError",),
}  # fmt: skip
"""The names that stay, in the order in which they are used."""


FRONT_DOOR_TEXT = """# Front door

`import napari_celis as celis`: these names stay as they are, and each is loaded when it is first used.
[The library](../api.md) shows them in use.
"""
INNER_ROOMS_TEXT = """# Inner rooms

What the examples import from behind the [front door](front-door.md). It may change from version to version;
[architecture](../architecture.md) shows where everything is.
"""


def front_door_page() -> str:
    """Show every name of the package itself."""
    listed = {name for names in FRONT_DOOR.values() for name in names}
    if listed != set(napari_celis.__all__):
        raise ValueError(
            f"FRONT_DOOR and napari_celis.__all__ differ in {listed ^ set(napari_celis.__all__)}."
        )
    parts = [FRONT_DOOR_TEXT]
    for title, names in FRONT_DOOR.items():
        parts.append(f"## {title}\n")
        parts += [shown("napari_celis", name) for name in names]
    return "\n".join(parts)


def inner_rooms_page(sources: list[str]) -> str:
    """Show what the examples import from behind the front door.

    Parameters
    ----------
    sources : list of str
        Pages with blocks of Python.
    """
    parts, last = [INNER_ROOMS_TEXT], ""
    for module, name in sorted({pair for text in sources for pair in imported(text)}):
        if module != last:
            parts.append(f"## {module.removeprefix('napari_celis.')}\n")
            last = module
        parts.append(shown(module, name))
    return "\n".join(parts)


def shown(module: str, name: str) -> str:
    """Return what makes Sphinx show the docstring of one name."""
    value = getattr(import_module(module), name)
    kind = "class" if isinstance(value, type) else "function" if callable(value) else "data"
    if kind == "class" and issubclass(value, Exception):
        kind = "exception"
    return f"```{{eval-rst}}\n.. auto{kind}:: {module}.{name}\n```\n"


def imported(text: str) -> set[tuple[str, str]]:
    """Find the names that blocks of Python take from inner rooms."""
    doors = {(f"napari_celis.{room}", name) for name, room in napari_celis._HOME.items()}
    found = set()
    for block in re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        for node in ast.walk(ast.parse(block)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("napari_celis."):
                found |= {(str(node.module), alias.name) for alias in node.names}
    return found - doors

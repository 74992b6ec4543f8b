"""Build the site of the documentation: the pages of docs/, and those that are made from the code.

    python scripts/build_site.py [--output DIR]

The quick start is a part of README.md, the command reference comes from the command tree, the library
reference from docstrings, and examples from the scripts that the tests run; so none of them can be out
of date. A warning is an error, and so is a page that would load something from another computer.
"""

from __future__ import annotations

import argparse
import ast
import re
import shutil
import tempfile
from pathlib import Path

from sphinx.cmd.build import build_main

from site_commands import commands_page
from site_reference import front_door_page, inner_rooms_page

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
NAVIGATION = {
    "Start here": {"Installation": "install", "Quick start": "quick-start", "Tutorial": "tutorial"},
    "User guide": {
        "Where things are": "guide/index",
        "Data": "guide/data",
        "Agglomerate": "guide/agglomerate",
        "Decisions": "guide/decisions",
        "Segments": "guide/segments",
        "Cuts and splits": "guide/splits",
        "Shape": "guide/shape",
        "Train": "guide/train",
        "Blocks": "guide/blocks",
        "Export": "guide/export",
        "Keys and clicks": "guide/keys",
        "When something is wrong": "guide/problems",
        "Sessions": "guide/sessions",
        "Volumes": "guide/volumes",
        "Without a window": "guide/commands",
    },
    "Subjects": {
        "Proofreading": "proofreading",
        "Learning from answers": "learning-from-answers",
        "Training and models": "training",
        "Affinities": "affinities",
        "Watershed": "watershed",
        "Large volumes": "scale",
        "Formats": "formats",
        "Glossary": "glossary",
    },
    "Commands and library": {
        "Commands": "commands",
        "The library": "api",
        "Front door": "reference/front-door",
        "Inner rooms": "reference/inner-rooms",
    },
    "Examples": {
        "Agglomerate and evaluate": "examples/agglomerate_and_evaluate",
        "Own energy and policy": "examples/own_energy_and_policy",
        "Blocks on a local cluster": "examples/blocks_on_a_local_cluster",
    },
    "The method": {
        "The method": "method",
        "Pruning": "pruning",
        "Metrics": "metrics",
        "The phantom": "phantom",
    },
    "What was measured": {
        "Accuracy": "accuracy",
        "Baselines": "baselines",
        "Reproduce": "reproduce",
        "Benchmarks": "benchmarks",
        "Reliability": "reliability",
    },
    "The project": {
        "Architecture": "architecture",
        "Contributing": "contributing",
        "Changelog": "changelog",
    },
}
"""The pages in the order of the menu: what a newcomer needs first, what a developer needs last."""
QUICK_START = ("## Two commands", "## Further")
"""Where the part of README.md begins that is the quick start, and where it ends."""
ELSEWHERE = {
    "](../CONTRIBUTING.md": "](contributing.md",
    "](../README.md": "](quick-start.md",
    "](examples)": "](examples/agglomerate_and_evaluate.md)",
    "](https://napari-celis.github.io/napari-celis/commands.html": "](/commands.md",
}
"""Links to files that are no pages of docs/, and to their pages."""
LOADED = re.compile(
    r'<(?:script|img|iframe|link(?=[^>]*stylesheet))[^>]*(?:src|href)="((?:https?:)?//[^"]*)"'
)
"""What a browser would load from another computer."""


def made_pages() -> dict[str, str]:
    """Return the pages that are made, by the names of their files."""
    examples = sorted((DOCS / "examples").glob("*.py"))
    sources = [(DOCS / "api.md").read_text(), *(f"```python\n{path.read_text()}```" for path in examples)]
    return {
        "index.md": (DOCS / "index.md").read_text() + menu(),
        "quick-start.md": quick_start((ROOT / "README.md").read_text()),
        "contributing.md": below_docs((ROOT / "CONTRIBUTING.md").read_text()),
        "commands.md": commands_page(),
        "reference/front-door.md": front_door_page(),
        "reference/inner-rooms.md": inner_rooms_page(sources),
        **{f"examples/{path.stem}.md": example(path) for path in examples},
    }


def menu() -> str:
    """Return what makes the menu at the left of every page."""
    trees = (
        "\n".join(
            [
                f"```{{toctree}}\n:hidden:\n:caption: {title}\n",
                *(f"{name} <{page}>" for name, page in pages.items()),
                "```",
            ]
        )
        for title, pages in NAVIGATION.items()
    )
    return "\n\n" + "\n\n".join(trees) + "\n"


def quick_start(readme: str) -> str:
    """Cut the quick start out of the README."""
    begin, end = (readme.index(f"\n{heading}\n") for heading in QUICK_START)
    return below_docs(f"# Quick start\n{readme[begin:end]}\n")


def below_docs(text: str) -> str:
    """Let links of a file in the root of the checkout lead to pages."""
    return text.replace("](docs/", "](")


def example(path: Path) -> str:
    """Turn a script with cells into a page; cells of text are comments under `# %% [markdown]`."""
    text = path.read_text()
    title, _, introduction = (ast.get_docstring(ast.parse(text)) or "").partition("\n")
    parts = [f"# {title.removesuffix('.')}", introduction.strip()]
    for cell in re.split(r"^# %%", text, flags=re.MULTILINE)[1:]:
        kind, _, body = cell.partition("\n")
        if "[markdown]" in kind:
            parts.append(
                "\n".join(line.removeprefix("#").removeprefix(" ") for line in body.strip().splitlines())
            )
        else:
            parts.append(f"```python\n{body.strip()}\n```")
    parts.append(f"The whole script is `docs/examples/{path.name}`; the tests run it.")
    return "\n\n".join(parts) + "\n"


def write_sources(folder: Path) -> None:
    """Write all pages and what they show into a folder."""
    shutil.copytree(DOCS, folder, ignore=shutil.ignore_patterns("conf.py", "*.py"))
    shutil.copy(ROOT / "src/napari_celis/icon.svg", folder / "images")
    for name, text in made_pages().items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    for page in folder.rglob("*.md"):
        text = page.read_text()
        for place, own in ELSEWHERE.items():
            text = text.replace(place, own)
        page.write_text(text)


def loaded_from_elsewhere(site: Path) -> list[str]:
    """List what pages would load from other computers."""
    return [
        f"{page.relative_to(site)} loads {found}"
        for page in sorted(site.rglob("*.html"))
        for found in LOADED.findall(page.read_text())
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--output", type=Path, default=ROOT / "site", help="another folder than site/")
    output = parser.parse_args().output
    shutil.rmtree(output, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        sources, cache = Path(folder, "docs"), Path(folder, "cache")
        write_sources(sources)
        shutil.copy(DOCS / "conf.py", sources)
        strictly = ["--fail-on-warning", "--keep-going", "--quiet", "--fresh-env"]
        failed = build_main(
            [*strictly, "--builder", "html", "--doctree-dir", str(cache), str(sources), str(output)]
        )
    found = loaded_from_elsewhere(output)
    if failed or found:
        raise SystemExit("\n".join(["The site is not right: see the lines above.", *found]))
    print(f"Built {output / 'index.html'}")


if __name__ == "__main__":
    main()

"""Check the links between the documents: files, headings and pictures; addresses of the web are not followed.

python scripts/check_links.py
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = ("*.md", "docs/**/*.md", "sample_data/*.md")
LINK = re.compile(r"!?\[[^\]]*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)|(?:src|href)=\"([^\"]+)\"")
FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*#*$", re.MULTILINE)
ANCHOR = re.compile(r"(?:id|name)=\"([^\"]+)\"|^\(([\w-]+)\)=$", re.MULTILINE)


def anchors(text: str) -> set[str]:
    """List the places of a document that a link may name, as GitHub and the site write them."""
    text = FENCE.sub("", text)
    found: set[str] = {first or second for first, second in ANCHOR.findall(text)}
    for heading in HEADING.findall(text):
        shown = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", shown.lower()).replace(" ", "-")
        n_same = 0
        while (place := f"{slug}-{n_same}" if n_same else slug) in found:
            n_same += 1
        found.add(place)
    return found


def broken_links(document: Path, root: Path) -> Iterator[str]:
    """Find the links of a document that lead nowhere, one sentence each."""
    text = FENCE.sub(lambda match: "\n" * match[0].count("\n"), document.read_text(encoding="utf-8"))
    text = re.sub(r"`[^`\n]*`", lambda match: " " * len(match[0]), text)
    for match in LINK.finditer(text):
        link = match[1] or match[2]
        where = f"{document.relative_to(root)}:{text.count(chr(10), 0, match.start()) + 1}"
        if re.match(r"[a-z][a-z0-9+.-]*:", link):
            continue
        path, _, place = link.partition("#")
        target = (document.parent / unquote(path)).resolve() if path else document
        if not target.is_relative_to(root) or not target.exists():
            yield f"{where}: there is no {path}"
        elif place and target.suffix == ".md" and place not in anchors(target.read_text(encoding="utf-8")):
            yield f"{where}: {target.relative_to(root)} has no heading #{place}"


def main() -> int:
    """Print every broken link; return 1 if there is one."""
    documents = sorted({path for pattern in DOCUMENTS for path in ROOT.glob(pattern)})
    problems = [problem for document in documents for problem in broken_links(document, ROOT)]
    for problem in problems:
        print(problem, file=sys.stderr)
    print(f"{len(documents)} documents, {len(problems)} broken links")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

"""List the licences of everything that installing napari-celis brings, and refuse the GPL in its base.

    python scripts/licences.py [--extra NAME …] [--markdown]

Reads what is installed in the environment that runs it. The base is what a plain `pip install napari-celis`
brings, with all that those packages need in turn. A package under the GPL or AGPL there would bind whoever
passes the whole on; the LGPL does not, and extras are the user's own choice. Ends with 1 if there is one.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PACKAGE = "napari-celis"
COPYLEFT = re.compile(r"(?<!L)(?<!Lesser )\bA?GPL|GNU (Affero )?General Public License", re.IGNORECASE)
EXCEPTION = re.compile(r"\bWITH\b|exception", re.IGNORECASE)
"""The run-time libraries of GCC, which wheels of compiled packages carry."""


@dataclass(frozen=True)
class Licence:
    """What one package says about itself."""

    name: str
    version: str
    text: str
    """Its licence, on one line."""
    file_is_gpl: bool
    """Whether its only licence files are the text of the GPL."""

    @property
    def is_gpl(self) -> bool:
        """Whether all ways of using it lead to the GPL."""
        return is_gpl(self.text) or (self.file_is_gpl and not self.is_contradictory)

    @property
    def is_contradictory(self) -> bool:
        """Whether it declares the LGPL and brings the text of the GPL alone; what is declared counts."""
        return self.file_is_gpl and bool(re.search(r"LGPL|Lesser", self.text))


def is_gpl(text: str) -> bool:
    """Tell whether some part of a licence expression leaves nothing but the GPL."""
    parts = re.split(r"\s+AND\s+|;", text.replace("(", " ").replace(")", " "))
    return any(all(_is_bare_gpl(choice) for choice in re.split(r"\s+OR\s+", part)) for part in parts)


def _is_bare_gpl(choice: str) -> bool:
    return bool(COPYLEFT.search(choice)) and not EXCEPTION.search(choice)


def licence_of(package: Distribution) -> Licence:
    """Read the licence of an installed package: its expression, else its field, else its classifiers."""
    metadata = package.metadata
    classified = [
        line.rpartition("::")[2].strip()
        for line in metadata.get_all("Classifier") or []
        if line.startswith("License ::") and not line.endswith("OSI Approved")
    ]
    field = (metadata.get("License") or "").strip().splitlines()
    # Some put the whole text of their licence into the field; its first line is the name then.
    text = metadata.get("License-Expression") or "; ".join(classified) or (field[0] if field else "not said")
    begins = [_beginning(package, name) for name in metadata.get_all("License-File") or []]
    return Licence(
        canonicalize_name(metadata["Name"]),
        package.version,
        text.strip(),
        any(line.startswith(("GNU GENERAL", "GNU AFFERO")) for line in begins)
        and not any(line.startswith("GNU LESSER") for line in begins),
    )


def _beginning(package: Distribution, name: str) -> str:
    """Return the first line of a licence file, in capitals; "" if it is not there."""
    for path in (f"licenses/{name}", name):
        lines = (package.read_text(path) or "").strip().splitlines()
        if lines:
            return lines[0].strip().upper()
    return ""


def closure(requirements: Iterable[str], extras: Iterable[str]) -> tuple[dict[str, Distribution], set[str]]:
    """Find all packages that some requirements bring, and those of them that are not installed.

    Parameters
    ----------
    requirements : iterable of str
        As in the metadata of a package.
    extras : iterable of str
        Extras of that package that are wanted.
    """
    found: dict[str, Distribution] = {}
    missing: set[str] = set()
    seen: set[tuple[str, str]] = set()
    waiting = [(requirements, extra) for extra in ("", *extras)]
    while waiting:
        lines, extra = waiting.pop()
        for requirement in map(Requirement, lines):
            if requirement.marker is not None and not requirement.marker.evaluate({"extra": extra}):
                continue
            name = canonicalize_name(requirement.name)
            try:
                package = distribution(name)
            except PackageNotFoundError:
                missing.add(name)
                continue
            found[name] = package
            for further in ("", *requirement.extras):
                if (name, further) not in seen:
                    seen.add((name, further))
                    waiting.append((package.requires or [], further))
    return found, missing


def main() -> int:
    """Print the list; return 1 if there is a GPL in the base."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--extra", action="append", default=[], help="list what this extra brings too")
    parser.add_argument("--markdown", action="store_true", help="as a table")
    arguments = parser.parse_args()
    own = distribution(PACKAGE).requires or []
    base, missing = closure(own, ())
    everything, _ = closure(own, arguments.extra)
    licences = sorted(map(licence_of, everything.values()), key=lambda licence: licence.name)
    if arguments.markdown:
        print("| package | version | licence |\n|---|---|---|")
    for licence in licences:
        mark = "" if licence.name in base else " (extra)"
        row = (licence.name + mark, licence.version, licence.text)
        print(f"| {' | '.join(row)} |" if arguments.markdown else f"{row[0]:<36}{row[1]:<16}{row[2]}")
    for licence in licences:
        if licence.name in base and licence.is_contradictory:
            print(
                f"note: {licence.name} declares {licence.text}; its licence file is the GPL", file=sys.stderr
            )
    problems = [licence for licence in licences if licence.name in base and licence.is_gpl]
    for licence in problems:
        print(f"{licence.name} {licence.version} is under the GPL: {licence.text}", file=sys.stderr)
    if missing:
        print(f"not installed, so not looked at: {', '.join(sorted(missing))}", file=sys.stderr)
    return 1 if problems or missing else 0


if __name__ == "__main__":
    sys.exit(main())

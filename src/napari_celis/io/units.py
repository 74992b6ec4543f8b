"""Lengths in nanometres, whatever the file calls its unit.

A table by hand: to load pint takes about a second, which every command would wait for.
"""

from __future__ import annotations

NM_PER_UNIT = {
    "yoctometer": 1e-15,
    "zeptometer": 1e-12,
    "attometer": 1e-9,
    "femtometer": 1e-6,
    "picometer": 1e-3,
    "angstrom": 0.1,
    "nanometer": 1.0,
    "micrometer": 1e3,
    "millimeter": 1e6,
    "centimeter": 1e7,
    "inch": 2.54e7,
    "decimeter": 1e8,
    "foot": 3.048e8,
    "yard": 9.144e8,
    "meter": 1e9,
    "decameter": 1e10,
    "hectometer": 1e11,
    "kilometer": 1e12,
    "mile": 1.609344e12,
    "megameter": 1e15,
    "gigameter": 1e18,
    "terameter": 1e21,
    "petameter": 1e24,
    "exameter": 1e27,
    "zettameter": 1e30,
    "yottameter": 1e33,
}

SYMBOLS = {
    "pm": "picometer",
    "å": "angstrom",
    "a": "angstrom",
    "nm": "nanometer",
    "µm": "micrometer",
    "μm": "micrometer",
    "um": "micrometer",
    "\\u00b5m": "micrometer",
    "micron": "micrometer",
    "mm": "millimeter",
    "cm": "centimeter",
    "in": "inch",
    "dm": "decimeter",
    "ft": "foot",
    "yd": "yard",
    "m": "meter",
    "km": "kilometer",
}


def nm_per_unit(unit: object) -> float | None:
    """Find the length of one unit in nanometres.

    Parameters
    ----------
    unit : object
        A name or a symbol, in any case, singular or plural, British or American: `nm`, `microns`,
        `Micrometre`, `µm`.

    Returns
    -------
    length : float or None
        None for pixels, seconds, and whatever else is not a length.
    """
    if not isinstance(unit, str):
        return None
    word = unit.strip().lower().replace("metre", "meter")
    for candidate in (word, word.removesuffix("s")):
        name = SYMBOLS.get(candidate, candidate)
        if name in NM_PER_UNIT:
            return NM_PER_UNIT[name]
    return None

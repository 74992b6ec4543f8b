"""Numbers as texts that fit into narrow columns."""

from __future__ import annotations


def short_number(value: float) -> str:
    """Write a count in at most five characters, such as `9,876` or `12.3k`."""
    if value < 1e4:
        return f"{int(value):,}"
    divisor, unit = next((d, u) for d, u in ((1e9, "G"), (1e6, "M"), (1e3, "k")) if value >= d)
    scaled = value / divisor
    return f"{scaled:.{2 if scaled < 9.995 else 1 if scaled < 99.95 else 0}f}{unit}"


def signed(value: float) -> str:
    """Write a score with its sign, as exactly as fits in a narrow column."""
    decimals = 3 if abs(value) < 10 else 2 if abs(value) < 100 else 1
    # What rounds to nothing has no sign.
    return f"{value:+,.{decimals}f}".replace("-", "−") if round(value, decimals) else f"{0:.{decimals}f}"


def duration(seconds: float) -> str:
    """Write a time as people say it, such as `40 s`, `12 min` or `3.5 h`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"

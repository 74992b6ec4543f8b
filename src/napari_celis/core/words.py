"""What decisions are called, and numbers in sentences: one of a thing, or several."""

from __future__ import annotations

from collections.abc import Mapping

DECISION_NAMES = {
    "greedy": "merge",
    "manual": "merge",
    "keep-apart": "keep apart",
    "allow": "allow again",
    "cut": "cut",
    "split": "split",
    "confirm": "still right",
    "not-here": "not here",
    "done": "done",
    "in-work": "in work",
}
"""Names of the kinds of decisions, as people see them."""
COUNTED_NOUNS = {
    "greedy": ("merge", " by the run"),
    "manual": ("merge", " by hand"),
    "cut": ("cut", ""),
    "split": ("split", ""),
}
COUNTED_STATES = {"keep-apart": "kept apart", "allow": "allowed again"}


def counted(n: int, noun: str) -> str:
    """Say how many there are, such as `1 merge` or `1,200 merges`.

    Parameters
    ----------
    n : int
        How many.
    noun : str
        For one of them; an `s` makes it more.
    """
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def counted_decisions(counts: Mapping[str, int]) -> str:
    """Say how many decisions of each kind there are, such as `2 merges by hand, 1 kept apart`.

    Parameters
    ----------
    counts : mapping of str to int
        By kind of the decision; kinds of which there is none are left out.
    """
    parts = []
    for kind, name in DECISION_NAMES.items():
        n = counts.get(kind, 0)
        if n and kind in COUNTED_NOUNS:
            noun, by = COUNTED_NOUNS[kind]
            parts.append(counted(n, noun) + by)
        elif n:
            parts.append(f"{n:,} {COUNTED_STATES.get(kind, name)}")
    return ", ".join(parts)

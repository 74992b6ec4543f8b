"""Numbers in sentences: one of a thing, or several."""

from __future__ import annotations


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

"""Damage files in the ways that disks, networks, editors and enemies do; the same seed, the same damage."""

import json
import random
import re
import struct
from contextlib import suppress

NUMBERS = [0, 1, 2, 3, 5, 7, 255, 256, 65535, 2**31 - 1, 2**31, 2**32 - 1, 2**40, 2**62, 2**63 - 1, 2**64 - 1]
VALUES = [
    *(None, True, False, -1, 0, 1, 2, 3, 2**31, 10**12, 10**18, 10**30, 1e308, -1e308, 0.5, float("nan")),
    *(float("inf"), "", "x", "..", "float32", "|O", "uint64", [], {}, [1], [1, 2, 3], [[]], {"id": "pickle"}),
    *([10**6] * 3, [-1] * 3, [0, 0, 0], ["z", "y", "x"], [{}], "/", "é"),
]
HEADER = 640


def damage(content: bytes, rng: random.Random) -> bytes:
    """Change a file a little, or a lot."""
    if content[:1] in (b"{", b"[") and rng.random() < 0.6:
        with suppress(ValueError):
            return damage_json(content, rng)
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        content = rng.choice(DAMAGES)(content, rng)
    return content


def damage_json(content: bytes, rng: random.Random) -> bytes:
    """Replace, remove or repeat one value somewhere in the tree."""
    tree = json.loads(content)
    places: list[tuple[object, object]] = []

    def visit(node: object) -> None:
        for key in (
            list(node) if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
        ):
            places.append((node, key))
            visit(node[key])

    visit(tree)
    for _ in range(rng.choice([1, 1, 2]) if places else 0):
        node, key = rng.choice(places)
        action = rng.randrange(6)
        if action == 0 and isinstance(node, dict):
            node.pop(key, None)
        elif action == 1 and isinstance(node, list):
            node.extend(node[:2])
        elif isinstance(node, dict) or key < len(node):
            node[key] = rng.choice(VALUES)
    return json.dumps(tree).encode()


def _position(content: bytes, rng: random.Random) -> int:
    """Choose a place, more often in the header."""
    end = min(len(content), HEADER) if rng.random() < 0.5 else len(content)
    return rng.randrange(max(1, end))


def _flip_bits(content: bytes, rng: random.Random) -> bytes:
    changed = bytearray(content or b"\0")
    for _ in range(rng.randint(1, 8)):
        changed[_position(changed, rng)] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _overwrite(content: bytes, rng: random.Random) -> bytes:
    at, length = _position(content, rng), rng.randint(1, 64)
    filler = rng.choice([b"\0" * length, b"\xff" * length, rng.randbytes(length)])
    return content[:at] + filler + content[at + length :]


def _truncate(content: bytes, rng: random.Random) -> bytes:
    return content[: rng.choice([0, _position(content, rng), max(0, len(content) - rng.randint(1, 64))])]


def _insert(content: bytes, rng: random.Random) -> bytes:
    at = _position(content, rng)
    return content[:at] + rng.randbytes(rng.randint(1, 64)) + content[at:]


def _remove(content: bytes, rng: random.Random) -> bytes:
    at = _position(content, rng)
    return content[:at] + content[at + rng.randint(1, 64) :]


def _set_number(content: bytes, rng: random.Random) -> bytes:
    """Write an extreme number over 2, 4 or 8 bytes."""
    at, (size, code) = _position(content, rng), rng.choice([(2, "H"), (4, "I"), (8, "Q")])
    at -= at % rng.choice([1, 2, 4, 8])
    packed = struct.pack(rng.choice("<>") + code, rng.choice(NUMBERS) % 256**size)
    return content[:at] + packed + content[at + size :]


def _set_digits(content: bytes, rng: random.Random) -> bytes:
    """Replace a number that is written out in letters."""
    found = list(re.finditer(rb"\d+", content[: 4 * HEADER]))
    if not found:
        return _set_number(content, rng)
    match = rng.choice(found)
    return content[: match.start()] + str(rng.choice(NUMBERS)).encode() + content[match.end() :]


def _copy_part(content: bytes, rng: random.Random) -> bytes:
    """Copy one part of the file over another."""
    source, target, length = _position(content, rng), _position(content, rng), rng.randint(4, 256)
    return content[:target] + content[source : source + length] + content[target + length :]


DAMAGES = (
    _flip_bits,
    _flip_bits,
    _overwrite,
    _truncate,
    _insert,
    _remove,
    _set_number,
    _set_digits,
    _copy_part,
)

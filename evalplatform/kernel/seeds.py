"""Seeds: how one number in the project file becomes one number for every draw and every resampling."""

import hashlib


def seed_for_draw(seed: int | None, draw: int) -> int | None:
    """Return the seed that draw `draw` (0-based) sends: `seed + draw`, or None where no seed is set."""
    return None if seed is None else seed + draw


def derived_seed(*parts: object) -> int:
    """Return a 63-bit seed that depends on all the parts and on nothing else, for jitter and resampling.

    Parts are joined by their text, with their types: 1 and "1" give different seeds.
    """
    text = "\x1f".join(f"{type(part).__name__}:{part}" for part in parts)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1

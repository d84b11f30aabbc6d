"""JSON whose objects name every key once: of a repeated key readers keep the first or the last, so what was meant is open."""

import json
from collections.abc import Sequence
from typing import NoReturn

from evalplatform.kernel.text import clip

_SHOWN_KEY_CHARS = 80


class RepeatedKeyError(ValueError):
    """An object names a key twice."""

    def __init__(self, key: str) -> None:
        self.key = key
        super().__init__(f"an object names the key {clip(key, _SHOWN_KEY_CHARS)!r} twice")


def json_with_single_keys(text: str) -> object:
    """Return what a text says that a program wrote as JSON, which may hold Python's NaN. Raises as `strict_json` does."""
    return json.loads(text, object_pairs_hook=_with_single_keys)


def strict_json(text: str) -> object:
    """Return what a JSON text says.

    Raises:
        RepeatedKeyError: an object names a key twice.
        ValueError: it is no JSON; NaN and the infinities are none.
        RecursionError: it is nested too deep.
    """
    return json.loads(text, object_pairs_hook=_with_single_keys, parse_constant=_refuse_constant)


def _with_single_keys(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for key, value in pairs:
        if key in found:
            raise RepeatedKeyError(key)
        found[key] = value
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")

"""The shape of a tool call's arguments: their keys and JSON types, without their values."""

import json
from typing import NoReturn

ArgumentShape = tuple[str, ...]
"""One entry a place, sorted: where it is and what type stands there, such as `/flights/*/date: string`.

An array's elements are taken together under `*`, so its length is a value and no shape. A place that holds two types has two entries.
In a key, `~` is written `~0`, `/` is `~1` and `*` is `~2` (the first two as in JSON Pointer, RFC 6901).
"""

NOT_JSON: ArgumentShape = ("not JSON",)
TOO_LARGE: ArgumentShape = ("too large to compare",)
MAX_SHAPE_CHARS = 1_000_000
"""A key of a megabyte over a million others would make a shape of a terabyte; whatever comes near that has the shape TOO_LARGE."""


def argument_shape(arguments_text: str) -> ArgumentShape:
    """Return the shape of arguments as the agent wrote them. Text that is no JSON has a shape of its own, and NaN is no JSON."""
    try:
        # Numbers are not read: an integer of 5,000 digits has the type of any other, and 2 and 2.0 are both numbers.
        value = json.loads(arguments_text, parse_int=_number, parse_float=_number, parse_constant=_refused)
    except ValueError:
        return NOT_JSON
    except RecursionError:  # nested a thousand levels deep
        return TOO_LARGE
    places: set[str] = set()
    chars = 0
    todo: list[tuple[str, object]] = [("", value)]
    while todo:
        place, here = todo.pop()
        entry = f"{place}: {_type_name(here)}" if place else _type_name(here)
        if entry not in places:
            places.add(entry)
            chars += len(entry)
        if chars > MAX_SHAPE_CHARS:
            return TOO_LARGE
        if isinstance(here, dict):
            if len(place) * len(here) > MAX_SHAPE_CHARS:
                return TOO_LARGE
            todo += [(f"{place}/{_escaped(key)}", below) for key, below in here.items()]
        elif isinstance(here, list):
            todo += [(f"{place}/*", below) for below in here]
    return tuple(sorted(places))


def _type_name(value: object) -> str:
    if value is None:
        return "null"
    names = {bool: "boolean", float: "number", str: "string", list: "array", dict: "object"}
    return names[type(value)]


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1").replace("*", "~2")


def _number(_: str) -> float:
    return 0.0


def _refused(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")

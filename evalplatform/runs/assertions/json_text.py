"""JSON as it stands in an agent's texts: read strictly, compared by value, shown short."""

import json
from collections.abc import Hashable, Iterator
from math import isinf

from pydantic import JsonValue

from evalplatform.kernel.text import clip

MAX_SHOWN_CHARS = 80


class NotJsonTextError(ValueError):
    """A text is no JSON; the message says why."""


def json_of(text: str) -> JsonValue:
    """Return the JSON value that a text is.

    Raises:
        NotJsonTextError: it is none, or none that says one thing. NaN and the infinities are no JSON, a number beyond every float would be
            read as one, and of a name that an object holds twice one reader takes the first value and another the last.
    """
    try:
        value: JsonValue = json.loads(
            text, parse_constant=_refuse_constant, parse_float=_finite_number, object_pairs_hook=_object_of_single_names
        )
    except RecursionError:
        raise NotJsonTextError("it is nested too deeply") from None
    except ValueError as error:
        raise NotJsonTextError(str(error)) from None
    return value


def strings_in_json(text: str) -> Iterator[str]:
    """Iterate over the strings and names in a JSON text, unescaped; none where it is no JSON.

    It is read leniently, because it is searched and not trusted: of a name that stands twice both values are there.
    """
    if not text.lstrip().startswith(("{", "[", '"')):
        return
    try:
        pending = [
            json.loads(text, parse_constant=_nothing, parse_int=_nothing, parse_float=_nothing, object_pairs_hook=list, strict=False)
        ]
    except (ValueError, RecursionError):
        return
    while pending:
        value = pending.pop()
        if isinstance(value, list | tuple):  # an object is the list of its pairs
            pending += value
        elif isinstance(value, str):
            yield value


def json_equal(a: JsonValue, b: JsonValue) -> bool:
    """Return whether two JSON values are equal: 1 equals 1.0, true is no number, the order of an object's names says nothing."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(json_equal(value, b[name]) for name, value in a.items())
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(json_equal, a, b))
    return a == b


def json_key(value: JsonValue) -> Hashable:
    """Return what is equal of two values exactly where `json_equal` says that they are, and can be looked up in a set."""
    if isinstance(value, dict):
        return "object", frozenset((name, json_key(member)) for name, member in value.items())
    if isinstance(value, list):
        return "list", tuple(map(json_key, value))
    return isinstance(value, bool), value


def shown(value: JsonValue) -> str:
    """Return a value as JSON on one line, cut where it is long."""
    return clip(json.dumps(value, ensure_ascii=False), MAX_SHOWN_CHARS)


def shown_text(text: str) -> str:
    """Return a text in quotes on one line, cut where it is long."""
    return shown(text[: MAX_SHOWN_CHARS + 1])


def _refuse_constant(constant: str) -> JsonValue:
    raise ValueError(f"{constant} is no JSON")


def _finite_number(written: str) -> float:
    number = float(written)
    if isinf(number):
        raise ValueError(f"the number {clip(written, MAX_SHOWN_CHARS)} is too large")
    return number


def _object_of_single_names(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    document: dict[str, JsonValue] = {}
    for name, value in pairs:
        if name in document:
            raise ValueError(f"an object in it holds the name {shown_text(name)} twice")
        document[name] = value
    return document


def _nothing(_: str) -> None:
    return None

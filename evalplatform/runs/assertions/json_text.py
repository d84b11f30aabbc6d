"""JSON as it stands in an agent's texts: read strictly, compared by value, shown short."""

import json

from pydantic import JsonValue

from evalplatform.kernel.text import clip

MAX_SHOWN_CHARS = 80


class NotJsonTextError(ValueError):
    """A text is no JSON; the message says why."""


def json_of(text: str) -> JsonValue:
    """Return the JSON value that a text is.

    Raises:
        NotJsonTextError: it is none. NaN and the infinities are no JSON.
    """
    try:
        value: JsonValue = json.loads(text, parse_constant=_refuse_constant)
    except RecursionError:
        raise NotJsonTextError("it is nested too deeply") from None
    except ValueError as error:
        raise NotJsonTextError(str(error)) from None
    return value


def json_equal(a: JsonValue, b: JsonValue) -> bool:
    """Return whether two JSON values are equal: 1 equals 1.0, true is no number, the order of an object's names says nothing."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(json_equal(value, b[name]) for name, value in a.items())
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(json_equal, a, b))
    return a == b


def shown(value: JsonValue) -> str:
    """Return a value as JSON on one line, cut where it is long."""
    return clip(json.dumps(value, ensure_ascii=False), MAX_SHOWN_CHARS)


def shown_text(text: str) -> str:
    """Return a text in quotes on one line, cut where it is long."""
    return shown(text[: MAX_SHOWN_CHARS + 1])


def _refuse_constant(constant: str) -> JsonValue:
    raise ValueError(f"{constant} is no JSON")

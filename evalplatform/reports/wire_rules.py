"""What is wrong in a file of JSON, as the rule that it breaks: in the words of JSON, and not in those of the library that checks it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

LONGEST_VALUE_CHARS = 40
_KINDS = {
    "bool": "true or false",
    "dict": "an object",
    "finite": "a finite number",
    "float": "a number",
    "int": "a whole number",
    "list": "a list",
    "model": "an object",
    "string": "text",
    "tuple": "a list",
}
"""What a value should have been, by how the name of the problem begins."""
_RULES = {
    "missing": "is needed",
    "string_too_short": "must not be empty",
    "too_short": "must hold at least one item",
}
_BOUNDS = {"greater_than_equal": ("at least", "ge"), "less_than_equal": ("at most", "le")}


def wire_rule(problem: "ErrorDetails") -> str:
    """Return a problem that pydantic found as a sentence, with the value that stands there where it is short."""
    kind, context = problem["type"], problem.get("ctx", {})
    if kind == "value_error":
        return _sentence(str(context["error"]))
    if kind in _RULES:
        return _sentence(_RULES[kind])
    return _sentence(f"{_expected(kind, context, problem['msg'])}{_got(problem.get('input'))}")


def _expected(kind: str, context: Mapping[str, Any], message: str) -> str:
    if kind in _BOUNDS:
        words, bound = _BOUNDS[kind]
        return f"must be {words} {context[bound]:,}"
    if kind == "literal_error":
        return f"must be {context['expected']}"
    if kind == "string_pattern_mismatch":
        return f"must match {context['pattern']}"
    family = kind.partition("_")[0]
    return f"must be {_KINDS[family]}" if family in _KINDS else message.replace("Input should", "must", 1)


def _got(value: object) -> str:
    if isinstance(value, list):
        return ", not a list"
    if value is None:
        return ", not null"
    shown = repr(value)
    return f", not {shown}" if isinstance(value, str | int | float) and len(shown) <= LONGEST_VALUE_CHARS else ""


def _sentence(text: str) -> str:
    return f"{text.rstrip('.')}."

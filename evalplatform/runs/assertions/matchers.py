"""Matchers: what a value in a tool's arguments must be."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, JsonValue, model_validator

from evalplatform.kernel.values import Value
from evalplatform.runs.assertions.arguments import Pattern
from evalplatform.runs.assertions.json_pointer import Absent
from evalplatform.runs.assertions.json_text import json_equal, shown
from evalplatform.runs.pattern_search import text_found

Number = Annotated[float, Field(strict=True)]


class Matcher(Value):
    """What a value must be; where several rules are given, all of them hold.

    Attributes:
        matches: a regular expression that is found in the text.
        contains: a text that the text holds, or a value that the list holds.
        equals: a JSON value that it equals: 1 equals 1.0, and true is no number.
        one_of: values of which it equals one.
        greater_than, less_than: a bound that the number does not touch.
        present, absent: whether it is there at all, whatever it is.
    """

    # A rule that is not given says nothing, whatever its default: `equals: null` is a rule, and no `equals` is none.
    matches: Pattern = ""
    contains: JsonValue = None
    equals: JsonValue = None
    one_of: tuple[JsonValue, ...] = Field(default=(), min_length=1)
    greater_than: Number = 0.0
    less_than: Number = 0.0
    present: Literal[True] = True
    absent: Literal[True] = True

    @model_validator(mode="after")
    def _says_something(self) -> "Matcher":
        if not self.model_fields_set:
            raise ValueError(f"is an empty matcher; it has one of {', '.join(sorted(type(self).model_fields))}")
        if "absent" in self.model_fields_set and len(self.model_fields_set) > 1:
            raise ValueError("says that the value is absent, and what it is")
        return self

    def mismatch(self, value: JsonValue | Absent) -> str | None:
        """Return why a value does not match, as words that follow its pointer; None where it matches.

        Raises:
            UndecidedMatchError: a pattern took longer than a search is given.
        """
        wants_absent = "absent" in self.model_fields_set
        if isinstance(value, Absent):
            return None if wants_absent else "is absent"
        if wants_absent:
            return f"is {shown(value)}, not absent"
        for name in sorted(self.model_fields_set - {"present"}):
            wanted = getattr(self, name)
            if not _holds(name, wanted, value):
                return f"is {shown(value)}, not {_words(name, wanted)}"
        return None


class UndecidedMatchError(Exception):
    """A pattern could not be searched for in the time that a search is given."""


def _holds(rule: str, wanted: Any, value: JsonValue) -> bool:
    if rule == "equals":
        return json_equal(wanted, value)
    if rule == "one_of":
        return any(json_equal(one, value) for one in wanted)
    if rule == "contains":
        if isinstance(value, list):
            return any(json_equal(wanted, item) for item in value)
        return isinstance(value, str) and isinstance(wanted, str) and wanted in value
    if rule == "matches":
        return isinstance(value, str) and _found(wanted, value)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and (value > wanted if rule == "greater_than" else value < wanted)


def _found(pattern: str, text: str) -> bool:
    found = text_found(pattern, text)
    if found is None:
        raise UndecidedMatchError(f"the pattern {pattern!r} took too long to search for")
    return found


def _words(rule: str, wanted: Any) -> str:
    if rule == "equals":
        return shown(wanted)
    if rule == "one_of":
        return f"one of {shown(list(wanted))}"
    if rule == "contains":
        return f"what contains {shown(wanted)}"
    if rule == "matches":
        return f"text that matches {wanted!r}"
    return f"{rule.replace('_', ' ')} {wanted:g}"


def _as_matcher(given: Any) -> Any:
    """Return what stands for a matcher: a literal is one that equals it; a mapping is always one by its rules."""
    return given if isinstance(given, dict | Matcher) else {"equals": given}


def _or_a_literal(schema: dict[str, Any]) -> None:
    declared = dict(schema)
    schema.clear()
    schema["anyOf"] = [declared, {"type": ["string", "number", "boolean", "null", "array"]}]


GivenMatcher = Annotated[Matcher, BeforeValidator(_as_matcher), Field(json_schema_extra=_or_a_literal)]
"""A matcher, or a literal that is to be equal. An object that is to be equal is written `{equals: {...}}`, so that no typo reads as one."""

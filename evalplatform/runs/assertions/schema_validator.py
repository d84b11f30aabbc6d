"""Validating an agent's answer by a JSON Schema (2020-12), in bounded time.

The library's own rules are kept but for those that an answer can make slow or break: what searches for a pattern, `uniqueItems`, which
compares every pair, and `multipleOf`, which divides floats. `format` is a note and asserts nothing, as the draft has it by default.
"""

from collections.abc import Collection, Iterator
from fractions import Fraction
from functools import cache
from typing import Any

from pydantic import JsonValue

from evalplatform.runs.assertions.json_text import json_key, shown, shown_text
from evalplatform.runs.assertions.matchers import UndecidedMatchError
from evalplatform.runs.assertions.schema_rules import schemas_in
from evalplatform.runs.pattern_search import MAX_STEPS_AT_ONCE, texts_found, worst_case_steps

MAX_MESSAGE_CHARS = 200


def schema_mismatch(schema: dict[str, Any], value: JsonValue) -> str | None:
    """Return how a value breaks a schema that was checked, with the JSON path; None where it keeps to it.

    Raises:
        UndecidedMatchError: a pattern took longer than a search is given, or the value nests too deeply for the schema.
    """
    from jsonschema.exceptions import best_match  # type: ignore[import-untyped]

    _refuse_slow_names(schema, value)
    try:
        error = best_match(_validator_class()(schema).iter_errors(value))
        return None if error is None else f"{error.json_path}: {error.message[:MAX_MESSAGE_CHARS]}"
    except RecursionError:
        raise UndecidedMatchError("the final message nests too deeply for the schema") from None


def _refuse_slow_names(schema: dict[str, Any], value: JsonValue) -> None:
    """Raise UndecidedMatchError where `unevaluatedProperties`, which searches for patterns on its own, could take long to."""
    parts = [part for _, part in schemas_in(schema)]
    if not any("unevaluatedProperties" in part for part in parts):
        return
    longest_chars = max((len(name) for name in _names_in(value)), default=0)
    for pattern in {pattern for part in parts for pattern in part.get("patternProperties", {})}:
        if worst_case_steps(pattern, longest_chars) > MAX_STEPS_AT_ONCE:
            raise _undecided(pattern)


def _names_in(value: JsonValue) -> Iterator[str]:
    pending = [value]
    while pending:
        found = pending.pop()
        if isinstance(found, dict):
            yield from found
            pending += found.values()
        elif isinstance(found, list):
            pending += found


@cache
def _validator_class() -> Any:
    from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
    from jsonschema.validators import extend  # type: ignore[import-untyped]

    rules = {
        "additionalProperties": _additional_properties,
        "multipleOf": _multiple_of,
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "uniqueItems": _unique_items,
    }
    return extend(Draft202012Validator, rules)


# Each is called as jsonschema calls its rules: the validator, what stands under the keyword, the value, and the schema around it.


def _pattern(_: Any, pattern: str, instance: object, __: object) -> Iterator[Any]:
    if isinstance(instance, str) and not _matching(pattern, [instance]):
        yield _problem(f"{shown_text(instance)} does not match {pattern!r}")


def _pattern_properties(validator: Any, schemas: dict[str, Any], instance: object, _: object) -> Iterator[Any]:
    if isinstance(instance, dict):
        for pattern, schema in schemas.items():
            for name in _matching(pattern, instance):
                yield from validator.descend(instance[name], schema, path=name, schema_path=pattern)


def _additional_properties(validator: Any, schema: Any, instance: object, around: dict[str, Any]) -> Iterator[Any]:
    if not isinstance(instance, dict):
        return
    known = set(around.get("properties", {}))
    for pattern in around.get("patternProperties", {}):
        known |= _matching(pattern, instance)
    additional = [name for name in instance if name not in known]
    if schema is False and additional:
        yield _problem(f"holds {shown_text(additional[0])}, which is none of the properties that the schema names")
    elif isinstance(schema, dict):
        for name in additional:
            yield from validator.descend(instance[name], schema, path=name)


def _multiple_of(_: Any, factor: float, instance: object, __: object) -> Iterator[Any]:
    # By the digits as they are written: 0.3 is a multiple of 0.1, which no two floats say.
    if isinstance(instance, int | float) and not isinstance(instance, bool) and Fraction(repr(instance)) % Fraction(repr(factor)):
        yield _problem(f"{shown(instance)} is not a multiple of {factor}")


def _unique_items(_: Any, wanted: bool, instance: object, __: object) -> Iterator[Any]:
    if wanted and isinstance(instance, list) and len(set(map(json_key, instance))) < len(instance):
        yield _problem("an item stands in the list twice")


def _matching(pattern: str, texts: Collection[str]) -> set[str]:
    ordered = list(texts)
    found = texts_found(pattern, ordered)
    if None in found:
        raise _undecided(pattern)
    return {text for text, is_found in zip(ordered, found, strict=True) if is_found}


def _undecided(pattern: str) -> UndecidedMatchError:
    return UndecidedMatchError(f"the pattern {pattern!r} took too long to search for")


def _problem(message: str) -> Any:
    from jsonschema import ValidationError

    return ValidationError(message)

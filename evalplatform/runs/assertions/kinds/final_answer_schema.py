"""`final_answer_schema`: the agent's final message is JSON that keeps to a JSON Schema."""

import json
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Annotated, Any

from pydantic import AfterValidator, JsonValue

from evalplatform.runs.assertions.assertion import PASSED, AssertionKind, Finding, RunFacts, assertion_kinds, failed, unchecked
from evalplatform.runs.assertions.json_text import NotJsonTextError, json_of, shown_text
from evalplatform.runs.assertions.matchers import UndecidedMatchError
from evalplatform.runs.pattern_search import text_found, worst_case_steps

MAX_MESSAGE_CHARS = 200


def _checked_schema(schema: dict[str, Any]) -> dict[str, Any]:
    _refuse_unusable(json.dumps(schema, sort_keys=True))
    return schema


@lru_cache(maxsize=256)
def _refuse_unusable(schema_text: str) -> None:
    """Raise ValueError for what is no usable schema; a schema grades many runs and is checked once."""
    from jsonschema import Draft202012Validator, SchemaError  # type: ignore[import-untyped]

    schema = json.loads(schema_text)
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        raise ValueError(f"is no JSON Schema at {error.json_path}: {error.message}") from None
    except (OverflowError, RecursionError):
        raise ValueError("is no JSON Schema that can be used: a pattern repeats too much, or it nests too deeply") from None
    for part in _objects_in(schema):
        reference = part.get("$ref", part.get("$dynamicRef"))
        if isinstance(reference, str) and not reference.startswith("#"):
            raise ValueError(f"refers to {reference!r}; nothing is fetched, so a $ref starts with '#'")
        names = part.get("patternProperties")
        for pattern in names if isinstance(names, dict) else ():
            if worst_case_steps(pattern, 1) == float("inf"):
                raise ValueError(f"repeats a group in the name pattern {pattern!r}, which can take endless time; repeat single characters")


def _objects_in(schema: object) -> Iterator[dict[str, Any]]:
    if isinstance(schema, dict):
        yield schema
    for part in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        yield from _objects_in(part)


@cache
def _validator_class() -> Any:
    """Return the validator of the 2020-12 draft whose `pattern` is searched for in bounded time."""
    from jsonschema import Draft202012Validator, ValidationError
    from jsonschema.validators import extend  # type: ignore[import-untyped]

    def pattern(validator: Any, wanted: str, instance: object, _: object) -> Iterator[Any]:
        if not isinstance(instance, str):
            return
        found = text_found(wanted, instance)
        if found is None:
            raise UndecidedMatchError(f"the pattern {wanted!r} took too long to search for")
        if not found:
            yield ValidationError(f"{shown_text(instance)} does not match {wanted!r}")

    return extend(Draft202012Validator, {"pattern": pattern})


def _check(schema: dict[str, Any], facts: RunFacts) -> Finding:
    from jsonschema.exceptions import best_match  # type: ignore[import-untyped]
    from referencing.exceptions import Unresolvable

    text = facts.trajectory.final_text
    if text is None:
        return failed("the agent wrote no final message")
    try:
        error = best_match(_validator_class()(schema).iter_errors(json_of(text)))
    except NotJsonTextError as not_json:
        return failed(f"the final message is no JSON: {not_json}")
    except UndecidedMatchError as undecided:
        return unchecked(str(undecided))
    except (Unresolvable, RecursionError) as broken:
        return unchecked(f"the schema cannot be applied ({type(broken).__name__}): a $ref that leads nowhere, or round in a circle")
    return PASSED if error is None else failed(f"{error.json_path}: {error.message[:MAX_MESSAGE_CHARS]}")


JsonSchema = Annotated[dict[str, JsonValue], AfterValidator(_checked_schema)]

assertion_kinds.register("final_answer_schema")(
    AssertionKind(JsonSchema, "The agent's final message is JSON that keeps to this JSON Schema (2020-12).", _check)
)

"""What a JSON Schema in a scenario file may say: whatever grading would pass over in silence is refused when the file is loaded.

A keyword that a validator does not know, and a `$ref` that leads nowhere, assert nothing, so a mistyped schema would pass every answer.
"""

import json
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from pydantic_core import PydanticCustomError

from evalplatform.kernel.errors import nearest_name

DRAFT = "https://json-schema.org/draft/2020-12/schema"

# The keywords of the draft, by what stands under them: one schema, a list of schemas, schemas by name, or what is no schema.
_ONE_SCHEMA = frozenset(
    [
        "additionalProperties",
        "contains",
        "contentSchema",
        "else",
        "if",
        "items",
        "not",
        "propertyNames",
        "then",
        "unevaluatedItems",
        "unevaluatedProperties",
    ]
)
_SCHEMA_LIST = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
_SCHEMAS_BY_NAME = frozenset({"$defs", "definitions", "dependentSchemas", "patternProperties", "properties"})
_OTHER = frozenset(
    [
        "$anchor",
        "$comment",
        "$dynamicAnchor",
        "$dynamicRef",
        "$id",
        "$ref",
        "$schema",
        "$vocabulary",
        "const",
        "contentEncoding",
        "contentMediaType",
        "default",
        "dependentRequired",
        "deprecated",
        "description",
        "enum",
        "examples",
        "exclusiveMaximum",
        "exclusiveMinimum",
        "format",
        "maxContains",
        "maxItems",
        "maxLength",
        "maxProperties",
        "maximum",
        "minContains",
        "minItems",
        "minLength",
        "minProperties",
        "minimum",
        "multipleOf",
        "pattern",
        "readOnly",
        "required",
        "title",
        "type",
        "uniqueItems",
        "writeOnly",
    ]
)
KEYWORDS = _ONE_SCHEMA | _SCHEMA_LIST | _SCHEMAS_BY_NAME | _OTHER

# What the keywords of older drafts became.
_RENAMED = {"additionalItems": "items", "dependencies": "dependentRequired", "divisibleBy": "multipleOf", "id": "$id"}
_OWN_PREFIX = "x-"
"""A keyword that starts so is a note of the author's, and is known to say nothing."""

# Under these stands a schema for the very same value; a circle of them never comes to an end.
_SAME_VALUE = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas")


class PlacedSchema(NamedTuple):
    """A schema within a schema, and the JSON path at which it stands."""

    path: str
    schema: dict[str, Any]


def schemas_in(schema: object, path: str = "$") -> Iterator[PlacedSchema]:
    """Iterate over a schema and all the schemas in it; a schema that is true or false has nothing in it to look at."""
    if not isinstance(schema, dict):
        return
    yield PlacedSchema(path, schema)
    for keyword, under in schema.items():
        for step, part in _parts(keyword, under):
            yield from schemas_in(part, f"{path}.{keyword}{step}")


def checked_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema, or raise ValueError with the rule that it breaks and where."""
    _refuse_unusable(json.dumps(schema, sort_keys=True))
    return schema


@lru_cache(maxsize=256)
def _refuse_unusable(schema_text: str) -> None:
    """Raise ValueError for what is no usable schema; a schema grades many runs and is checked once."""
    from jsonschema import Draft202012Validator, SchemaError  # type: ignore[import-untyped]

    schema = json.loads(schema_text)
    for path, part in schemas_in(schema):
        _refuse_other_draft(path, part)
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        raise ValueError(f"is no JSON Schema at {error.json_path}: {error.message}") from None
    except (OverflowError, RecursionError):
        raise ValueError("is no JSON Schema that can be used: a pattern repeats too much, or it nests too deeply") from None
    for path, part in schemas_in(schema):
        _refuse_unknown_keywords(path, part)
    _refuse_circles(schema)


def _refuse_other_draft(path: str, part: dict[str, Any]) -> None:
    draft = part.get("$schema", DRAFT)
    if not isinstance(draft, str) or draft.removesuffix("#") != DRAFT:
        raise _with_nearest(f"is of another draft at {path}: $schema is {draft!r}, and only 2020-12 is graded by", DRAFT)
    if path != "$" and "$id" in part:
        raise ValueError(f"has an $id at {path}; only the whole schema may have one, and a part is named by $anchor or its place")


def _refuse_unknown_keywords(path: str, part: dict[str, Any]) -> None:
    for keyword in part:
        if keyword not in KEYWORDS and not keyword.startswith(_OWN_PREFIX):
            nearest = _RENAMED.get(keyword) or nearest_name(keyword, KEYWORDS)
            raise _with_nearest(f"has the unknown keyword {keyword!r} at {path}; one of your own starts with {_OWN_PREFIX!r}", nearest)


def _with_nearest(rule: str, nearest: str | None) -> PydanticCustomError:
    # The rule is no template: its braces stand for themselves.
    return PydanticCustomError("schema_rule", "{rule}", {"rule": rule, "nearest": nearest})


def _refuse_circles(schema: dict[str, Any]) -> None:
    """Refuse a `$ref` that leads nowhere, and one that leads back to where it stands without a step into the value."""
    placed = {id(part): PlacedSchema(path, part) for path, part in schemas_in(schema)}
    ended: set[int] = set()
    for start in placed.values():
        _walk(start, placed, schema, ended, [])


def _walk(at: PlacedSchema, placed: dict[int, PlacedSchema], root: dict[str, Any], ended: set[int], above: list[int]) -> None:
    here = id(at.schema)
    if here in above:
        raise ValueError(f"refers in a circle at {at.path}: a $ref leads back to it without a step into the value")
    if here in ended:
        return
    for part in (*_referred(at, root), *_of_the_same_value(at.schema)):
        if isinstance(part, dict):
            if id(part) not in placed:
                raise ValueError(f"refers at {at.path} to a place that is no schema")
            _walk(placed[id(part)], placed, root, ended, [*above, here])
    ended.add(here)


def _referred(at: PlacedSchema, root: dict[str, Any]) -> Iterator[object]:
    from referencing import Registry
    from referencing.exceptions import Unresolvable
    from referencing.jsonschema import DRAFT202012

    for reference in (at.schema.get("$ref"), at.schema.get("$dynamicRef")):
        if reference is None:
            continue
        if not reference.startswith("#"):
            raise ValueError(f"refers to {reference!r} at {at.path}; nothing is fetched, so a $ref starts with '#'")
        registry: Registry[Any] = Registry()
        try:
            yield registry.resolver_with_root(DRAFT202012.create_resource(root)).lookup(reference).contents
        except (Unresolvable, ValueError, TypeError):  # the latter two: a step into a list or a text by what is no number
            named = [f"#/{keyword}/{name}" for keyword in ("$defs", "definitions") for name in root.get(keyword, {})]
            raise _with_nearest(f"refers to {reference!r} at {at.path}, which leads nowhere", nearest_name(reference, named)) from None


def _of_the_same_value(schema: dict[str, Any]) -> Iterator[object]:
    for keyword in _SAME_VALUE:
        if keyword in schema:
            yield from (part for _, part in _parts(keyword, schema[keyword]))


def _parts(keyword: str, under: object) -> Iterator[tuple[str, object]]:
    """Iterate over the schemas right under a keyword, each with its own step of the path."""
    if keyword in _ONE_SCHEMA:
        yield "", under
    elif keyword in _SCHEMA_LIST and isinstance(under, list):
        yield from ((f"[{place}]", part) for place, part in enumerate(under))
    elif keyword in _SCHEMAS_BY_NAME and isinstance(under, dict):
        yield from ((f".{name}", part) for name, part in under.items())

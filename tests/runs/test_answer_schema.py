"""JSON Schemas for final answers: what asserts nothing is refused at load, and no answer can hang or break the judge."""

from typing import Any

import jsonschema_specifications  # type: ignore[import-untyped]
import pytest
from hypothesis import given
from pydantic import JsonValue, ValidationError

from evalplatform.runs.assertions.assertion import Finding, assertion_kinds
from evalplatform.runs.assertions.json_text import json_equal, json_key
from evalplatform.runs.assertions.schema_rules import DRAFT, KEYWORDS
from tests.support.run_facts import call, facts, says, user
from tests.support.run_strategies import JSON_VALUES

KIND = assertion_kinds.get("final_answer_schema")


def found(schema: dict[str, Any], answer: str) -> Finding:
    return KIND.finding(schema, facts(says(answer)))


@pytest.mark.parametrize(
    ("schema", "rule"),
    [
        (
            {"$schema": "http://json-schema.org/draft-07/schema#"},
            "is of another draft at $: $schema is 'http://json-schema.org/draft-07/sch",
        ),
        ({"properties": {"a": {"requird": ["b"]}}}, "unknown keyword 'requird' at $.properties.a"),
        ({"allOf": [{"$defs": {"a": {"typ": "object"}}}]}, "unknown keyword 'typ' at $.allOf[0].$defs.a"),
        ({"dependencies": {"a": ["b"]}}, "unknown keyword 'dependencies' at $"),
        ({"$ref": "#/$defs/nope"}, "refers to '#/$defs/nope' at $, which leads nowhere"),
        ({"properties": {"a": {"$ref": "#node"}}}, "refers to '#node' at $.properties.a, which leads nowhere"),
        ({"oneOf": [{}], "$ref": "#/oneOf/x"}, "leads nowhere"),
        ({"properties": {"a": {}}, "$ref": "#/properties"}, "refers at $ to a place that is no schema"),
        ({"enum": [{"a": 1}], "not": {"$ref": "#/enum/0"}}, "refers at $.not to a place that is no schema"),
        ({"$ref": "#"}, "refers in a circle at $"),
        ({"$defs": {"a": {"anyOf": [{"$ref": "#/$defs/b"}]}, "b": {"not": {"$ref": "#/$defs/a"}}}}, "refers in a circle at $.$defs.a"),
        ({"$ref": "other.json"}, "nothing is fetched"),
        ({"properties": {"a": {"$id": "x"}}}, "has an $id at $.properties.a"),
    ],
)
def test_a_schema_that_would_pass_every_answer_in_silence_is_refused(schema: dict[str, Any], rule: str) -> None:
    with pytest.raises(ValidationError) as refused:
        KIND.adapter.validate_python(schema)
    assert rule in str(refused.value)


@pytest.mark.parametrize(
    ("keyword", "nearest"), [("requird", "required"), ("additionalItems", "items"), ("dependencies", "dependentRequired"), ("zzz", None)]
)
def test_an_unknown_keyword_is_answered_with_the_nearest_one(keyword: str, nearest: str | None) -> None:
    with pytest.raises(ValidationError) as refused:
        KIND.adapter.validate_python({keyword: {}})
    assert refused.value.errors()[0]["ctx"]["nearest"] == nearest


def test_names_and_values_that_look_like_keywords_are_none_and_notes_of_ones_own_are_allowed() -> None:
    schema = {
        "$schema": DRAFT,
        "$id": "https://example.com/answer",
        "x-owner": "billing",
        "properties": {"requird": {"enum": [{"typ": 1}], "default": {"$ref": "#/nowhere"}}},
        "$defs": {"a b": {"$anchor": "node", "type": "object", "properties": {"next": {"$ref": "#node"}, "root": {"$ref": "#"}}}},
        "anyOf": [{"$ref": "#/$defs/a%20b"}, True],
    }
    assert found(schema, '{"next": {"next": {}}}').state == "passed"
    assert found(schema, '{"requird": {"typ": 2}}').state == "failed"


def test_the_keywords_are_those_of_the_draft() -> None:
    base = "https://json-schema.org/draft/2020-12/meta/"
    vocabularies = ["core", "applicator", "unevaluated", "validation", "meta-data", "format-annotation", "content"]
    declared = {word for name in vocabularies for word in jsonschema_specifications.REGISTRY.contents(base + name)["properties"]}
    assert declared | {"definitions"} == KEYWORDS


def test_a_format_asserts_nothing() -> None:
    assert found({"format": "email"}, '"no address"').state == "passed"


@given(JSON_VALUES, JSON_VALUES)
def test_two_values_have_one_key_exactly_where_they_are_equal(a: JsonValue, b: JsonValue) -> None:
    assert (json_key(a) == json_key(b)) == json_equal(a, b)
    assert json_key(a) == json_key(a)


@pytest.mark.parametrize(
    ("answer", "state"),
    [('[1, true, "1", null, [1], {"a": 1}]', "passed"), ("[1, 1.0]", "failed"), ('[{"a": 1, "b": [2]}, {"b": [2.0], "a": 1}]', "failed")],
)
def test_items_are_told_apart_by_value(answer: str, state: str) -> None:
    assert found({"uniqueItems": True}, answer).state == state
    assert found({"uniqueItems": False}, answer).state == "passed"


def test_many_items_are_compared_without_comparing_every_pair() -> None:
    items = ",".join(f'{{"a": {number}}}' for number in range(20_000))
    assert found({"uniqueItems": True}, f"[{items}]").state == "passed"
    assert found({"uniqueItems": True}, f'[{items}, {{"a": 7.0}}]') == Finding("failed", "$: an item stands in the list twice")


@pytest.mark.parametrize(
    ("factor", "answer", "state"),
    [(0.1, "0.3", "passed"), (0.01, "19.99", "passed"), (2, "3", "failed"), (0.5, "1" + "0" * 400, "passed"), (3, "true", "passed")],
)
def test_a_multiple_is_one_by_the_digits_as_they_are_written(factor: float, answer: str, state: str) -> None:
    assert found({"multipleOf": factor}, answer).state == state


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("1e999", "the number 1e999 is too large"),
        ('{"a": 1, "b": {"c": 1, "c": 2}}', 'holds the name "c" twice'),
        ("[NaN]", "NaN is no JSON"),
    ],
)
def test_an_answer_that_says_no_one_thing_fails_and_says_so(answer: str, reason: str) -> None:
    finding = found({}, answer)
    assert finding.state == "failed"
    assert reason in str(finding.detail)


NAMED = {"properties": {"id": {}}, "patternProperties": {"^n_": {"type": "integer"}}, "additionalProperties": False}


@pytest.mark.parametrize(
    ("schema", "answer", "detail"),
    [
        (NAMED, '{"id": "x", "n_1": 1}', None),
        (NAMED, '{"n_1": "1"}', "$.n_1: '1' is not of type 'integer'"),
        (NAMED, '{"m": 1}', '$: holds "m", which is none of the properties that the schema names'),
        (NAMED | {"additionalProperties": {"type": "null"}}, '{"m": 1}', "$.m: 1 is not of type 'null'"),
        (NAMED | {"additionalProperties": True}, '{"m": 1}', None),
        (NAMED, "[1]", None),
    ],
)
def test_names_are_matched_by_pattern(schema: dict[str, Any], answer: str, detail: str | None) -> None:
    assert found(schema, answer).detail == detail


@pytest.mark.parametrize("beside", [{}, {"additionalProperties": False}, {"unevaluatedProperties": False}])
def test_a_name_pattern_that_takes_too_long_is_unchecked(monkeypatch: pytest.MonkeyPatch, beside: dict[str, Any]) -> None:
    monkeypatch.setattr("evalplatform.runs.pattern_search.SEARCH_SECONDS", 0.5)
    finding = found(beside | {"patternProperties": {"^(a+)+$": {}}}, '{"' + "a" * 60 + 'b": 1}')
    assert finding.state == "unchecked"
    assert "took too long" in str(finding.detail)


def test_an_answer_that_nests_too_deeply_for_the_schema_is_unchecked_for_that_reason() -> None:
    nested = {"$defs": {"n": {"items": {"$ref": "#/$defs/n"}}}, "$ref": "#/$defs/n"}
    assert found(nested, "[" * 20 + "]" * 20).state == "passed"
    assert found(nested, "[" * 600 + "]" * 600) == Finding("unchecked", "the final message nests too deeply for the schema")


def test_without_a_final_message_it_fails_and_says_why() -> None:
    assert KIND.finding({}, facts(user("And now?"))).detail == "the agent wrote no final message"
    assert "follows its last tool call, of pay" in str(KIND.finding({}, facts(says("{}"), call("pay"))).detail)

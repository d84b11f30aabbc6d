"""JSON pointers and matchers: which place in the arguments is meant, and what may stand there."""

from typing import Any

import pytest
from pydantic import JsonValue, TypeAdapter, ValidationError

from evalplatform.runs.assertions.json_pointer import ABSENT, JsonPointer, value_at
from evalplatform.runs.assertions.json_text import NotJsonTextError, json_equal, json_of
from evalplatform.runs.assertions.matchers import GivenMatcher, Matcher, UndecidedMatchError

POINTER: TypeAdapter[str] = TypeAdapter(JsonPointer)
MATCHER: TypeAdapter[Matcher] = TypeAdapter(GivenMatcher)

# The document and the results are those of RFC 6901, section 5.
RFC_DOCUMENT: JsonValue = {
    "foo": ["bar", "baz"],
    "": 0,
    "a/b": 1,
    "c%d": 2,
    "e^f": 3,
    "g|h": 4,
    "i\\j": 5,
    'k"l': 6,
    " ": 7,
    "m~n": 8,
}


@pytest.mark.parametrize(
    ("pointer", "value"),
    [
        ("", RFC_DOCUMENT),
        ("/foo", ["bar", "baz"]),
        ("/foo/0", "bar"),
        ("/", 0),
        ("/a~1b", 1),
        ("/c%d", 2),
        ("/e^f", 3),
        ("/g|h", 4),
        ("/i\\j", 5),
        ('/k"l', 6),
        ("/ ", 7),
        ("/m~0n", 8),
    ],
)
def test_a_pointer_names_what_the_standard_says(pointer: str, value: JsonValue) -> None:
    assert value_at(RFC_DOCUMENT, POINTER.validate_python(pointer)) == value


@pytest.mark.parametrize(
    "pointer", ["/foo/2", "/foo/-", "/foo/01", "/foo/-1", "/foo/x", "/foo/0/0", "/nothing", "/foo/²", "/foo/" + "9" * 5000]
)
def test_a_pointer_that_leads_nowhere_finds_nothing(pointer: str) -> None:
    assert value_at(RFC_DOCUMENT, POINTER.validate_python(pointer)) is ABSENT


def test_an_escaped_tilde_is_read_last() -> None:
    assert value_at({"~1": "tilde one", "/": "slash"}, "/~01") == "tilde one"


@pytest.mark.parametrize("pointer", ["a", "a/b", "/a~", "/a~2b", "#/a"])
def test_what_is_no_pointer_is_refused(pointer: str) -> None:
    with pytest.raises(ValidationError, match="is no JSON pointer"):
        POINTER.validate_python(pointer)


def holds(given: Any, value: JsonValue) -> bool:
    return MATCHER.validate_python(given).mismatch(value) is None


@pytest.mark.parametrize(
    ("given", "matching", "others"),
    [
        (1, [1, 1.0], [True, "1", None, [1], 2]),
        (True, [True], [1, "true", False]),
        (None, [None], [0, "", False, []]),
        ("a", ["a"], ["A", "ab", ["a"]]),
        ([1, {"b": 2.0}], [[1.0, {"b": 2}]], [[1], [{"b": 2}, 1], [1, {"b": 2, "c": 3}]]),
        ({"equals": {"a": 1}}, [{"a": 1.0}], [{"a": True}, {}, [1]]),
        ({"equals": None}, [None], [0, "null"]),
        ({"matches": "^A-\\d+$"}, ["A-12"], ["B-12", 12, None, ["A-12"]]),
        ({"contains": "lim"}, ["limit", "a limit"], ["Lim", 3, None, {"lim": 1}]),
        ({"contains": 2}, [[1, 2.0]], [[True], [[2]], "2", 2]),
        ({"one_of": [1, "b", None]}, [1.0, "b", None], [True, "c", [1]]),
        ({"greater_than": 2}, [3, 2.5, 10**400], [2, 2.0, "3", True, None]),
        ({"less_than": 2.5}, [2, -1], [2.5, False, "1"]),
        ({"greater_than": 0, "less_than": 10}, [5], [0, 10, 11]),
        ({"present": True}, [None, False, 0, ""], []),
        ({"present": True, "matches": "a"}, ["a"], ["b"]),
        ({"absent": True}, [], [None, 0, "a"]),
    ],
)
def test_a_matcher_holds_of_what_it_says(given: Any, matching: list[JsonValue], others: list[JsonValue]) -> None:
    assert [value for value in matching if not holds(given, value)] == []
    assert [value for value in others if holds(given, value)] == []


def test_what_is_absent_matches_no_matcher_but_absent() -> None:
    for given in (None, {"equals": None}, {"present": True}, {"contains": ""}, {"one_of": [None]}):
        assert MATCHER.validate_python(given).mismatch(ABSENT) == "is absent"
    assert MATCHER.validate_python({"absent": True}).mismatch(ABSENT) is None


@pytest.mark.parametrize(
    ("given", "value", "words"),
    [
        (20, 30, "is 30, not 20"),
        ({"matches": "^A"}, "B", "is \"B\", not text that matches '^A'"),
        ({"less_than": 5}, 7, "is 7, not less than 5"),
        ({"absent": True}, "x" * 200, f'is "{"x" * 79}…, not absent'),
    ],
)
def test_a_mismatch_says_what_is_there_and_what_should_be(given: Any, value: JsonValue, words: str) -> None:
    assert MATCHER.validate_python(given).mismatch(value) == words


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"mathces": "a"},
        {"matches": "("},
        {"matches": None},
        {"matches": ""},
        {"greater_than": "3"},
        {"greater_than": None},
        {"one_of": []},
        {"present": False},
        {"absent": True, "equals": 1},
    ],
)
def test_a_matcher_that_says_nothing_or_two_things_is_refused(given: Any) -> None:
    with pytest.raises(ValidationError):
        MATCHER.validate_python(given)


def test_a_pattern_that_takes_too_long_is_neither_a_match_nor_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evalplatform.runs.pattern_search.SEARCH_SECONDS", 0.5)
    with pytest.raises(UndecidedMatchError, match="took too long"):
        MATCHER.validate_python({"matches": "(a+)+$"}).mismatch("a" * 60 + "b")


@pytest.mark.parametrize(
    "text", ["", "{", "{'a': 1}", "NaN", "[Infinity]", "1 2", "[" * 100_000, "id=3", "9" * 5000, "1e999", '{"a": 1, "a": 1}', "-1e400"]
)
def test_what_is_no_json_is_never_read_as_some(text: str) -> None:
    with pytest.raises(NotJsonTextError):
        json_of(text)


def test_equality_of_json_is_by_value_and_true_is_no_number() -> None:
    assert json_equal({"a": [1, None], "b": "x"}, {"b": "x", "a": [1.0, None]})
    assert not json_equal([True], [1])
    assert not json_equal({"a": 0}, {"a": False})

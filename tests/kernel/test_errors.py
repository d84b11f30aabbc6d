"""What an error says: the place, the rule, the nearest name; and one tree that is drawn as it is."""

import inspect
import re

import pytest

from evalplatform.kernel import errors
from evalplatform.kernel.errors import EvalplatformError, InputError, UnknownNameError, nearest_name


@pytest.mark.parametrize(
    ("place", "sentence"),
    [
        ({}, "must be 1."),
        ({"file": "a.yaml"}, "a.yaml: must be 1."),
        ({"file": "a.yaml", "line": 3}, "a.yaml:3: must be 1."),
        ({"line": 3}, "line 3: must be 1."),
        ({"field": "x.y"}, "x.y: must be 1."),
        ({"file": "a.yaml", "line": 3, "field": "x.y", "nearest": "z"}, "a.yaml:3: x.y: must be 1. Did you mean 'z'?"),
    ],
)
def test_an_input_error_is_one_sentence_with_its_place_first(place: dict, sentence: str) -> None:  # type: ignore[type-arg]
    assert str(InputError("must be 1.", **place)) == sentence


def test_an_error_can_be_given_the_place_that_only_its_caller_knows() -> None:
    error = UnknownNameError("provider", "opnai", ["openai"], field="provider")
    assert error.placed(file="p.yaml", line=4, field="endpoints.a.provider") is error
    assert str(error) == "p.yaml:4: endpoints.a.provider: unknown provider 'opnai' (known: openai). Did you mean 'openai'?"
    assert str(error.placed()) == str(error)


def test_an_unknown_name_lists_what_is_known_and_the_nearest() -> None:
    assert str(UnknownNameError("cell", "smal", ["small", "large"])) == "unknown cell 'smal' (known: large, small). Did you mean 'small'?"
    assert str(UnknownNameError("cell", "x", [])) == "unknown cell 'x' (known: none)."


def test_of_many_known_names_the_nearest_are_shown_and_the_others_counted() -> None:
    known = [f"cell-{number:03d}" for number in range(180)]
    text = str(UnknownNameError("cell", "Kettle", [*known, "kettlebell", "kettles"]))
    shown = text.partition("(known: ")[2].partition(" and ")[0].split(", ")
    assert shown[:2] == ["kettles", "kettlebell"]
    assert len(set(shown)) == 10
    assert text.endswith(" and 172 more). Did you mean 'kettles'?")
    assert "and" not in str(UnknownNameError("cell", "x", known[:10]))


def test_of_a_name_that_is_a_page_long_the_beginning_is_shown() -> None:
    error = UnknownNameError("batch", "b" * 5_000, ["b-1"])
    assert str(error) == f"unknown batch '{'b' * 200}…' (known: b-1)."
    assert error.name == "b" * 5_000


@pytest.mark.parametrize(
    ("name", "known", "nearest"), [("DOCS", ["docs"], "docs"), ("dosc", ["docs"], "docs"), ("x", ["docs"], None), ("", ["docs"], None)]
)
def test_the_nearest_name_ignores_case_and_is_none_when_nothing_is_close(name: str, known: list[str], nearest: str | None) -> None:
    assert nearest_name(name, known) == nearest


def test_every_error_class_stands_in_the_drawn_tree_below_its_parent() -> None:
    drawn: dict[str, str | None] = {}
    path: list[tuple[int, str]] = []
    for line in (errors.__doc__ or "").splitlines():
        found = re.match(r"^([ │├└─]*)([A-Z]\w+Error)\b", line)
        if found is None:
            continue
        indent = len(found[1])
        path = [(depth, name) for depth, name in path if depth < indent]
        drawn[found[2]] = path[-1][1] if path else None
        path.append((indent, found[2]))
    real = {
        name: None if cls is EvalplatformError else cls.__bases__[0].__name__
        for name, cls in inspect.getmembers(errors, inspect.isclass)
        if issubclass(cls, EvalplatformError)
    }
    assert drawn == real

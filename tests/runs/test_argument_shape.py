"""The shape of arguments: keys and JSON types, and nothing of the values."""

import json

import pytest

from evalplatform.runs.argument_shape import NOT_JSON, TOO_LARGE, argument_shape


def test_a_shape_names_every_place_and_its_type() -> None:
    text = '{"user": "u1", "nights": 2, "vip": true, "note": null, "flights": [{"no": "A1"}, {"no": "A2", "seat": 3}]}'
    assert argument_shape(text) == (
        "/flights/*/no: string",
        "/flights/*/seat: number",
        "/flights/*: object",
        "/flights: array",
        "/nights: number",
        "/note: null",
        "/user: string",
        "/vip: boolean",
        "object",
    )


@pytest.mark.parametrize("other", ['{"n": 2.5}', '{"n": -1e300}', '{"n": ' + "9" * 6000 + "}"])
def test_any_number_has_the_type_of_any_other(other: str) -> None:
    assert argument_shape(other) == argument_shape('{"n": 1}')


def test_a_longer_array_has_the_same_shape_and_another_type_in_it_has_not() -> None:
    assert argument_shape("[1, 2, 3]") == argument_shape("[1]")
    assert argument_shape('[1, "2"]') != argument_shape("[1]")
    assert argument_shape("[]") != argument_shape("[1]")


@pytest.mark.parametrize("text", ["", " ", "{", "id=3", "NaN", '{"n": Infinity}', "{'n': 1}"])
def test_text_that_is_no_json_has_one_shape(text: str) -> None:
    assert argument_shape(text) == NOT_JSON


@pytest.mark.parametrize(("one", "other"), [({"a/b": 1}, {"a": {"b": 1}}), ({"*": 1}, {"~2": 1}), ({"": 1}, {"~": 1}), ({"*": 1}, [1])])
def test_no_key_can_pass_for_another_structure(one: object, other: object) -> None:
    assert argument_shape(json.dumps(one)) != argument_shape(json.dumps(other))


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000 + "]" * 100_000,
        '{"' + "k" * 200_000 + '": {' + ", ".join(f'"{n}": 1' for n in range(10_000)) + "}}",
        json.dumps({f"key-{n:06}": n for n in range(100_000)}),
        json.dumps([{"k" * 4000: [{"k" * 4000: [{f"{n}": 1 for n in range(200)}]}]}]),
    ],
    ids=["nested", "long key over many", "many keys", "long keys nested"],
)
def test_arguments_made_to_blow_up_have_one_small_shape(text: str) -> None:
    assert argument_shape(text) == TOO_LARGE

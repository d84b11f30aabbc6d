"""Canonical JSON, digests and data versions."""

import hashlib
import math

import pytest

from evalplatform.kernel.digests import (
    EMPTY_TEXT_DIGEST,
    answer_digest,
    bytes_digest,
    canonical_json,
    data_version,
    json_digest,
    text_digest,
)
from evalplatform.kernel.errors import InputError


def test_canonical_json_sorts_keys_at_every_depth_and_writes_no_blanks() -> None:
    assert canonical_json({"b": [1, {"z": None, "a": "é"}], "a": True}) == '{"a":true,"b":[1,{"a":"é","z":null}]}'.encode()


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("wrapped", [lambda x: x, lambda x: [x], lambda x: (1, x), lambda x: {"a": {"b": [x]}}])
def test_a_number_that_is_not_finite_is_refused_wherever_it_stands(number: float, wrapped) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InputError, match="NaN or an infinity"):
        canonical_json(wrapped(number))


@pytest.mark.parametrize("value", [{1: "a"}, object(), {"a": {1, 2}}, 2**70, "\ud800"])
def test_what_json_cannot_hold_is_refused_with_a_reason(value: object) -> None:
    with pytest.raises(InputError, match="cannot be written as JSON"):
        canonical_json(value)


def test_a_digest_is_sha256_of_the_utf_8_bytes() -> None:
    assert text_digest("é") == "sha256:" + hashlib.sha256(b"\xc3\xa9").hexdigest()
    assert text_digest("") == EMPTY_TEXT_DIGEST == bytes_digest(b"")
    assert json_digest([1]) == bytes_digest(b"[1]")


def test_composed_and_combining_spellings_and_lone_surrogates_have_digests_of_their_own() -> None:
    texts = ["é", "e\u0301", "\ud800", "\udfff", "a\x00b", "ab"]
    assert len({text_digest(text) for text in texts}) == len(texts)


def test_a_data_version_depends_on_names_values_and_schema_and_not_on_order() -> None:
    version = data_version({"a": "1", "b": "2"}, schema_version="x.v1")
    assert version == data_version({"b": "2", "a": "1"}, schema_version="x.v1")
    assert len(version) == 16
    assert set(version) <= set("0123456789abcdef")
    others = [
        data_version({"a": "2", "b": "1"}, schema_version="x.v1"),
        data_version({"a": "1", "c": "2"}, schema_version="x.v1"),
        data_version({"a": "1"}, schema_version="x.v1"),
        data_version({"a": "1", "b": "2"}, schema_version="x.v2"),
    ]
    assert len({version, *others}) == 5


def test_an_answers_digest_is_of_question_and_answer_and_of_nothing_else() -> None:
    assert answer_digest("Which part?", "The lid.") == answer_digest("Which part?", "The lid.")
    others = [("Which part?", "The lid"), ("Which part", "The lid."), ("The lid.", "Which part?"), ("", "Which part?The lid.")]
    assert len({answer_digest(*pair) for pair in (("Which part?", "The lid."), *others)}) == 5
    assert answer_digest("a\ud800", "b\x00").startswith("sha256:")

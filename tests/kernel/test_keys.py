"""Keys: safe in a partition, an object key, a file name and a URL; a key never stands for two meanings."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalplatform.kernel.errors import InputError
from evalplatform.kernel.keys import KEY_PATTERN, MAX_KEY_CHARS, checked_key, key_with_digest, slug

PITFALLS = {pitfall["id"]: pitfall for pitfall in json.loads((Path(__file__).parents[1] / "cases" / "pitfalls.json").read_text())}
# Pitfall G04 lists one key that is safe, beside those that are not.
SAFE_OF_G04 = "0.94-to-0.95"


@pytest.mark.parametrize(
    "key",
    [
        PITFALLS["G02"]["input"]["dynamic_keys"][0],
        *PITFALLS["G03"]["input"]["keys"],
        *(key for key in PITFALLS["G04"]["input"]["keys"] if key != SAFE_OF_G04),
        "A",
        "-a",
        ".a",
        "_a",
        "a b",
        "a\n",
        "é",
        "\u0661",
        "a" * (MAX_KEY_CHARS + 1),
    ],
)
def test_an_unsafe_key_is_refused_with_what_it_was_for(key: str) -> None:
    with pytest.raises(InputError, match="cannot be a partition") as refused:
        checked_key(key, what="partition", file="evalplatform.yaml", field="cells.x")
    assert refused.value.nearest == (slug(key) or None)
    assert str(refused.value).startswith("evalplatform.yaml: cells.x: ")


@pytest.mark.parametrize("key", ["a", "0", SAFE_OF_G04, "a.b_c-d", "c", "a" * MAX_KEY_CHARS, "a..b"])
def test_a_safe_key_comes_back_as_it_was(key: str) -> None:
    assert checked_key(key, what="key") == key


@pytest.mark.parametrize(
    ("text", "key"), [("Report, Q1 2026", "report-q1-2026"), ("a|b", "a-b"), ("..", ""), ("日本", ""), ("C++ Guide", "c-guide")]
)
def test_a_slug_is_what_can_be_kept_of_a_text(text: str, key: str) -> None:
    assert slug(text) == key


@given(st.text())
def test_a_slug_is_a_key_or_nothing(text: str) -> None:
    assert slug(text) == "" or KEY_PATTERN.fullmatch(slug(text))
    assert len(slug(text)) <= MAX_KEY_CHARS
    assert slug(slug(text)) == slug(text).strip("-._")


@given(
    st.dictionaries(st.text(max_size=5), st.integers(0, 9), max_size=3), st.dictionaries(st.text(max_size=5), st.integers(0, 9), max_size=3)
)
def test_a_key_with_digest_changes_with_what_it_stands_for(one: dict[str, int], other: dict[str, int]) -> None:
    key = key_with_digest("small", one)
    assert re.fullmatch(r"small-[0-9a-f]{6}", key)
    assert one == other or key != key_with_digest("small", other)  # 24 bits: two of a handful never meet


def test_a_key_with_digest_is_made_of_a_safe_id_alone() -> None:
    with pytest.raises(InputError):
        key_with_digest("Small", {})

"""Truncate: exactly N characters, or the answer as it is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalplatform.kernel.errors import PluginError
from evalplatform.plugins.kinds.truncate import Truncate


@pytest.mark.parametrize(
    ("text", "max_chars", "shown"),
    [
        ("abcdef", 6, "abcdef"),
        ("abcdef", 7, "abcdef"),
        ("abcdef", 5, "abcd…"),
        ("abcdef", 2, "a…"),
        ("abcdef", 1, "…"),
        ("a", 1, "a"),
        ("…bcdef", 2, "……"),
        ("   bcdef", 3, "  …"),
    ],
)
def test_a_longer_answer_is_cut_to_exactly_n_characters_the_ellipsis_included(text: str, max_chars: int, shown: str) -> None:
    assert Truncate(max_chars=max_chars).shaped_answer(text) == shown


@given(text=st.text(alphabet=st.characters(), max_size=60), max_chars=st.integers(1, 70))
def test_whatever_the_text_n_characters_stay_of_a_longer_one_and_a_shorter_one_is_untouched(text: str, max_chars: int) -> None:
    shaped = Truncate(max_chars=max_chars).shaped_answer(text)
    if len(text) <= max_chars:
        assert shaped == text
    else:
        assert len(shaped) == max_chars
        assert shaped == text[: max_chars - 1] + "…"
    assert Truncate(max_chars=max_chars).shaped_answer(shaped) == shaped


def test_800_characters_are_meant_where_no_number_is_given() -> None:
    assert Truncate.of_argument(None) == Truncate(max_chars=800)
    assert len(Truncate().shaped_answer("x" * 801)) == 800


@pytest.mark.parametrize(("argument", "max_chars"), [("1", 1), ("80", 80), ("0080", 80), ("999999999", 999_999_999)])
def test_a_positive_whole_number_is_read(argument: str, max_chars: int) -> None:
    assert Truncate.of_argument(argument).max_chars == max_chars


@pytest.mark.parametrize("argument", ["0", "00", "-5", "+5", "5.0", "1e3", "1_000", "1,000", "٣", "x", "", "5 ", "9" * 10, "9" * 5_000])
def test_anything_else_is_refused(argument: str) -> None:
    with pytest.raises(PluginError, match="use a whole number from 1 to 999,999,999, in digits"):
        Truncate.of_argument(argument)

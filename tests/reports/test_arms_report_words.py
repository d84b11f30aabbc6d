"""How numbers and hidden characters are spelled."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalplatform.ports.model_client import Sampling
from evalplatform.reports import words
from evalplatform.reports.arms_sections import nearest_rank
from evalplatform.reports.visible import HIDDEN, one_line, with_visible_controls


def test_a_missing_number_is_a_dash_in_every_spelling() -> None:
    spelled = [words.points(None), words.p_value(None), words.share(None), words.usd(None), words.seconds(None), words.count(None)]
    spelled += [words.yes_no(None), words.interval(None, 2.0), words.direction(None, 3.0), words.synergy(None, 1.0)]
    assert set(spelled) == {"—"}


@pytest.mark.parametrize(
    ("p", "text"), [(0.0000999, "<0.0001"), (0.0001, "0.0001"), (0.04999, "0.0500"), (1.0, "1.0000"), (0.0, "<0.0001")]
)
def test_small_p_values_are_bounded_not_zero(p: float, text: str) -> None:
    assert words.p_value(p) == text


@given(st.floats(min_value=-0.049, max_value=0.049))
def test_a_rounded_zero_has_no_sign(number: float) -> None:
    assert words.points(number, signed=True) == "0.0"


@given(st.integers(0, 2000), st.integers(1, 2000))
def test_a_shortfall_is_never_shown_as_full_coverage(part: int, total: int) -> None:
    rate = min(part, total) / total
    assert (words.share(rate) == "100.0%") == (rate == 1.0)


def test_a_rate_that_is_exact_stays_where_it_is() -> None:
    assert [words.share(number / 100) for number in (29, 57, 95)] == ["29.0%", "57.0%", "95.0%"]


@pytest.mark.parametrize(("amount", "text"), [(0.0, "0.00"), (0.00002, "<0.0001"), (0.0123, "0.0123"), (1234.5, "1,234.50")])
def test_money_is_never_rounded_to_nothing(amount: float, text: str) -> None:
    assert words.usd(amount) == text


def test_not_significant_is_not_called_equal() -> None:
    assert words.direction(False, 4.0) == "no difference shown"
    assert (words.direction(True, 4.0), words.direction(True, -4.0)) == ("higher", "lower")
    assert (words.synergy(True, -4.0), words.synergy(True, 4.0), words.synergy(False, 4.0)) == (
        "interference",
        "synergy",
        "no interaction shown",
    )


def test_sampling_names_what_was_set_and_nothing_else() -> None:
    assert words.sampling(Sampling()) == "provider defaults"
    assert words.sampling(Sampling(temperature=0, seed=7, extra={"min_p": 0.1})) == "temperature 0, seed 7, min_p 0.1"


def test_lists_and_tallies_read_as_sentences() -> None:
    assert [words.listed([]), words.listed(["a"]), words.listed(["a", "b"]), words.listed(["a", "b", "c"])] == [
        "none",
        "a",
        "a and b",
        "a, b and c",
    ]
    assert words.tally({"b": 1, "a": 1, "c": 3, "d": 0}) == "c 3, a 1, b 1"
    assert words.tally({}) == "none"


def test_percentiles_are_values_that_were_measured() -> None:
    latencies = [float(number) for number in range(1, 21)]
    assert (nearest_rank(latencies, 0.5), nearest_rank(latencies, 0.95), nearest_rank([3.0], 0.95)) == (10.0, 19.0, 3.0)
    assert nearest_rank([], 0.5) is None


def test_bidi_controls_and_nul_become_visible() -> None:
    assert with_visible_controls("\u202eabc\u2066\u0645\u2069 a\x00b") == "⟨U+202E⟩abc⟨U+2066⟩\u0645⟨U+2069⟩ a⟨U+0000⟩b"


def test_joined_emoji_and_combining_marks_stay_as_they_are() -> None:
    for text in ("\U0001f469\u200d\U0001f469\u200d\U0001f467", "e\u0301 vs \u00e9", "\u0645\u0631\u062d\u0628\u0627", "a\tb\nc"):
        assert with_visible_controls(text) == text


@given(st.text(st.characters()))
def test_what_is_shown_hides_nothing_and_can_be_written(text: str) -> None:
    shown = with_visible_controls(text)
    assert HIDDEN.search(shown) is None
    shown.encode("utf-8")


@given(st.text(st.characters(), max_size=300), st.integers(5, 80))
def test_one_line_is_one_line_of_at_most_the_limit(text: str, limit: int) -> None:
    line = one_line(text, limit)
    assert len(line) <= limit
    assert "\n" not in line


def test_a_mebibyte_on_one_line_is_cut() -> None:
    assert one_line("x" * 1048576, 60) == "x" * 59 + "…"

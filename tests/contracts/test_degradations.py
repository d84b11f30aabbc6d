"""What every degradation keeps to. A new one is tested by being registered."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalplatform.judging.degradations.degradation import degradations, degraded_answer
from evalplatform.judging.degradations.names import names_in, names_of
from evalplatform.kernel.errors import UnknownNameError

KINDS = degradations.names()
OTHERS = names_of(["Use `wait_seconds` of the RetryPolicy, as Spout does.", "Call client.send before Lid."])
ANSWER = """\
A call is made in up to 4 attempts, e.g. after a timeout. The default of `max_retries` is 3, as in Kettle.

1. Set `timeout_seconds` to 30.
2. Restart the server, which takes 15% longer than in 2024.
"""
# Answers as models write them: words, names, numbers, marks, lists, code, other scripts, lone surrogates.
PIECES = st.sampled_from(
    [
        *("It waits", "max_retries", "`retry.limit`", "Kettle", "HTTPServer", "a::b", "is not true that"),
        *("30", "1.5", "100%", "2024", "3rd", "0x1F", ". ", "? ", "\n\n", "- ", "1. ", "```\n", " ", "++"),
        *("é", "ß", "答えは四回です。", "\ud83d", "\U0001f600", "\u202e", "\x00"),
    ]
)
ANSWERS = st.lists(PIECES | st.text(max_size=12), max_size=14).map(" ".join) | st.text(max_size=80)


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_an_answer_with_sentences_names_and_numbers_can_be_degraded_in_every_way(kind: str) -> None:
    degraded = degraded_answer(kind, ANSWER, names=OTHERS)
    assert degraded is not None
    assert degraded.text.strip()
    assert degraded.change


@pytest.mark.parametrize("kind", KINDS)
@given(answer=ANSWERS)
def test_the_same_answer_has_one_degraded_copy_which_is_never_the_answer_itself(kind: str, answer: str) -> None:
    degraded = degraded_answer(kind, answer, names=OTHERS)
    assert degraded == degraded_answer(kind, answer, names=OTHERS)
    if degraded is not None:
        assert degraded.text != answer
        assert degraded.text.strip()


@pytest.mark.parametrize("kind", KINDS)
@given(answer=ANSWERS)
def test_what_an_answer_holds_decides_alone_where_no_other_name_is_needed(kind: str, answer: str) -> None:
    alone = degraded_answer(kind, answer)
    if kind == "wrong_name":
        assert alone is None or names_in(answer)
    else:
        assert alone == degraded_answer(kind, answer, names=OTHERS)


@pytest.mark.parametrize("blank", ["", " ", "\n\t", "\u00a0"])
def test_nothing_is_made_of_a_blank_answer(kind: str, blank: str) -> None:
    assert degraded_answer(kind, blank, names=OTHERS) is None


def test_awkward_texts_are_degraded_or_left_alone_and_raise_nothing(kind: str, awkward_texts: list[str]) -> None:
    for text in awkward_texts:
        degraded = degraded_answer(kind, text, names=OTHERS)
        assert degraded is None or degraded.text != text


def test_it_says_what_it_does_and_what_an_answer_may_lack(kind: str) -> None:
    degradation = degradations.get(kind)()
    assert degradation.what
    assert degradation.lack.replace("_", "").isalpha()


def test_a_misspelt_degradation_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'truncate'"):
        degraded_answer("truncated", ANSWER)

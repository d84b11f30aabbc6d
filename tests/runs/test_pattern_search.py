"""A pattern of a user's is found where it stands, and no pattern and no text can hang the judge."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from evalplatform.kernel.errors import InputError
from evalplatform.runs.pattern_search import MAX_STEPS_AT_ONCE, compiled_pattern, text_found, texts_found, worst_case_steps
from evalplatform.runs.pattern_worker import PatternWorker

ENDLESS = r"(a+)+$"
HARD_TEXT = "a" * 60 + "b"


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("a(b", "is no regular expression: missing ), unterminated subpattern at character 2."),
        ("*a", "is no regular expression: nothing to repeat at character 1."),
        ("[z-a]", "is no regular expression: bad character range z-a at character 2."),
        ("a{9999999999999999999}", "is no regular expression that can be used: it repeats or nests too much."),
    ],
)
def test_what_is_no_pattern_is_refused_with_the_position(pattern: str, message: str) -> None:
    with pytest.raises(InputError) as refused:
        compiled_pattern(pattern)
    assert str(refused.value) == message


def test_a_search_that_would_never_end_is_given_up_and_is_neither_found_nor_absent() -> None:
    assert texts_found(ENDLESS, ["aaa", HARD_TEXT, "aaa"], seconds=1.0) == [True, None, None]


@pytest.mark.parametrize("pattern", [r"(a+)+$", r"(?:a|a)*$", r"(a{1,9}){2,}$", r"(?x) (a+) +$", r"(a+)(?#again)+$", r"((a*)b?){50}c"])
def test_a_pattern_that_repeats_a_group_is_never_searched_for_in_this_process(pattern: str) -> None:
    compiled_pattern(pattern)
    assert worst_case_steps(pattern, 1) == float("inf")


@pytest.mark.parametrize(
    ("pattern", "power"),
    [("abc", 1), (r"\d{3}-\d{2}", 1), ("a.*b", 2), ("a.*b.+c", 3), (r"a\*b\+", 1), ("[*+]{2}", 1), (r"[]*+]+", 2), ("a{2,}", 2)],
)
def test_each_unbounded_repetition_adds_a_power_of_the_length(pattern: str, power: int) -> None:
    compiled_pattern(pattern)
    assert worst_case_steps(pattern, 2_000) / worst_case_steps(pattern, 1_000) == pytest.approx(2**power)


def test_a_long_text_is_searched_to_its_end_whatever_the_pattern() -> None:
    text = "x" * 1_000_000 + "secret 42"
    assert [text_found(pattern, text) for pattern in ("secret", r"secret \d+", r"x.*secret.*\d", "(secret)+ 43", "Secret")] == [
        True,
        True,
        True,
        False,
        False,
    ]


def test_after_a_search_that_was_given_up_the_next_one_is_made() -> None:
    assert texts_found(ENDLESS, [HARD_TEXT], seconds=0.5) == [None]
    assert texts_found(ENDLESS, ["aaa", "b"]) == [True, False]


def test_a_searching_process_that_somebody_ended_is_started_again() -> None:
    worker = PatternWorker()
    assert worker.found(ENDLESS, ["a", "b"], seconds=5) == [True, False]
    searching = worker._process
    assert searching is not None
    searching.kill()
    searching.wait()
    assert worker.found(ENDLESS, ["a"], seconds=5) == [True]
    worker.close()
    worker.close()
    assert worker.found(ENDLESS, ["b"], seconds=5) == [False]
    worker.close()


def test_several_threads_each_get_their_own_answers() -> None:
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda number: texts_found(f"(?:x{number})+$", [f"x{number}", "x", f"x{number}!"]), range(40)))
    assert found == [[True, False, False]] * 40


def test_a_search_in_a_process_of_its_own_finds_what_one_here_finds() -> None:
    texts = ["", "ab", "abab", "xaby", "\ud83d ab", "é\nab", "ba"]
    pattern = "^(?:ab)+$"
    assert worst_case_steps(pattern, 1) > MAX_STEPS_AT_ONCE
    assert texts_found(pattern, texts) == [compiled_pattern(pattern).search(text) is not None for text in texts]

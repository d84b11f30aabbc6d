"""What each degradation does to an answer."""

import re

import pytest

from evalplatform.judging.degradations.degradation import degradations, degraded_answer
from evalplatform.judging.degradations.names import Name, names_in, names_of
from evalplatform.judging.degradations.sentences import sentence_spans, statements


def of(kind: str, answer: str, *others: str) -> str | None:
    degraded = degraded_answer(kind, answer, names=names_of(others))
    return None if degraded is None else degraded.text


def sentences(text: str) -> list[str]:
    return [text[span.start : span.end] for span in sentence_spans(text)]


def test_sentences_end_at_marks_and_line_breaks_and_not_within_abbreviations_or_numbers() -> None:
    text = "It waits 1.5 s, e.g. after a timeout. Does it? Yes!\n1. Set it.\n- 四回です。次です。"
    assert sentences(text) == ["It waits 1.5 s, e.g. after a timeout.", "Does it?", "Yes!", "1. Set it.", "- 四回です。", "次です。"]


def test_truncation_keeps_the_first_half_of_the_sentences_or_of_one_sentence_its_words() -> None:
    assert of("truncate", "One is here. Two is here. Three is here.") == "One is here."
    assert of("truncate", "One is here. Two is here. Three is here. Four is here.") == "One is here. Two is here."
    assert of("truncate", "It makes four attempts in all") == "It makes four"
    assert of("truncate", "Four attempts made") is None


def test_a_wrong_number_is_changed_in_all_its_places_so_that_the_answer_agrees_with_itself() -> None:
    degraded = of("wrong_number", "It waits 30 seconds. After 30 seconds it gives up.")
    assert degraded is not None
    (number,) = set(re.findall(r"[0-9]+", degraded))
    assert number != "30"
    assert number[1] == "0"  # 40 to 60, or 10 and 20: as plausible as 30


@pytest.mark.parametrize(
    "answer",
    ["1. Set it.\n2) Call it.", "Use sha256 and utf8.", "The 3rd one, at 0x1F.", "No number at all.", "Always 100%"],
)
def test_numbers_of_lists_names_ordinals_and_full_percentages_are_left(answer: str) -> None:
    assert of("wrong_number", answer) is None


def test_a_year_stays_a_year_of_its_decade_and_a_percentage_at_most_a_hundred() -> None:
    year = of("wrong_number", "It was made in 2024.")
    assert year is not None
    assert re.fullmatch(r"It was made in 202[1-7]\.", year)
    share = of("wrong_number", "It fails in 95 % of cases.")
    assert share is not None
    assert int(re.findall("[0-9]+", share)[0]) <= 100


@pytest.mark.parametrize("number", ["0", "7", "404", "1,000", "0.35", "10.5", "1.2.3", "99"])
def test_a_changed_number_is_written_like_the_one_it_was(number: str) -> None:
    degraded = of("wrong_number", f"It is {number} here.")
    assert degraded is not None
    changed = degraded.removeprefix("It is ").removesuffix(" here.")
    assert changed != number
    assert re.sub("[0-9]", "0", changed) == re.sub("[0-9]", "0", number)


def test_names_are_identifiers_and_capitalised_words_that_do_not_begin_a_sentence() -> None:
    text = "Use `retries` or max_wait of RetryPolicy in Kettle. Set a.b, e.g. once. Use it; set it. HTTP is used."
    assert [name.text for name in names_in(text) if name.is_code] == ["retries", "max_wait", "RetryPolicy"]
    assert [name.text for name in names_in(text) if not name.is_code] == ["Kettle"]
    assert names_in("client.send and std::sort") == [Name(text="client.send", is_code=True), Name(text="std::sort", is_code=True)]


def test_a_wrong_name_comes_from_another_answer_and_replaces_the_name_in_all_its_places() -> None:
    degraded = of("wrong_name", "Set max_wait first. Then max_wait_seconds; max_wait again.", "See `poll_rate` for more.")
    assert degraded == "Set poll_rate first. Then max_wait_seconds; poll_rate again."
    assert of("wrong_name", "It runs in Kettle now.", "It runs in Spout now.") == "It runs in Spout now."


def test_a_name_takes_the_place_of_one_that_is_written_alike() -> None:
    others = ("Read `guide.md`.", "Set POLL_RATE or poll_rate.", "The PollPolicy of `poll`.", "Call client.poll once.")
    assert of("wrong_name", "Read `setup.md` first.", *others) == "Read `guide.md` first."
    assert of("wrong_name", "Set WAIT_TIME first.", *others) == "Set POLL_RATE first."
    assert of("wrong_name", "Set wait_time first.", *others) == "Set poll_rate first."
    assert of("wrong_name", "Use the WaitPolicy first.", *others) == "Use the PollPolicy first."
    assert of("wrong_name", "Use `wait` first.", *others) == "Use `poll` first."


def test_words_that_only_backticks_make_a_name_are_taken_last() -> None:
    others = ("It is `poll` of Spout.",)
    assert of("wrong_name", "The `name` in Kettle is a name.", *others) == "The `name` in Spout is a name."


def test_without_a_name_of_others_the_parts_of_an_identifier_change_places() -> None:
    assert of("wrong_name", "Set retry_limit first.") == "Set limit_retry first."
    assert of("wrong_name", "Set retryLimit first.") == "Set limitRetry first."
    assert of("wrong_name", "Set RetryLimit first.") == "Set LimitRetry first."
    assert of("wrong_name", "Call client.send first.") == "Call send.client first."
    assert of("wrong_name", "Set `retries` first, and tick_tick.") is None
    assert of("wrong_name", "It runs in Kettle now.") is None


def test_one_more_name_elsewhere_changes_a_choice_only_where_it_is_taken() -> None:
    pool = [f"Use name_{letter}." for letter in "abcdefgh"]
    before = of("wrong_name", "Set retry_limit first.", *pool)
    after = of("wrong_name", "Set retry_limit first.", *pool, "Use name_z.")
    assert after in {before, "Set name_z first."}


def test_a_contradiction_denies_a_statement_of_the_answer_and_no_question_heading_or_code() -> None:
    answer = "# What is it about here?\nDoes it wait for long?\n- **It waits for 30 seconds.**\n```\nx = wait(30) or fail(now)\n```\n"
    assert statements(answer) == ["It waits for 30 seconds.**"]
    degraded = of("contradiction", answer)
    assert degraded is not None
    assert degraded.startswith(answer.rstrip())
    assert 'it is not true that "It waits for 30 seconds.' in degraded
    assert of("contradiction", "Why? No.") is None
    assert statements('1. "Not yet" means a wait.') == ['"Not yet" means a wait.']
    table = "| name | what it holds | unit |\nsettings of the kettle and its lid\n"
    assert statements(f"{table}It waits for 30 seconds.") == ["It waits for 30 seconds."]
    assert statements(table) == ["settings of the kettle and its lid"]


def test_padding_adds_half_the_length_at_least_and_no_word_of_its_own_twice() -> None:
    short, long = "Yes.", "It waits. " * 60
    for answer in (short, long):
        degraded = of("padding", answer)
        assert degraded is not None
        filler = degraded.removeprefix(answer.rstrip())
        added = [sentence.strip() for sentence in sentences(filler)]
        assert len(added) == len(set(added)) >= 3
        assert len(filler) >= len(answer) / 2
    assert not degradations.get("padding")().is_worse

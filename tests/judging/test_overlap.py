"""The overlap grader: facts stated, by words, and nothing else."""

import asyncio

import pytest

from evalplatform.judging.judge import JudgeSettings, judge_kinds
from evalplatform.judging.records import Judgement, JudgeTask
from evalplatform.judging.words import TokenText, content_words, tokens
from evalplatform.kernel.errors import InputError

SETTINGS = JudgeSettings(kind="overlap", provider="offline", model="overlap")


def graded(answer: str | None, **task: object) -> Judgement:
    judge = judge_kinds.get("overlap")(SETTINGS, asker=None)
    return asyncio.run(judge.judge(JudgeTask.model_validate({"task_id": "1", "question": "q", "answer": answer, **task})))


def test_points_are_the_share_of_expected_facts_that_the_answer_states() -> None:
    judgement = graded("It makes four attempts.", expected_facts=[["four attempts", "4 attempts"], ["Retry-After"]])
    assert judgement.points == 50.0
    assert judgement.dimensions == {"facts_stated": 50.0}
    assert judgement.notes == {"graded_by": "expected_facts", "missing": ["Retry-After"]}
    assert (judgement.calls, judgement.cost_usd) == (0, None)


def test_a_forbidden_fact_takes_one_expected_fact_away_and_never_below_zero() -> None:
    facts = {"expected_facts": [["a"], ["b"]], "forbidden_facts": [["x"], ["y"]]}
    assert graded("a b", **facts).points == 100.0
    assert graded("a b x", **facts).points == 50.0
    assert graded("a x y", **facts).points == 0.0
    assert graded("a b x", **facts).notes["forbidden_stated"] == ["x"]
    assert graded("a b x", **facts).dimensions == {"facts_stated": 100.0, "forbidden_stated": 50.0}


@pytest.mark.parametrize(
    ("answer", "wording", "stated"),
    [
        ("Set RETRY-AFTER, then wait.", "retry after", True),
        ("`max_tokens` is capped", "max_tokens", True),
        ("cap of 12,000 characters", "12000", True),
        ("cap of 12000 characters", "12,000 characters", True),
        ("it is 1.5 seconds", "5 seconds", False),
        ("it is 1.5 seconds", "1.5", True),
        ("use v1.2", "v1.2", True),
        ("use v1.2", "2", False),
        ("It ends with 5.", "5", True),
        ("15 attempts", "5 attempts", False),
        ("fourattempts", "four attempts", False),
        ("many retries", "retry", False),
        ("Straße", "STRASSE", True),
        ("ｆｕｌｌ width", "full width", True),
        ("cafe\u0301 au lait", "café", True),
        ("请重试三次", "重试", True),
        ("it is C++ code", "++", True),
        ("it is C code", "++", False),
        ("four\n\n  attempts", "four attempts", True),
    ],
)
def test_a_wording_is_found_token_by_token(answer: str, wording: str, stated: bool) -> None:
    assert TokenText(answer).states(wording) is stated


def test_without_facts_the_ground_truths_content_words_are_counted() -> None:
    judgement = graded("The limit is 4 attempts.", ground_truth="There are 4 attempts and a limit of the seconds", expected_topics=["x"])
    assert judgement.points == 75.0
    assert judgement.notes["graded_by"] == "ground_truth"
    assert judgement.dimensions == {"words_held": 75.0}


def test_without_a_ground_truth_the_topics_words_are_counted() -> None:
    judgement = graded("Retry and wait.", expected_topics=["retry policy", "waiting"])
    assert judgement.points == pytest.approx(100 / 3)
    assert judgement.notes["graded_by"] == "expected_topics"


def test_forbidden_facts_alone_are_shown_but_lower_nothing() -> None:
    judgement = graded("four x", ground_truth="four", forbidden_facts=[["x"]])
    assert (judgement.points, judgement.notes["forbidden_stated"]) == (100.0, ["x"])


@pytest.mark.parametrize("task", [{}, {"ground_truth": "and the of"}, {"forbidden_facts": [["x"]]}])
def test_with_nothing_to_compare_it_is_unscored(task: dict[str, object]) -> None:
    judgement = graded("an answer", **task)
    assert (judgement.points, judgement.reason) == (None, "nothing_to_grade_against")


@pytest.mark.parametrize(("answer", "reason"), [(None, "no_answer:filtered"), (" ", "no_answer:filtered")])
def test_no_answer_is_unscored_with_its_reason(answer: str | None, reason: str) -> None:
    assert graded(answer, missing_reason=reason, expected_facts=[["a"]]).reason == reason


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"provider": "openai"}, "provider"),
        ({"model": "overlop"}, "model"),
        ({"rubric": "Be strict."}, "rubric"),
        ({"sampling": {"temperature": 0.0}}, "sampling"),
        ({"grounded_from_topics": True}, "sampling"),
    ],
)
def test_settings_that_a_program_cannot_heed_are_refused(changes: dict[str, object], field: str) -> None:
    settings = JudgeSettings.model_validate({**SETTINGS.model_dump(), **changes})
    with pytest.raises(InputError) as refusal:
        judge_kinds.get("overlap")(settings, asker=None)
    assert refusal.value.field == field


def test_content_words_leave_out_stop_words_and_keep_numbers() -> None:
    assert content_words("There are 4 attempts, and then 4 more") == {"4", "attempts"}


def test_tokens_keep_their_order() -> None:
    assert tokens("Don't retry; wait 1,000.5 s") == ["don", "t", "retry", "wait", "1000.5", "s"]

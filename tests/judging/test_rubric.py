"""The rubric judge: what it is told, how often it is asked, and when it gives no points."""

import asyncio

import pytest

from evalplatform.judging.grading import weighted_points
from evalplatform.judging.judge import JudgeSettings, judge_kinds
from evalplatform.judging.prompts import NO_MATERIAL, REMINDER
from evalplatform.judging.records import Judgement, JudgeTask
from evalplatform.kernel.errors import BudgetExhaustedError, InputError, UnusableReplyError
from evalplatform.kernel.usage import Usage
from tests.judging.scripted import GOOD, GROUNDED, ScriptedModel, desk_for, rubric_settings
from tests.support.doubles import MemoryLedger

TASK = JudgeTask(task_id="task-77", question="How many retries?", answer="Four attempts.", material="Retries: 4 attempts.")
LONG_TOPIC = "a call is tried four times before it is given up on"


def judged(
    model: ScriptedModel, task: JudgeTask = TASK, settings: JudgeSettings | None = None, *, usd_per_token: float | None = 0.001
) -> Judgement:
    judge = judge_kinds.get("rubric")(settings or rubric_settings(), asker=desk_for(model, usd_per_token=usd_per_token))
    return asyncio.run(judge.judge(task))


def test_points_are_the_weighted_mean_and_specificity_weighs_nothing() -> None:
    judgement = judged(ScriptedModel(GOOD))
    assert judgement.points == (2 * 90 + 80 + 70 + 60) / 5 == 78.0
    assert judgement.dimensions["specificity"] == 10.0
    assert (judgement.reason, judgement.redraws, judgement.calls, judgement.grounded) == (None, 0, 1, False)


def test_a_ground_truth_adds_factual_grounding_with_weight_two() -> None:
    model = ScriptedModel(GROUNDED)
    judgement = judged(model, TASK.with_changes(ground_truth="A call is tried 4 times."))
    assert judgement.points == 70.0
    assert judgement.grounded
    assert "A call is tried 4 times." in model.prompts[0]


def test_a_grounded_reply_without_factual_grounding_is_malformed() -> None:
    assert judged(ScriptedModel(GOOD), TASK.with_changes(ground_truth="Four.")).reason == "malformed_reply"


def test_topics_ground_only_where_that_was_asked_for_and_they_are_long() -> None:
    topics = TASK.with_changes(expected_topics=(LONG_TOPIC,))
    assert not judged(ScriptedModel(GOOD), topics).grounded
    assert judged(ScriptedModel(GROUNDED), topics, rubric_settings(from_topics=True)).grounded
    short = TASK.with_changes(expected_topics=("retries",))
    assert not judged(ScriptedModel(GOOD), short, rubric_settings(from_topics=True)).grounded


def test_the_judge_sees_material_question_and_answer_in_that_order_and_nothing_of_the_task() -> None:
    model = ScriptedModel(GOOD)
    judged(model, TASK.with_changes(expected_facts=(("secret fact",),), forbidden_facts=(("secret slip",),)))
    prompt = model.prompts[0]
    assert prompt.index(TASK.material) < prompt.index(TASK.question) < prompt.index("Four attempts.")
    for hidden in ("task-77", "secret fact", "secret slip"):
        assert hidden not in prompt


def test_empty_material_is_said_to_be_none() -> None:
    model = ScriptedModel(GOOD)
    judged(model, TASK.with_changes(material=""))
    assert NO_MATERIAL in model.prompts[0]


def test_the_rubric_addition_stands_in_the_fixed_part() -> None:
    model = ScriptedModel(GOOD)
    judged(model, settings=rubric_settings(rubric="Prefer short answers."))
    assert "Prefer short answers." in model.requests[0].messages[0].content


def test_an_unreadable_reply_is_drawn_again_and_counted_once() -> None:
    model = ScriptedModel("no idea", GOOD)
    judgement = judged(model)
    assert (judgement.points, judgement.redraws, judgement.calls) == (78.0, 1, 2)
    assert judgement.usage == Usage(prompt_tokens=200, completion_tokens=20)
    assert judgement.cost_usd == pytest.approx(0.22)


def test_three_unreadable_replies_leave_it_unscored_with_the_last_one_kept() -> None:
    model = ScriptedModel("one", "two", "three", GOOD)
    judgement = judged(model)
    assert (judgement.points, judgement.reason, judgement.redraws, judgement.calls) == (None, "malformed_reply", 2, 3)
    assert judgement.raw_reply == "three"
    assert judgement.notes["unreadable"] == "the reply holds no JSON object"


def test_a_number_out_of_range_is_drawn_again_and_then_unscored() -> None:
    judgement = judged(ScriptedModel({**GOOD, "correctness": 955555}))
    assert (judgement.points, judgement.reason, judgement.calls, judgement.dimensions) == (None, "out_of_range", 3, {})
    assert judgement.notes["unreadable"] == "not within 0 to 100: correctness = 955555"


@pytest.mark.parametrize(("sampling", "reminded"), [({}, False), ({"temperature": 0.0}, True), ({"seed": 7}, True)])
def test_the_reminder_is_added_only_where_a_pinned_judge_would_repeat_itself(sampling: dict[str, object], reminded: bool) -> None:
    model = ScriptedModel("no idea", GOOD)
    judged(model, settings=rubric_settings(**sampling))
    assert REMINDER not in model.prompts[0]
    assert (REMINDER in model.prompts[1]) is reminded


def test_redraws_are_finished_calls_of_their_own_so_a_rerun_asks_nothing() -> None:
    ledger = MemoryLedger()
    model = ScriptedModel("no idea", GOOD)
    first, again = (judge_kinds.get("rubric")(rubric_settings(), asker=desk_for(model, ledger=ledger)) for _ in range(2))
    assert asyncio.run(first.judge(TASK)) == asyncio.run(again.judge(TASK))
    assert len(model.requests) == 2


def test_a_judge_call_has_the_draw_of_its_answer() -> None:
    model = ScriptedModel(GOOD)
    judged(model, TASK.with_changes(draw=3), rubric_settings(seed=10))
    assert model.requests[0].sampling.seed == 13


def test_a_call_without_a_reply_is_unscored_and_not_drawn_again() -> None:
    model = ScriptedModel("no idea", UnusableReplyError("not_a_reply", "The server sent a web page."))
    judgement = judged(model)
    assert (judgement.points, judgement.reason, judgement.calls) == (None, "judge_failed: not_a_reply: The server sent a web page.", 1)
    assert judgement.notes["failure"] == "The server sent a web page."
    assert judgement.raw_reply == "no idea"
    assert len(model.requests) == 2


def test_a_spent_budget_ends_the_run() -> None:
    judge = judge_kinds.get("rubric")(rubric_settings(max_tokens=100), asker=desk_for(ScriptedModel(GOOD), cap_usd=0.0001))
    with pytest.raises(BudgetExhaustedError):
        asyncio.run(judge.judge(TASK))


@pytest.mark.parametrize(
    ("answer", "missing_reason", "reason"),
    [(None, "no_answer:budget", "no_answer:budget"), (None, "generation_failed: timeout", "generation_failed: timeout")]
    + [(blank, None, "no_answer:empty") for blank in ("", "  \n")],
)
def test_no_answer_costs_no_call(answer: str | None, missing_reason: str | None, reason: str) -> None:
    model = ScriptedModel(GOOD)
    judgement = judged(model, TASK.with_changes(answer=answer, missing_reason=missing_reason))
    assert (judgement.points, judgement.reason, judgement.calls, model.requests) == (None, reason, 0, [])


def test_an_unknown_price_stays_unknown() -> None:
    assert judged(ScriptedModel(GOOD), usd_per_token=None).cost_usd is None


def test_a_wrong_figure_lowers_the_points_and_is_kept() -> None:
    judgement = judged(ScriptedModel({**GOOD, "numeric_claims": [{"claim": "7 retries", "verdict": "wrong"}, "?"]}))
    assert judgement.points == 58.0
    assert judgement.caps == {"correctness": {"judged": 90.0, "rule": "wrong_figure"}}
    assert judgement.unread_claims == (1,)


def test_what_the_answer_was_given_is_named_by_digest() -> None:
    judgement = judged(ScriptedModel(GOOD), TASK.with_changes(material_digest="sha256:1", material_source="snippet_fallback"))
    assert (judgement.material_digest, judgement.material_source) == ("sha256:1", "snippet_fallback")


def test_a_judge_without_an_endpoint_knows_its_digest_but_cannot_judge() -> None:
    judge = judge_kinds.get("rubric")(rubric_settings(), asker=None)
    assert judge.prompt_digest.startswith("sha256:")
    with pytest.raises(InputError, match="needs an endpoint"):
        asyncio.run(judge.judge(TASK))


def test_a_blank_rubric_is_refused() -> None:
    with pytest.raises(InputError, match="rubric"):
        judge_kinds.get("rubric")(rubric_settings(rubric=" \n"), asker=None)


def test_points_are_rounded_to_one_decimal() -> None:
    assert weighted_points({"a": 1.0, "b": 2.0, "c": 2.0}, {"a": 1.0, "b": 1.0, "c": 1.0}) == 1.7

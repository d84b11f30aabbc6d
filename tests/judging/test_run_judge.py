"""The model judge of runs: what it is shown, what is read of its reply, and what happens when there is none."""

import asyncio

import pytest

from evalplatform.judging.judge import JudgeSettings
from evalplatform.judging.run_judge import REMINDER, RunJudge
from evalplatform.judging.transcript import MAX_STEP_CHARS, MAX_TRANSCRIPT_CHARS, transcript_text
from evalplatform.kernel.errors import BudgetExhaustedError, InputError, UnusableReplyError
from evalplatform.ports.model_client import Sampling
from evalplatform.runs.records import ModelVerdict
from evalplatform.runs.scenario import Scenario
from evalplatform.runs.trajectory import Trajectory
from tests.judging.scripted import Saying, ScriptedModel, desk_for
from tests.support.run_facts import call, files, result, says, user

SETTINGS = JudgeSettings(kind="rubric", provider="test", model="judge-1", sampling=Sampling(temperature=0.0))
SCENARIO = Scenario(id="refund-7", messages=("Refund A1.", "Thanks."), tags=("money",))
RUN = Trajectory(
    steps=(user("Refund A1."), call("pay", {"id": 1}, text="On it."), result("pay", "ok"), says("Done."), files(a_txt="added"))
)
GOOD: Saying = {"verdict": "passed", "score": 90, "reasoning": "It paid."}


def verdict(*sayings: Saying, run: Trajectory = RUN, cap_usd: float | None = None) -> tuple[ModelVerdict, ScriptedModel]:
    model = ScriptedModel(*sayings)
    judge = RunJudge("strict", SETTINGS, asker=desk_for(model, cap_usd=cap_usd))
    return asyncio.run(judge(SCENARIO, run, 0)), model


def test_a_verdict_with_points_and_the_reasoning_is_kept_under_the_judges_identity() -> None:
    said, _ = verdict(GOOD)
    assert (said.verdict, said.score_points, said.reason) == ("passed", 90, "It paid.")
    assert said.judge.startswith("strict-")


def test_the_judge_sees_task_and_transcript_as_data_and_nothing_of_the_scenarios_name() -> None:
    _, model = verdict(GOOD)
    prompt = model.prompts[0]
    assert "BEGIN TASK" in prompt
    assert '[step 2] assistant: On it.\ncall of pay: {"id": 1}' in prompt
    assert "[step 5] files changed: a.txt (added)" in prompt
    assert "refund-7" not in prompt
    assert "money" not in prompt


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("I think it passed.", "malformed_reply: the reply holds no JSON object"),
        ('{"verdict": "pass", "score": 3}', "malformed_reply: 'verdict' is not passed or failed"),
        ('{"verdict": true, "score": 3}', "malformed_reply: 'verdict' is not passed or failed"),
        ('{"verdict": "failed"}', "malformed_reply: no number in 'score'"),
        ('{"verdict": "failed", "score": true}', "malformed_reply: no number in 'score'"),
        ('{"verdict": "failed", "score": 101}', "out_of_range: not within 0 to 100: score = 101"),
        ('["passed", 3]', "malformed_reply: the reply is JSON but no object"),
        ("", "malformed_reply: the reply is empty"),
    ],
)
def test_a_reply_that_cannot_be_read_three_times_gives_no_verdict_and_the_reason(reply: str, reason: str) -> None:
    said, model = verdict(reply)
    assert (said.verdict, said.score_points, said.reason) == (None, None, reason)
    assert len(model.requests) == 3


def test_a_redraw_reminds_a_pinned_judge_and_its_reply_counts() -> None:
    said, model = verdict("hm", '```json\n{"verdict": "Failed", "score": "10", "reasoning": ""}\n```')
    assert (said.verdict, said.score_points, said.reason) == ("failed", 10, None)
    assert REMINDER not in model.prompts[0]
    assert REMINDER in model.prompts[1]


def test_a_call_that_failed_gives_no_verdict_and_stops_nothing() -> None:
    said, _ = verdict(UnusableReplyError("no_choices", "The reply has no choices."))
    assert said.verdict is None
    assert said.reason == "judge_failed: no_choices: The reply has no choices."


def test_a_spent_budget_stops_the_batch() -> None:
    with pytest.raises(BudgetExhaustedError):
        verdict(GOOD, cap_usd=0.000001)


def test_a_run_without_steps_is_not_shown_to_a_model() -> None:
    said, model = verdict(GOOD, run=Trajectory(steps=()))
    assert (said.verdict, said.reason, model.requests) == (None, "no_steps", [])


def test_equal_runs_are_draws_of_their_own_and_the_same_run_is_asked_once() -> None:
    model = ScriptedModel(GOOD)
    judge = RunJudge("strict", SETTINGS, asker=desk_for(model))
    for draw in (0, 1, 0):
        asyncio.run(judge(SCENARIO, RUN, draw))
    assert len(model.requests) == 2


def test_the_identity_changes_with_what_decides_a_verdict_and_with_nothing_else() -> None:
    def identity(**changes: object) -> str:
        return RunJudge("strict", SETTINGS.with_changes(**changes), asker=None).identity

    other = [identity(model="judge-2"), identity(rubric="Be strict."), identity(sampling=Sampling(temperature=1.0))]
    assert len({identity(), *other}) == 4
    assert identity(sampling=Sampling(temperature=0.0, seed=7)) == identity()


@pytest.mark.parametrize(
    "changes", [{"kind": "panel"}, {"kind": "overlap"}, {"roles": ("x",)}, {"grounded_from_topics": True}, {"rubric": " "}]
)
def test_settings_of_another_kind_of_judging_are_refused(changes: dict[str, object]) -> None:
    with pytest.raises(InputError):
        RunJudge("strict", SETTINGS.with_changes(**changes), asker=None)


def test_a_long_step_keeps_its_beginning_and_its_end_and_says_what_was_cut() -> None:
    text = transcript_text(Trajectory(steps=(says("A" * 10_000 + "Z" * 10_000),)))
    assert text.startswith("[step 1] assistant: AAA")
    assert text.endswith("ZZZ")
    assert f"[{20_000 + len('assistant: ') - MAX_STEP_CHARS:,} characters left out]" in text


def test_a_long_run_keeps_its_first_and_last_steps_and_says_how_many_are_left_out() -> None:
    text = transcript_text(Trajectory(steps=tuple(says(f"{number} " + "x" * 900) for number in range(1, 1_001))))
    assert len(text) <= MAX_TRANSCRIPT_CHARS * 1.02
    shown = text.count("[step ")
    assert f"[{1_000 - shown:,} steps left out]" in text
    assert "[step 1] " in text
    assert "[step 1000] " in text

"""The panel: who votes, what a vote weighs, how far the votes are apart, and what becomes of a vote that failed."""

import asyncio
import statistics
from collections.abc import Mapping

import pytest

from evalplatform.judging.grading import grounded_weights
from evalplatform.judging.judge import JudgeSettings, judge_kinds, judge_model_stamp
from evalplatform.judging.kinds.panel import ROLES, panel_verdict
from evalplatform.judging.records import Judgement, JudgeTask, PanelVerdict, PanelVote
from evalplatform.judging.run import judge_all
from evalplatform.kernel.errors import BudgetExhaustedError, InputError, UnknownNameError, UnusableReplyError
from evalplatform.kernel.usage import Usage
from evalplatform.ports.model_client import ModelRequest, Sampling
from tests.judging.scripted import GOOD, GROUNDED, Saying, ScriptedModel, desk_for
from tests.support.doubles import MemoryLedger

TASK = JudgeTask(task_id="task-77", question="How many retries?", answer="Four attempts.", material="Retries: 4 attempts.")
FAILED = UnusableReplyError("not_a_reply", "The server sent a web page.")
NAMES = tuple(ROLES)


def settings(*roles: str, rubric: str | None = None, **sampling: object) -> JudgeSettings:
    return JudgeSettings(
        kind="panel", provider="test", model="judge-1", roles=roles or None, rubric=rubric, sampling=Sampling.model_validate(sampling)
    )


def judged(model: ScriptedModel, task: JudgeTask = TASK, of: JudgeSettings | None = None) -> tuple[Judgement, PanelVerdict]:
    judgement = asyncio.run(judge_kinds.get("panel")(of or settings(), asker=desk_for(model)).judge(task))
    assert judgement.panel is not None
    return judgement, judgement.panel


def by_role(sayings: Mapping[str, Saying]) -> ScriptedModel:
    """A model that answers each role by what it is told."""

    def saying(request: ModelRequest) -> Saying:
        return next(said for role, said in sayings.items() if ROLES[role].text in request.messages[0].content)

    return ScriptedModel(saying)


def flat(points: float) -> dict[str, object]:
    """A reply whose weighted mean is `points` under any weights."""
    return {**dict.fromkeys(grounded_weights(ROLES["doc_reviewer"].weights), points), "aggregate": 0}


def votes(*points: float | None) -> PanelVerdict:
    return panel_verdict(
        [PanelVote(role=str(n), points=given, reason=None if given is not None else "x") for n, given in enumerate(points)]
    )


def test_each_role_weighs_the_same_numbers_in_its_own_way() -> None:
    judgement, panel = judged(ScriptedModel(GOOD))
    # correctness 90, completeness 80, specificity 10, code quality 70, actionability 60
    assert [(vote.role, vote.points) for vote in panel.votes] == [
        ("technical_expert", round((2 * 90 + 80 + 1.5 * 10 + 70 + 60) / 6.5, 1)),
        ("developer_advocate", round((90 + 80 + 10 + 1.5 * 70 + 2 * 60) / 6.5, 1)),
        ("doc_reviewer", round((90 + 2 * 80 + 1.5 * 10 + 70 + 60) / 6.5, 1)),
    ]
    assert [vote.points for vote in panel.votes] == [62.3, 62.3, 60.8]
    assert judgement.points == 61.8
    assert judgement.dimensions["completeness"] == 80.0
    assert judgement.reason is None


def test_a_ground_truth_is_shown_to_every_role_and_counts_alike_for_all() -> None:
    model = ScriptedModel(GROUNDED)
    judgement, panel = judged(model, TASK.with_changes(ground_truth="A call is tried 4 times."))
    assert all("A call is tried 4 times." in prompt for prompt in model.prompts)
    assert judgement.grounded
    assert [vote.points for vote in panel.votes] == [
        round((405 + 2 * 50) / 8.5, 1),
        round((405 + 100) / 8.5, 1),
        round((395 + 100) / 8.5, 1),
    ]
    assert {sum(role.weights.values()) for role in ROLES.values()} == {6.5}


def test_the_points_are_the_mean_of_the_votes_with_their_spread_and_agreement() -> None:
    judgement, panel = judged(by_role(dict(zip(NAMES, map(flat, (90.0, 70.0, 50.0)), strict=True))))
    assert judgement.points == 70.0
    assert panel.sd_points == 20.0
    assert panel.agreement == 0.6
    assert panel.flagged


@pytest.mark.parametrize(
    ("points", "sd_points", "agreement", "flagged"),
    [
        ((80.0,), 0.0, 1.0, False),
        ((80.0, None, None), 0.0, 1.0, False),
        ((60.0, 70.0, 80.0), 10.0, 0.8, False),
        ((55.0, 70.0, 85.0), 15.0, 0.7, False),
        ((54.9, 70.0, 85.1), 15.1, 0.698, True),
        ((0.0, 100.0), 70.71067811865476, 0.0, True),
        ((None, None), None, None, False),
    ],
)
def test_spread_is_the_sample_deviation_and_is_flagged_above_15_points(
    points: tuple[float | None, ...], sd_points: float | None, agreement: float | None, flagged: bool
) -> None:
    verdict = votes(*points)
    assert verdict.sd_points == (None if sd_points is None else pytest.approx(sd_points))
    assert (verdict.agreement, verdict.flagged) == (agreement, flagged)


def test_votes_stand_in_the_order_in_which_roles_are_written() -> None:
    order = ("doc_reviewer", "technical_expert")
    model = ScriptedModel(GOOD)
    _, panel = judged(model, of=settings(*order))
    assert tuple(vote.role for vote in panel.votes) == order
    assert [ROLES[role].text in prompt for role, prompt in zip(order, model.prompts, strict=True)] == [True, True]
    assert judge_model_stamp("judge-1", order) == "panel[doc_reviewer+technical_expert]:judge-1"
    assert judge_model_stamp("judge-1", ()) == "judge-1"


def test_a_vote_that_fails_is_counted_with_its_reason_and_the_others_decide() -> None:
    sayings: dict[str, Saying] = {"technical_expert": FAILED, "developer_advocate": flat(60.0), "doc_reviewer": "no idea"}
    judgement, panel = judged(by_role(sayings))
    assert (judgement.points, judgement.reason) == (60.0, None)
    assert [vote.role for vote in panel.valid] == ["developer_advocate"]
    assert [(vote.role, vote.reason) for vote in panel.lost] == [
        ("technical_expert", "judge_failed: not_a_reply: The server sent a web page."),
        ("doc_reviewer", "malformed_reply"),
    ]
    assert (panel.sd_points, panel.agreement, panel.flagged) == (0.0, 1.0, False)
    assert panel.votes[2].raw_reply == "no idea"
    assert panel.votes[2].redraws == 2


@pytest.mark.parametrize(
    ("sayings", "reason"),
    [
        (("no idea",) * 3, "malformed_reply"),
        (({**GOOD, "correctness": 101},) * 3, "out_of_range"),
        (("no idea", {**GOOD, "correctness": 101}, FAILED), "judge_failed: not_a_reply: The server sent a web page."),
    ],
)
def test_without_a_valid_vote_the_answer_is_unscored_and_what_can_be_asked_again_says_so(sayings: tuple[Saying, ...], reason: str) -> None:
    judgement, panel = judged(by_role(dict(zip(NAMES, sayings, strict=True))))
    assert (judgement.points, judgement.reason, judgement.dimensions) == (None, reason, {})
    assert (panel.valid, panel.sd_points, panel.agreement) == ((), None, None)


def test_calls_tokens_cost_and_redraws_are_those_of_all_votes() -> None:
    sayings = ScriptedModel("no idea", GOOD, GOOD, UnusableReplyError("not_a_reply", "no"))
    judgement, panel = judged(sayings)
    assert [vote.reason for vote in panel.votes] == [None, None, "judge_failed: not_a_reply: no"]
    assert (judgement.calls, judgement.redraws) == (3, 1)
    assert judgement.usage == Usage(prompt_tokens=300, completion_tokens=30)
    assert judgement.cost_usd == pytest.approx(0.33)


def test_a_wrong_figure_caps_the_vote_that_found_it_and_no_other() -> None:
    wrong = {**GOOD, "numeric_claims": [{"claim": "7 attempts", "verdict": "wrong"}]}
    judgement, panel = judged(by_role({"technical_expert": wrong, "developer_advocate": GOOD, "doc_reviewer": GOOD}))
    assert [vote.dimensions["correctness"] for vote in panel.votes] == [40.0, 90.0, 90.0]
    assert judgement.dimensions["correctness"] == statistics.mean([40, 90, 90])
    assert judgement.caps == {"technical_expert": {"correctness": {"judged": 90.0, "rule": "wrong_figure"}}}


def test_a_role_added_to_a_panel_is_the_only_vote_that_is_asked() -> None:
    ledger, model = MemoryLedger(), ScriptedModel(GOOD)
    for roles in (NAMES[:2], NAMES):
        asyncio.run(judge_kinds.get("panel")(settings(*roles), asker=desk_for(model, ledger=ledger)).judge(TASK))
    assert len(model.requests) == 3
    assert ROLES["doc_reviewer"].text in model.prompts[2]


def test_a_vote_without_a_reply_leaves_the_run_incomplete_and_an_unreadable_one_does_not() -> None:
    def complete(said: Saying) -> bool:
        judge = judge_kinds.get("panel")(
            settings(), asker=desk_for(by_role({**dict.fromkeys(NAMES[:2], flat(50.0)), "doc_reviewer": said}))
        )
        done = asyncio.run(judge_all([TASK], judge=judge, concurrency=1))
        assert done.judgements[0].points == 50.0
        return done.is_complete

    assert (complete(FAILED), complete("no idea"), complete(flat(50.0))) == (False, True, True)


def test_a_spent_budget_ends_the_run_and_keeps_the_votes_that_were_given() -> None:
    ledger = MemoryLedger()
    judge = judge_kinds.get("panel")(settings(max_tokens=10), asker=desk_for(ScriptedModel(GOOD), cap_usd=1.0, ledger=ledger))
    with pytest.raises(BudgetExhaustedError):
        for number in range(9):
            asyncio.run(judge.judge(TASK.with_changes(answer=f"{number} attempts.")))
    assert len(ledger.paid) % len(NAMES)  # it ended between two votes of one answer


def test_the_prompt_digest_covers_roles_their_order_and_the_rubric() -> None:
    def digest(of: JudgeSettings) -> str:
        return judge_kinds.get("panel")(of, asker=None).prompt_digest

    ways = [settings(), settings(*NAMES[:2]), settings(*NAMES[1::-1]), settings("doc_reviewer"), settings(rubric="Be strict.")]
    assert len({digest(of) for of in ways}) == len(ways)
    assert digest(settings()) == digest(settings(*NAMES))


def test_an_unknown_role_is_answered_with_the_near_name_and_a_repeated_one_is_refused() -> None:
    with pytest.raises(UnknownNameError) as unknown:
        judge_kinds.get("panel")(settings("doc_reviewr"), asker=None)
    assert (unknown.value.nearest, unknown.value.field) == ("doc_reviewer", "roles")
    with pytest.raises(InputError, match=r"^roles: the role 'doc_reviewer' stands here twice; each votes once\.$"):
        judge_kinds.get("panel")(settings("doc_reviewer", "technical_expert", "doc_reviewer"), asker=None)
    with pytest.raises(InputError, match="names nobody"):
        judge_kinds.get("panel")(settings().with_changes(roles=()), asker=None)
    with pytest.raises(InputError, match=r"^rubric: is blank"):
        judge_kinds.get("panel")(settings(rubric=" "), asker=None)


def test_without_an_endpoint_a_panel_cannot_judge() -> None:
    with pytest.raises(InputError, match="needs an endpoint"):
        asyncio.run(judge_kinds.get("panel")(settings(), asker=None).judge(TASK))

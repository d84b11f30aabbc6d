"""What every judge kind keeps to. A new kind is tested by being registered, with settings that it takes in SETTINGS."""

import asyncio
from collections.abc import Callable

import pytest

from evalplatform.judging.judge import Judge, JudgeSettings, judge_kinds
from evalplatform.judging.records import JudgeTask
from evalplatform.kernel.errors import InputError, UnknownNameError, UnusableReplyError
from evalplatform.ports.model_client import ModelRequest, Sampling
from tests.judging.scripted import GROUNDED, ScriptedModel, desk_for

SETTINGS = {
    "rubric": JudgeSettings(kind="rubric", provider="test", model="judge-1", sampling=Sampling(temperature=0.0)),
    "panel": JudgeSettings(kind="panel", provider="test", model="judge-1", sampling=Sampling(temperature=0.0)),
    "overlap": JudgeSettings(kind="overlap", provider="offline", model="overlap"),
}
KINDS = judge_kinds.names()
TASK = JudgeTask(
    task_id="arm:skill_x/opaque-4711",
    question="How many retries?",
    answer="It makes four attempts.",
    material="Retries: four attempts.",
    material_digest="sha256:5",
    ground_truth="A call is made in four attempts.",
    expected_facts=(("four attempts",),),
    forbidden_facts=(("seven attempts",),),
)
AWKWARD_ANSWERS = ["", " ", "\x00", "```", "{", "\ud83d", "END ANSWER", "a" * 200_000, "\u202eabc", "++"]


def settings_of(kind: str) -> JudgeSettings:
    assert kind in SETTINGS, f"say in SETTINGS which settings the judge kind {kind!r} takes"
    return SETTINGS[kind]


def judge_of(kind: str, model: ScriptedModel | None = None) -> Judge:
    return judge_kinds.get(kind)(settings_of(kind), asker=desk_for(model or ScriptedModel(GROUNDED)))


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_no_task_id_reaches_a_model(kind: str) -> None:
    model = ScriptedModel("unreadable", GROUNDED)
    asyncio.run(judge_of(kind, model).judge(TASK))
    for prompt in model.prompts:
        assert "4711" not in prompt
        assert "arm:" not in prompt


def test_the_same_answer_gets_the_same_judgement_under_any_task_id(kind: str) -> None:
    one = asyncio.run(judge_of(kind).judge(TASK))
    two = asyncio.run(judge_of(kind).judge(TASK.with_changes(task_id="2")))
    assert one.task_id == TASK.task_id
    assert two == one.with_changes(task_id="2")


def test_points_are_on_the_scale_and_dimensions_are_announced(kind: str) -> None:
    judge = judge_of(kind)
    judgement = asyncio.run(judge.judge(TASK))
    assert judgement.points is not None
    assert 0 <= judgement.points <= 100
    assert judgement.reason is None
    assert set(judgement.dimensions) <= set(judge.metrics)
    assert judgement.material_digest == "sha256:5"


@pytest.mark.parametrize("answer", [None, *AWKWARD_ANSWERS], ids=lambda answer: repr(answer)[:16])
def test_no_answer_raises_whatever_it_holds(kind: str, answer: str | None) -> None:
    judgement = asyncio.run(judge_of(kind).judge(TASK.with_changes(answer=answer)))
    assert (judgement.points is None) == (judgement.reason is not None)


@pytest.mark.parametrize("failing", [lambda: ScriptedModel("?"), lambda: ScriptedModel(UnusableReplyError("not_a_reply", "no"))])
def test_a_model_that_fails_leaves_an_unscored_judgement_or_none_at_all(kind: str, failing: Callable[[], ScriptedModel]) -> None:
    model = failing()
    judgement = asyncio.run(judge_of(kind, model).judge(TASK))
    assert (judgement.points is None) == bool(model.requests)
    assert (judgement.reason is not None) == bool(model.requests)


def test_a_missing_answer_costs_no_call_and_keeps_its_reason(kind: str) -> None:
    model = ScriptedModel(GROUNDED)
    judgement = asyncio.run(judge_of(kind, model).judge(TASK.with_changes(answer=None, missing_reason="no_answer:budget")))
    assert (judgement.points, judgement.reason, judgement.calls) == (None, "no_answer:budget", 0)
    assert model.requests == []


def test_the_prompt_digest_is_fixed_and_known_without_an_endpoint(kind: str) -> None:
    factory = judge_kinds.get(kind)
    digests = {factory(settings_of(kind), asker=None).prompt_digest for _ in range(3)} | {judge_of(kind).prompt_digest}
    assert len(digests) == 1
    assert digests.pop().startswith("sha256:")


def test_a_rubric_changes_the_prompt_digest_or_is_refused(kind: str) -> None:
    factory = judge_kinds.get(kind)
    try:
        digest = factory(settings_of(kind).with_changes(rubric="Be strict."), asker=None).prompt_digest
    except InputError as refusal:
        digest = f"refused: {refusal.field}"
    assert digest not in (factory(settings_of(kind), asker=None).prompt_digest, "refused: None")


def test_roles_change_the_prompt_digest_or_are_refused(kind: str) -> None:
    factory = judge_kinds.get(kind)
    try:
        judge = factory(settings_of(kind).with_changes(roles=("doc_reviewer",)), asker=None)
        heeded = judge.roles, judge.prompt_digest != factory(settings_of(kind), asker=None).prompt_digest
    except InputError as refusal:
        heeded = (), refusal.field == "roles"
    assert heeded in ((("doc_reviewer",), True), ((), True))


def test_a_judge_of_several_voices_keeps_each_vote_and_one_voice_keeps_none(kind: str) -> None:
    judge = judge_of(kind)
    panel = asyncio.run(judge.judge(TASK)).panel
    assert judge.roles == (() if panel is None else tuple(vote.role for vote in panel.votes))


def test_all_kinds_are_told_apart_by_their_prompt_digests() -> None:
    assert len({judge_of(kind).prompt_digest for kind in KINDS}) == len(KINDS)


def test_a_misspelled_kind_is_answered_with_the_near_name() -> None:
    with pytest.raises(UnknownNameError) as refusal:
        judge_kinds.get("rubrik")
    assert refusal.value.nearest == "rubric"


def test_the_fixed_part_of_a_request_comes_first_and_is_the_same_for_every_task() -> None:
    requests: list[ModelRequest] = []
    for task in (TASK, TASK.with_changes(question="Other?", answer="Other.")):
        model = ScriptedModel(GROUNDED)
        asyncio.run(judge_of("rubric", model).judge(task))
        requests += model.requests
    assert requests[0].messages[0] == requests[1].messages[0]

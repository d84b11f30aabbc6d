"""Answering a cell with plugins: what is sent, what a user would see, and what is on record of both."""

import asyncio

import pytest

from evalplatform.answering.records import ArmAnswer
from evalplatform.answering.run import AnswerPlan, AnswerSheet, answer_cell
from evalplatform.answering.trace import rebuilt_request
from evalplatform.arms.treatment import AgentConfig
from evalplatform.kernel.digests import text_digest
from evalplatform.kernel.errors import BudgetExhaustedError, UnusableReplyError
from evalplatform.kernel.material import JudgeMaterial
from evalplatform.plugins.kinds.caveman import INSTRUCTIONS
from evalplatform.plugins.plugin_set import parse_plugins, plugin_set_id
from evalplatform.ports.model_client import Message, Sampling
from evalplatform.questions.records import Question
from tests.answering.answering_doubles import Adds, Ending, ScriptedAsker, reply

LONG = "A kettle boils water until a switch cuts the current."
BARE = AgentConfig(metadata={"arm_kind": "baseline"})
PROFILE = AgentConfig(system_prompt="Be kind.", metadata={"arm_kind": "agent_profile"})
SKILL = AgentConfig(contexts=("Alpha.",), material=JudgeMaterial(injected="Alpha."), metadata={"arm_kind": "skill"})
PLAN = AnswerPlan(provider="p", model="m", questions=(Question(id="q", question="Why?"),))


def sheet(*refs: str, asker: ScriptedAsker | None = None, **arms: AgentConfig) -> AnswerSheet:
    treatments = [(name, Adds(config)) for name, config in (arms or {"bare": BARE}).items()]
    asker = asker or ScriptedAsker(otherwise=reply(LONG))
    return asyncio.run(answer_cell(PLAN, treatments=treatments, asker=asker, plugins=parse_plugins(refs)))


def only(*refs: str, ending: Ending | None = None, config: AgentConfig = BARE) -> ArmAnswer:
    (answer,) = sheet(*refs, asker=ScriptedAsker(otherwise=ending or reply(LONG)), arm=config).answers
    return answer


def test_a_users_answer_is_cut_while_the_models_own_is_kept_and_its_tokens_stay() -> None:
    plain, cut = only(), only("truncate:10")
    assert (cut.answer, cut.raw_answer) == ("A kettle …", LONG)
    assert (plain.answer, plain.raw_answer) == (LONG, None)
    assert (cut.usage, cut.cost_usd, cut.calls) == (plain.usage, plain.cost_usd, plain.calls)


def test_an_answer_that_a_shaper_leaves_alone_is_on_record_as_raw_too() -> None:
    answer = only("truncate:800")
    assert answer.answer == answer.raw_answer == LONG


def test_prompt_middleware_keeps_no_raw_answer_since_nothing_reshapes_it() -> None:
    assert (only("caveman").answer, only("caveman").raw_answer) == (LONG, None)


def test_shapers_change_no_prompt_so_both_cells_send_one_request() -> None:
    plain, cut, told = only(config=PROFILE), only("truncate:10", config=PROFILE), only("truncate:10", "caveman", config=PROFILE)
    assert plain.request_digest == cut.request_digest != told.request_digest


@pytest.mark.parametrize("config", [BARE, PROFILE, SKILL])
def test_a_plugins_words_follow_an_arms_own_and_the_rest_of_the_prompt_stays(config: AgentConfig) -> None:
    asked, plainly_asked = ScriptedAsker(), ScriptedAsker()
    sheet("caveman:ultra", asker=asked, arm=config)
    sheet(asker=plainly_asked, arm=config)
    own = f"{config.system_prompt}\n\n" if config.system_prompt else ""
    ((request, _),), ((plain, _),) = asked.asked, plainly_asked.asked
    assert request.messages[0] == Message(role="system", content=own + INSTRUCTIONS["ultra"])
    assert request.messages[1:] == plain.messages[1 if config.system_prompt else 0 :]


def test_what_a_judge_may_see_knows_nothing_of_plugins() -> None:
    assert only("caveman", "truncate:10", config=SKILL).material_digest == only(config=SKILL).material_digest == SKILL.material.digest


def test_a_wrapped_arm_records_the_set_and_the_system_prompt_as_it_was_sent() -> None:
    stamps = parse_plugins(["caveman:lite"]).stamps
    sent = f"Be kind.\n\n{INSTRUCTIONS['lite']}"
    answer = only("plugin:caveman:lite", config=PROFILE)
    assert answer.metadata == {
        "arm_kind": "agent_profile",
        "plugin_set": "caveman:lite",
        "plugin_set_id": plugin_set_id(stamps),
        "plugins": [stamps[0].model_dump(mode="json")],
        "system_prompt_sha256": text_digest(sent),
        "system_prompt_extended_by_plugins": True,
    }
    assert answer.system_prompt_digest == text_digest(sent)


def test_a_prompt_that_no_plugin_extended_says_so_and_none_at_all_records_none() -> None:
    profile, bare = only("truncate", config=PROFILE), only("truncate")
    assert profile.metadata["system_prompt_extended_by_plugins"] is False
    assert profile.metadata["system_prompt_sha256"] == text_digest("Be kind.")
    assert set(bare.metadata) == {"arm_kind", "plugin_set", "plugin_set_id", "plugins"}
    assert only().metadata == BARE.metadata


def test_a_plugin_makes_a_system_prompt_where_the_arm_has_none() -> None:
    assert only("caveman").used_system_prompt
    assert not only("truncate").used_system_prompt
    assert not only().used_system_prompt


@pytest.mark.parametrize(
    ("finish", "reason"), [("length", "no_answer:budget"), ("content_filter", "no_answer:filtered"), ("stop", "no_answer:empty")]
)
def test_no_answer_stays_no_answer(finish: str, reason: str) -> None:
    answer = only("truncate:1", ending=reply(" \n", finish))
    assert (answer.state, answer.answer, answer.raw_answer, answer.reason) == ("no_answer", None, None, reason)


@pytest.mark.parametrize("ending", [UnusableReplyError("no_choices", "No choices."), BudgetExhaustedError("Spent.")])
def test_a_failed_row_keeps_what_it_was_to_be_sent_and_has_no_answer(ending: Exception) -> None:
    answer = only("caveman", "truncate:5", ending=ending)
    assert (answer.state, answer.answer, answer.raw_answer) == ("failed", None, None)
    assert answer.metadata["plugin_set"] == "caveman:full+truncate:5"


def test_arms_that_send_the_same_wrapped_prompt_are_marked_as_one_call() -> None:
    answers = sheet("caveman", one=BARE, two=BARE, other=PROFILE).answers
    assert [answer.same_call for answer in answers] == [True, True, False]


@pytest.mark.parametrize("config", [BARE, PROFILE, SKILL])
def test_a_stored_answer_of_a_plugin_cell_gives_back_the_exact_request(config: AgentConfig) -> None:
    asker = ScriptedAsker()
    made = sheet("caveman:full", "truncate:3", asker=asker, arm=config)
    ((sent, _),) = asker.asked
    rebuilt = rebuilt_request(
        made.answers[0], question="Why?", texts=made.texts, provider="p", model="m", base_url=None, sampling=Sampling()
    )
    assert rebuilt == sent

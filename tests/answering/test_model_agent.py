"""The project's own agent: a cell under one arm, turn by turn."""

import asyncio

import pytest

from evalplatform.answering.model_agent import ModelAgentRunner
from evalplatform.answering.prompts import answer_messages
from evalplatform.arms.treatment import AgentConfig
from evalplatform.kernel.errors import CircuitOpenError, FatalCallError, HarnessError, RetryableCallError, UnusableReplyError
from evalplatform.plugins.plugin_set import parse_plugins
from evalplatform.ports.agent_runner import AgentReply, AgentRequest
from evalplatform.ports.model_client import Message, Sampling
from evalplatform.runs.trajectory import MessageStep
from tests.answering.answering_doubles import Adds, ScriptedAsker, reply


def runner(asker: ScriptedAsker, *, adds: Adds | None = None, plugins: tuple[str, ...] = ()) -> ModelAgentRunner:
    return ModelAgentRunner(
        agent="model small-123456 baseline",
        model="small",
        provider="any",
        base_url=None,
        sampling=Sampling(seed=7),
        treatment=adds or Adds(),
        asker=asker,
        concurrency=4,
        plugins=parse_plugins(plugins),
    )


def run(agent: ModelAgentRunner, *messages: str, order: int = 0, **limits: float) -> AgentReply:
    request = AgentRequest.model_validate({"scenario_id": "s", "order": order, "messages": messages, **limits})
    return asyncio.run(agent.run(request))


def texts(answered: AgentReply) -> list[tuple[str, str]]:
    return [(step.role, step.text) for step in answered.trajectory.steps if isinstance(step, MessageStep)]


def test_one_message_is_asked_as_a_suite_asks_its_question() -> None:
    asker = ScriptedAsker()
    config = AgentConfig(system_prompt="Be brief.", contexts=("The manual.",))
    answered = run(runner(asker, adds=Adds(config)), "How?", order=3)
    (asked, draw) = asker.asked[0]
    assert asked.messages == answer_messages("How?", context="The manual.", system_prompt="Be brief.")
    assert draw == 3
    assert texts(answered) == [("user", "How?"), ("assistant", "An answer.")]
    assert (answered.ended, answered.reason, answered.cost_usd, answered.seconds) == ("finished", None, 0.25, 0.5)


def test_every_turn_is_asked_with_what_was_said_before_and_the_arms_context_once() -> None:
    asker = ScriptedAsker({"Third": reply("3"), "Second": reply("2")}, otherwise=reply("1"))
    config = AgentConfig(system_prompt="Be brief.", contexts=("The manual.",))
    answered = run(runner(asker, adds=Adds(config)), "First", "Second", "Third")
    (last, _) = asker.asked[-1]
    assert last.messages == (
        Message(role="system", content="Be brief."),
        Message(role="user", content="First"),
        Message(role="assistant", content="1"),
        Message(role="user", content="Second"),
        Message(role="assistant", content="2"),
        answer_messages("Third", context="The manual.", system_prompt=None)[0],
    )
    assert texts(answered)[-2:] == [("user", "Third"), ("assistant", "3")]
    assert (answered.usage.prompt_tokens, answered.usage.completion_tokens) == (30, 15)
    assert (answered.cost_usd, answered.seconds) == (0.75, 1.5)


def test_what_a_plugin_makes_of_an_answer_is_what_the_next_turn_knows() -> None:
    asker = ScriptedAsker(otherwise=reply("A rather long answer indeed."))
    answered = run(runner(asker, plugins=("truncate:8",)), "First", "Second")
    shown = texts(answered)[1][1]
    assert shown != "A rather long answer indeed."
    assert asker.asked[1][0].messages[1] == Message(role="assistant", content=shown)


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        ({"max_cost_usd": 0.3}, "max_cost_usd: it cost $0.5; the limit is $0.3."),
        ({"max_seconds": 0.9}, "max_seconds: it took 1.0 s; the limit is 0.9 s."),
        ({"max_steps": 3}, "max_steps: it took 4 steps; the limit is 3."),
    ],
)
def test_a_run_that_passes_a_limit_of_its_own_asks_no_further_turn(limits: dict[str, float], reason: str) -> None:
    asker = ScriptedAsker()
    answered = run(runner(asker), "one", "two", "three", "four", **limits)
    assert (answered.ended, answered.reason) == ("budget_stop", reason)
    assert len(asker.asked) == 2
    assert len(texts(answered)) == 4


def test_a_cost_that_is_known_in_part_is_unknown_and_stops_no_run() -> None:
    asker = ScriptedAsker()
    asker.unpriced = "two"
    answered = run(runner(asker), "one", "two", "three", max_cost_usd=0.4)
    assert (answered.ended, answered.cost_usd) == ("finished", None)


@pytest.mark.parametrize(
    ("finish_reason", "ended", "reason"),
    [
        ("length", "budget_stop", "no_answer: the model spent its tokens before it answered."),
        ("content_filter", "agent_error", "no_answer: its provider's content filter stopped it."),
        ("stop", "agent_error", "no_answer: its reply is empty."),
    ],
)
def test_an_empty_reply_ends_the_run_and_says_why(finish_reason: str, ended: str, reason: str) -> None:
    asker = ScriptedAsker(otherwise=reply(" \n", finish_reason))
    answered = run(runner(asker), "one", "two")
    assert (answered.ended, answered.reason) == (ended, reason)
    assert texts(answered) == [("user", "one"), ("assistant", "")]
    assert answered.cost_usd == 0.25


def test_a_reply_that_is_none_is_the_agents_own_breakage() -> None:
    asker = ScriptedAsker({"two": UnusableReplyError("no_choices", "It answered with no choices.")})
    answered = run(runner(asker), "one", "two")
    assert (answered.ended, answered.reason) == ("agent_error", "no_choices: It answered with no choices.")
    assert texts(answered) == [("user", "one"), ("assistant", "An answer."), ("user", "two")]


@pytest.mark.parametrize("error", [FatalCallError("auth", "HTTP 401"), RetryableCallError("overloaded", "HTTP 503")])
def test_a_call_without_a_reply_could_not_run(error: Exception) -> None:
    with pytest.raises(HarnessError) as refused:
        run(runner(ScriptedAsker(otherwise=error)), "one")
    assert refused.value.reason in ("auth", "overloaded")


def test_documents_that_cannot_be_fetched_could_not_run() -> None:
    with pytest.raises(HarnessError, match="the source went away") as refused:
        run(runner(ScriptedAsker(), adds=Adds(fails=True)), "one")
    assert refused.value.reason == "retrieval_failed"


def test_what_stops_the_batch_is_passed_on() -> None:
    with pytest.raises(CircuitOpenError):
        run(runner(ScriptedAsker(otherwise=CircuitOpenError("Stopped."))), "one")

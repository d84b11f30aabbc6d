"""Agents over HTTP: a real server, and everything that servers and networks do wrong."""

import asyncio
import json
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from evalplatform.adapters.agents.http import HttpRunner
from evalplatform.adapters.agents.open import open_agent
from evalplatform.adapters.clock import SystemClock
from evalplatform.calls.retry import RetryPolicy
from evalplatform.kernel.errors import HarnessError, MissingSecretError
from evalplatform.ports.agent_runner import AgentReply, AgentRequest
from evalplatform.runs.agent_settings import HttpAgent
from evalplatform.runs.trajectory import FileChangeStep, MessageStep, ToolCallStep
from tests.support.agent_stub import AgentStub, running_agent
from tests.support.dev_server import free_port
from tests.support.model_stub import ModelStub, running_stub

SECRET = "Bearer agent-key-123456"


@pytest.fixture(scope="module")
def agent() -> Iterator[AgentStub]:
    with running_agent() as stub:
        yield stub


@pytest.fixture(scope="module")
def models() -> Iterator[ModelStub]:
    with running_stub() as stub:
        yield stub


def run(url: str, *messages: str, limits: dict[str, float] | None = None, **settings: object) -> AgentReply:
    request = AgentRequest.model_validate({"scenario_id": "s", "order": 2, "messages": messages, **(limits or {})})
    declared = HttpAgent.model_validate({"url": url, "auth_env": "AGENT_AUTH", **settings})
    headers = {"Authorization": SECRET}

    async def whole() -> AgentReply:
        runner = HttpRunner(declared, headers=headers, clock=SystemClock(), retry=RetryPolicy(attempts=3, first_wait_seconds=0.01))
        try:
            return await runner.run(request)
        finally:
            await runner.aclose()

    return asyncio.run(whole())


def test_a_scenario_is_posted_whole_and_its_run_read_from_the_reply(agent: AgentStub) -> None:
    reply = run(agent.url, "hello", "and then?")
    assert agent.bodies[-1] == {
        "scenario": "s",
        "run": 2,
        "messages": [{"role": "user", "content": "hello"}, {"role": "user", "content": "and then?"}],
    }
    assert reply.ended == "finished"
    assert reply.reason is None
    assert reply.trajectory.tools == ("look",)
    assert reply.trajectory.final_text == "heard: and then?"
    assert reply.cost_usd is None


def test_headers_come_from_the_environment(agent: AgentStub, tmp_path: Path) -> None:
    settings = HttpAgent(url=agent.url, auth_env="AGENT_AUTH", headers_env={"X-Team": "TEAM"})

    async def asked() -> None:
        runner = open_agent(settings, folder=tmp_path, environ={"AGENT_AUTH": SECRET + "\n", "TEAM": "blue"})
        await runner.run(AgentRequest(scenario_id="s", order=0, messages=("hello",)))
        await runner.aclose()

    asyncio.run(asked())
    assert agent.headers[-1]["Authorization"] == SECRET
    assert agent.headers[-1]["X-Team"] == "blue"
    with pytest.raises(MissingSecretError, match=r"http\.auth_env: the environment variable AGENT_AUTH is not set"):
        open_agent(settings, folder=tmp_path, environ={"TEAM": "blue"})
    with pytest.raises(MissingSecretError, match="AGENT_AUTH holds what no header can") as refused:
        open_agent(settings, folder=tmp_path, environ={"AGENT_AUTH": "a\nb", "TEAM": "blue"})
    assert "a\nb" not in str(refused.value)


@pytest.mark.parametrize(
    ("status", "reason"), [("401", "auth"), ("403", "auth"), ("404", "not_found"), ("400", "bad_request"), ("429", "rate_limited")]
)
def test_what_the_agent_never_got_to_do_could_not_run(agent: AgentStub, status: str, reason: str) -> None:
    with pytest.raises(HarnessError, match=f"HTTP {status}") as refused:
        run(agent.url, f"do:status {status}")
    assert refused.value.reason == reason
    assert "agent-key" not in str(refused.value)


@pytest.mark.parametrize("status", ["429", "503"])
def test_an_agent_that_asks_to_wait_is_asked_again(agent: AgentStub, status: str) -> None:
    reply = run(agent.url, f"do:status {status} 0.05 2")
    assert reply.ended == "finished"
    assert sum(body["messages"][0]["content"] == f"do:status {status} 0.05 2" for body in agent.bodies) == 3


def test_an_agent_that_asks_to_wait_too_long_could_not_run(agent: AgentStub) -> None:
    with pytest.raises(HarnessError, match="It asks to wait 3,600 s, longer than this waits") as refused:
        run(agent.url, "do:status 503 3600")
    assert refused.value.reason == "overloaded"


def test_waiting_for_a_busy_agent_counts_for_no_limit_of_the_run(agent: AgentStub) -> None:
    reply = run(agent.url, "do:status 503 1.2 1", limits={"max_seconds": 1.0})
    assert reply.ended == "finished"
    assert reply.seconds is not None
    assert reply.seconds < 1.0


@pytest.mark.parametrize("status", ["500", "502", "504"])
def test_an_agent_that_answers_with_its_own_failure_broke(agent: AgentStub, status: str) -> None:
    reply = run(agent.url, f"do:status {status}")
    assert reply.ended == "agent_error"
    assert f"HTTP {status}" in str(reply.reason)
    assert "agent-key" not in str(reply.reason)
    assert reply.trajectory.steps == (MessageStep(role="user", text=f"do:status {status}"),)


def test_a_redirect_is_not_followed(agent: AgentStub) -> None:
    with pytest.raises(HarnessError, match="HTTP 307") as refused:
        run(agent.url, "do:redirect")
    assert refused.value.reason == "redirected"


def test_an_address_where_nobody_listens_could_not_run() -> None:
    with pytest.raises(HarnessError, match=r"^http://127\.0\.0\.1:\d+/agent cannot be reached: connection refused\.$") as refused:
        run(f"http://127.0.0.1:{free_port()}/agent", "hello")
    assert refused.value.reason == "unreachable"


def test_an_address_that_takes_no_connection_could_not_run_however_short_the_runs_limit() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listening, ExitStack() as waiting:
        for _ in range(8):  # a full queue: the next one's connection is never made
            filler = waiting.enter_context(socket.socket())
            filler.setblocking(False)
            filler.connect_ex(listening.getsockname())
        with pytest.raises(HarnessError, match="cannot be reached: it took no connection in time") as refused:
            run(f"http://127.0.0.1:{listening.getsockname()[1]}/agent", "hello", limits={"max_seconds": 0.5})
    assert refused.value.reason == "unreachable"


def test_every_run_has_a_connection_of_its_own(agent: AgentStub) -> None:
    run(agent.url, "hello")
    assert agent.headers[-1]["Connection"] == "close"


def test_a_plain_server_is_no_agent_over_tls(agent: AgentStub) -> None:
    with pytest.raises(HarnessError) as refused:
        run(agent.url.replace("http:", "https:"), "hello")
    assert refused.value.reason == "unreachable"


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("do:cut", "broken_off: "),
        ("do:text", "not_a_reply: the agent's reply is no JSON: '<html>welcome</html>'."),
        ("do:huge", "too_large: "),
        ("do:bomb", "too_large: "),
        ("do:added", "not_a_reply: the agent's reply: messages: is not the whole conversation: the user's message 1 ('do:added')"),
        ("do:typo", "not_a_reply: the agent's reply: cost_used: is no field of a reply. Did you mean 'cost_usd'?"),
    ],
)
def test_a_reply_that_is_none_is_the_agents_own_breakage(agent: AgentStub, message: str, reason: str) -> None:
    reply = run(agent.url, message, max_response_bytes=1_000_000)
    assert reply.ended == "agent_error"
    assert str(reply.reason).startswith(reason)


@pytest.mark.parametrize("message", ["do:slow", "do:drip"])
def test_a_run_that_comes_to_its_own_time_limit_is_a_budget_stop(agent: AgentStub, message: str) -> None:
    started = time.monotonic()
    reply = run(agent.url, message, limits={"max_seconds": 0.3})
    assert (reply.ended, reply.reason) == ("budget_stop", "max_seconds: the run's limit is 0.3 s.")
    assert reply.trajectory.steps == (MessageStep(role="user", text=message),)
    assert time.monotonic() - started < 30


def test_an_agent_that_does_not_answer_in_time_broke(agent: AgentStub) -> None:
    reply = run(agent.url, "do:slow", timeout_seconds=0.3, limits={"max_seconds": 60})
    assert (reply.ended, reply.reason) == ("agent_error", "timeout: no reply within 0.3 s.")


def test_a_run_beyond_the_cost_it_states_is_a_budget_stop(agent: AgentStub) -> None:
    reply = run(agent.url, "do:cost", limits={"max_cost_usd": 1.5})
    assert (reply.ended, reply.reason) == ("budget_stop", "max_cost_usd: it cost $2; the limit is $1.5.")
    assert reply.cost_usd == 2.0
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens) == (5, 7)
    assert run(agent.url, "do:cost", limits={"max_cost_usd": 2.0}).ended == "finished"


def test_a_run_of_too_many_steps_is_a_budget_stop(agent: AgentStub) -> None:
    assert run(agent.url, "hello", limits={"max_steps": 4}).ended == "finished"
    reply = run(agent.url, "hello", limits={"max_steps": 3})
    assert (reply.ended, reply.reason) == ("budget_stop", "max_steps: it took 4 steps; the limit is 3.")


def test_how_a_run_ended_is_the_agents_to_say(agent: AgentStub) -> None:
    reply = run(agent.url, "do:stop", "never sent")
    assert (reply.ended, reply.reason) == ("budget_stop", "its own budget")
    broken = run(agent.url, "do:surrogate")
    assert (broken.ended, broken.reason) == ("agent_error", "half �")


def test_files_that_an_agent_states_are_its_last_step(agent: AgentStub) -> None:
    last = run(agent.url, "do:state").trajectory.steps[-1]
    assert isinstance(last, FileChangeStep)
    assert [(file.path, file.change) for file in last.files] == [("b.txt", "removed")]


def test_no_more_runs_are_in_flight_than_declared(agent: AgentStub) -> None:
    async def many() -> list[AgentReply]:
        runner = HttpRunner(HttpAgent(url=agent.url, concurrency=3), headers={}, clock=SystemClock())
        requests = [AgentRequest(scenario_id=f"s{number}", order=0, messages=("do:pause",)) for number in range(12)]
        replies = await asyncio.gather(*(runner.run(request) for request in requests))
        await runner.aclose()
        return replies

    agent.most_in_flight = 0
    assert all(reply.ended == "finished" for reply in asyncio.run(many()))
    assert agent.most_in_flight == 3


def test_an_openai_server_is_sent_the_messages_one_at_a_time(models: ModelStub) -> None:
    reply = run(models.url, "first", "second", format="openai", model="stub;do=reply;text=fine")
    assert [step.model_dump()["text"] for step in reply.trajectory.steps] == ["first", "fine", "second", "fine"]
    sent = models.bodies()[-1]
    assert [(message["role"], message["content"]) for message in sent["messages"]] == [
        ("user", "first"),
        ("assistant", "fine"),
        ("user", "second"),
    ]
    assert sent["model"] == "stub;do=reply;text=fine"
    assert reply.usage.completion_tokens == 2
    assert SECRET.removeprefix("Bearer ") in models.keys


def test_an_openai_server_is_no_longer_asked_once_the_run_is_at_its_limit(models: ModelStub) -> None:
    reply = run(models.url, "one", "two", "three", format="openai", model="stub;do=reply;text=steps", limits={"max_steps": 3})
    assert reply.ended == "budget_stop"
    assert len(reply.trajectory.steps) == 4


def test_what_was_said_before_an_openai_server_broke_is_kept(models: ModelStub) -> None:
    models.fail_after, models.fail_status = models.requests + 1, 500
    try:
        reply = run(models.url, "one", "two", format="openai", model="stub;do=reply;text=kept")
    finally:
        models.fail_after = None
    assert reply.ended == "agent_error"
    assert [step.model_dump()["text"] for step in reply.trajectory.steps] == ["one", "kept", "two"]


@pytest.mark.parametrize("deed", ["empty_choices", "body;raw={}", "body;raw=[]", "body;raw=no", "cut", "disconnect"])
def test_an_openai_reply_that_is_none_is_the_agents_own_breakage(models: ModelStub, deed: str) -> None:
    reply = run(models.url, "hello", format="openai", model=f"stub;do={deed}")
    assert reply.ended == "agent_error"
    assert reply.reason


def test_a_tool_call_that_nobody_runs_ends_the_run_and_is_recorded(models: ModelStub) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "refund", "arguments": "{"}}
    raw = json.dumps({"choices": [{"message": {"role": "assistant", "content": None, "tool_calls": [call]}}]})
    reply = run(models.url, "hello", "more", format="openai", model=f"stub;do=body;raw={raw}")
    assert reply.ended == "agent_error"
    assert reply.reason == "open_tool_call: the agent asks for 'refund' to be run, and nobody runs its tools."
    assert reply.trajectory.steps[-1] == ToolCallStep(call_id="c1", tool="refund", arguments_text="{", text=None)

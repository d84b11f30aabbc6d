"""What every agent runner promises, whichever way it reaches its agent (ports.agent_runner)."""

import asyncio
import json
import os
import re
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

import pytest

from evalplatform.kernel.errors import HarnessError
from evalplatform.ports.agent_runner import AgentReply, AgentRequest, AgentRunner
from evalplatform.project.load import load_project
from evalplatform.runs.agent_settings import AgentSettings
from evalplatform.runs.records import ONE_LINE
from evalplatform.runs.trajectory import FileChangeStep, MessageStep, trajectory_digest
from evalplatform.wiring import OpenedProject
from tests.support.agent_stub import AgentStub, running_agent
from tests.support.dev_server import free_port
from tests.support.model_stub import ModelStub, running_stub
from tests.support.stub_project import write_stub_project

Result = TypeVar("Result")
SUPPORT = Path(__file__).parents[1] / "support"
SECRET = "Bearer a-secret-value"
MESSAGES = ("What is a kettle?", "And its lid?")
RECORDING = [
    {"role": "user", "content": MESSAGES[0]},
    {"role": "assistant", "content": "A pot."},
    {"role": "user", "content": MESSAGES[1]},
    {"role": "assistant", "content": "Its cover."},
]


class Bench:
    """A project with everything that any kind of agent needs."""

    def __init__(self, folder: Path, agent: AgentStub, models: ModelStub) -> None:
        self.folder = write_stub_project(folder, models.url, questions=1)
        self.agent_url = agent.url
        self.models_url = models.url
        (self.folder / "recording.json").write_text(json.dumps(RECORDING))

    @asynccontextmanager
    async def opened(self, settings: dict[str, object]) -> AsyncIterator[AgentRunner]:
        with_project = OpenedProject(load_project(self.folder / "evalplatform.yaml"))
        try:
            if "replay" in settings:
                yield with_project.open_replay({f"s{number}": self.folder / "recording.json" for number in range(20)})
            else:
                declared = AgentSettings.model_validate(settings)
                async with with_project.open_agent(declared, folder=self.folder, batch_key=os.urandom(4).hex()) as runner:
                    yield runner
        finally:
            await asyncio.to_thread(with_project.close)


Kind = Callable[[Bench], dict[str, object]]
KINDS: dict[str, Kind] = {
    "http, json": lambda bench: {"http": {"url": f"{bench.agent_url}?key=a-secret-value", "auth_env": "AGENT_AUTH"}},
    "http, openai": lambda bench: {"http": {"url": bench.models_url, "format": "openai", "model": "m", "auth_env": "AGENT_AUTH"}},
    "command": lambda _: {"command": {"argv": [sys.executable, str(SUPPORT / "scripted_agent.py")], "env": ["AGENT_AUTH"]}},
    "python": lambda _: {"python": {"callable": "scripted_agent:reply", "path": str(SUPPORT), "env": ["AGENT_AUTH"]}},
    "model": lambda _: {"model": {"cell": "model"}},
    "replay": lambda _: {"replay": "recording.json"},
}
every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
OUT_OF_REACH: dict[str, dict[str, object]] = {
    "http, json": {"http": {"url": "http://127.0.0.1:{port}/agent"}},
    "http, openai": {"http": {"url": "http://127.0.0.1:{port}/v1", "format": "openai", "model": "m"}},
    "command": {"command": {"argv": ["./vanishing-agent"]}},
    "python": {"python": {"callable": "no_such_module:reply"}},
}


@pytest.fixture(scope="module")
def agent() -> Iterator[AgentStub]:
    with running_agent() as stub:
        yield stub


@pytest.fixture(scope="module")
def models() -> Iterator[ModelStub]:
    with running_stub() as stub:
        yield stub


@pytest.fixture
def bench(tmp_path: Path, agent: AgentStub, models: ModelStub, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setenv("AGENT_AUTH", SECRET)
    monkeypatch.setenv("STUB_KEY", "sk-of-no-value")
    return Bench(tmp_path, agent, models)


def request(scenario_id: str = "s0", order: int = 0) -> AgentRequest:
    return AgentRequest(scenario_id=scenario_id, order=order, messages=MESSAGES)


def with_runner(bench: Bench, kind: Kind, work: Callable[[AgentRunner], Awaitable[Result]]) -> Result:
    async def whole() -> Result:
        async with bench.opened(kind(bench)) as runner:
            return await work(runner)

    return asyncio.run(whole())


@every_kind
def test_a_run_holds_the_users_messages_in_order_and_what_was_answered(bench: Bench, kind: Kind) -> None:
    async def one(runner: AgentRunner) -> AgentReply:
        return await runner.run(request())

    reply = with_runner(bench, kind, one)
    assert (reply.ended, reply.reason) == ("finished", None)
    said = [step for step in reply.trajectory.steps if isinstance(step, MessageStep)]
    assert tuple(step.text for step in said if step.role == "user") == MESSAGES
    assert reply.trajectory.steps[0] == said[0]
    assert reply.trajectory.final_text
    assert not any(isinstance(step, FileChangeStep) for step in reply.trajectory.steps)  # no workspace, no file state
    assert trajectory_digest(reply.trajectory).startswith("sha256:")
    assert reply.seconds is None or reply.seconds >= 0


@pytest.mark.parametrize("name", ["http, json", "command", "python", "replay"])
def test_what_is_wrong_with_the_messages_of_a_run_is_told_with_it(bench: Bench, name: str) -> None:
    call = {"id": "1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    recording = [{"role": "user", "content": "do:open"}, {"role": "assistant", "tool_calls": [call]}]
    (bench.folder / "recording.json").write_text(json.dumps(recording))

    async def one(runner: AgentRunner) -> AgentReply:
        return await runner.run(AgentRequest(scenario_id="s0", order=0, messages=("do:open",)))

    reply = with_runner(bench, KINDS[name], one)
    assert (reply.ended, [problem.words for problem in reply.problems]) == ("finished", ["step 2: a call has no result (look)"])


@every_kind
def test_an_identity_is_one_line_without_a_secret_and_the_same_again(bench: Bench, kind: Kind) -> None:
    async def identity(runner: AgentRunner) -> tuple[str, str | None]:
        return runner.agent, runner.model

    first = with_runner(bench, kind, identity)
    assert first == with_runner(bench, kind, identity)
    assert re.match(ONE_LINE, first[0])
    assert "secret" not in first[0]
    assert str(bench.folder) not in first[0]


@every_kind
def test_one_runner_makes_many_runs_at_once(bench: Bench, kind: Kind) -> None:
    async def many(runner: AgentRunner) -> list[AgentReply]:
        assert runner.concurrency >= 1
        return await asyncio.gather(*(runner.run(request(f"s{number}")) for number in range(8)))

    replies = with_runner(bench, kind, many)
    assert [reply.ended for reply in replies] == ["finished"] * 8


@every_kind
def test_a_runner_can_be_closed_twice_and_unused(bench: Bench, kind: Kind) -> None:
    async def closed(runner: AgentRunner) -> None:
        await runner.aclose()
        await runner.aclose()

    with_runner(bench, kind, closed)


@pytest.mark.parametrize("name", OUT_OF_REACH)
def test_an_agent_that_cannot_be_reached_could_not_run(bench: Bench, name: str) -> None:
    program = bench.folder / "vanishing-agent"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    settings = json.loads(json.dumps(OUT_OF_REACH[name]).replace("{port}", str(free_port())))

    async def one(runner: AgentRunner) -> None:
        program.unlink()
        await runner.run(request())

    with pytest.raises(HarnessError) as refused:
        with_runner(bench, lambda _: settings, one)
    assert re.fullmatch(r"[a-z_]+", refused.value.reason)
    assert "Traceback" not in str(refused.value)


def test_a_recording_that_is_gone_by_now_and_a_model_that_is_down_could_not_run(bench: Bench, models: ModelStub) -> None:
    async def one(runner: AgentRunner) -> None:
        (bench.folder / "recording.json").unlink(missing_ok=True)
        await runner.run(request())

    with pytest.raises(HarnessError):
        with_runner(bench, KINDS["replay"], one)
    models.fail_after, models.fail_status = models.requests, 401
    try:
        with pytest.raises(HarnessError):
            with_runner(bench, KINDS["model"], one)
    finally:
        models.fail_after = None


@every_kind
def test_a_cancelled_run_stops_and_the_next_one_runs(bench: Bench, kind: Kind) -> None:
    async def cancelled(runner: AgentRunner) -> AgentReply:
        under_way = asyncio.create_task(runner.run(request("s1")))
        await asyncio.sleep(0.01)
        under_way.cancel()
        await asyncio.wait([under_way], timeout=20)
        assert under_way.done()
        return await runner.run(request("s2"))

    reply = with_runner(bench, kind, cancelled)
    assert reply.ended == "finished"

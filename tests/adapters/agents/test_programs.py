"""Agents that are programs or Python functions: real processes, ended with all that they started."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from evalplatform.adapters.agents.open import open_agent
from evalplatform.kernel.errors import HarnessError, InputError, MissingSecretError
from evalplatform.ports.agent_runner import AgentReply, AgentRequest
from evalplatform.runs.agent_settings import CommandAgent, PythonAgent
from evalplatform.runs.trajectory import ChangedFile, FileChangeStep, MessageStep
from tests.support.processes import appeared, disappeared, ended_soon, is_running
from tests.support.scripted_agent import SEEN_VARIABLE

SUPPORT = Path(__file__).parents[2] / "support"
AGENT = SUPPORT / "scripted_agent.py"
ENVIRON = {"PATH": os.environ["PATH"], SEEN_VARIABLE: "a-secret-value", "OTHER_KEY": "not passed"}


def command(**settings: object) -> CommandAgent:
    return CommandAgent.model_validate({"argv": [sys.executable, str(AGENT)], "env": [SEEN_VARIABLE], **settings})


def python(function: str = "reply", **settings: object) -> PythonAgent:
    return PythonAgent.model_validate({"callable": f"scripted_agent:{function}", "path": str(SUPPORT), "env": [SEEN_VARIABLE], **settings})


KINDS = {"command": command(), "python": python(), "python, async": python("reply_later")}
every_kind = pytest.mark.parametrize("settings", KINDS.values(), ids=KINDS)


def request(*messages: str, **limits: float) -> AgentRequest:
    return AgentRequest.model_validate({"scenario_id": "s", "order": 0, "messages": messages, **limits})


def run(
    settings: CommandAgent | PythonAgent, *messages: str, folder: Path = SUPPORT, environ: Mapping[str, str] = ENVIRON, **limits: float
) -> AgentReply:
    async def whole() -> AgentReply:
        runner = open_agent(settings, folder=folder, environ=environ)
        try:
            return await runner.run(request(*messages, **limits))
        finally:
            await runner.aclose()

    return asyncio.run(whole())


def changed(settings: CommandAgent | PythonAgent, **fields: object) -> CommandAgent | PythonAgent:
    return settings.with_changes(**fields)


@every_kind
def test_a_program_gets_the_scenario_and_gives_the_conversation(settings: CommandAgent | PythonAgent) -> None:
    reply = run(settings, "hello", "and then?")
    assert (reply.ended, reply.reason) == ("finished", None)
    assert reply.trajectory.tools == ("look",)
    assert reply.trajectory.final_text == "heard: and then?"
    assert not any(isinstance(step, FileChangeStep) for step in reply.trajectory.steps)
    assert reply.seconds is not None
    assert reply.seconds > 0


@every_kind
def test_a_program_sees_the_variables_that_are_named_and_no_other(settings: CommandAgent | PythonAgent) -> None:
    seen = json.loads(str(run(settings, "do:see").trajectory.final_text))
    assert SEEN_VARIABLE in seen
    assert "PATH" in seen
    assert "OTHER_KEY" not in seen
    with pytest.raises(MissingSecretError, match=f"env: the environment variable {SEEN_VARIABLE} is not set"):
        run(settings, "hello", environ={})


@pytest.mark.parametrize(
    ("settings", "deed", "reason"),
    [
        (command(), "do:break", "exit: command "),
        (python(), "do:break", "exception: ValueError: the agent fell over [secret]"),
        (python("reply_later"), "do:break", "exception: ValueError: the agent fell over [secret]"),
        (command(), "do:exit", "exit: command "),
        (python(), "do:exit", "exit: python scripted_agent:reply ended with exit code 3. It last wrote:"),
        (command(), "do:leave", "not_a_reply: the agent's reply is empty."),
        (python(), "do:leave", "exit: the function ended the process and returned nothing."),
    ],
)
def test_an_agent_that_falls_over_is_a_failed_run_with_its_last_words(settings: CommandAgent | PythonAgent, deed: str, reason: str) -> None:
    reply = run(settings, deed)
    assert reply.ended == "agent_error"
    assert str(reply.reason).startswith(reason)
    assert "a-secret-value" not in str(reply.reason)
    assert reply.trajectory.steps == (MessageStep(role="user", text=deed),)


def test_a_function_that_returns_what_is_no_json_broke(tmp_path: Path) -> None:
    (tmp_path / "my_agent.py").write_text("def reply(request):\n    return {'messages': [object()]}\n")
    reply = run(PythonAgent(callable="my_agent:reply"), "hello", folder=tmp_path)
    assert reply.ended == "agent_error"
    assert str(reply.reason).startswith("exception: it returned what is no JSON: Object of type object")


def test_what_a_program_last_wrote_says_why_it_ended() -> None:
    reason = str(run(command(), "do:exit").reason)
    assert reason.endswith("ended with exit code 3. It last wrote: what an agent prints is no reply giving up on [secret]")


@pytest.mark.parametrize(
    ("function", "why"),
    [
        ("no_such_module:reply", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("scripted_agent:no_such_function", "AttributeError"),
        ("scripted_agent:no_function", "TypeError: it is not callable"),
    ],
)
def test_a_function_that_is_not_there_could_not_run(function: str, why: str) -> None:
    with pytest.raises(HarnessError, match=why) as refused:
        run(PythonAgent(callable=function, path=str(SUPPORT)), "hello")
    assert refused.value.reason == "cannot_start"


def test_a_module_of_the_agents_own_may_be_named_as_one_of_ours(tmp_path: Path) -> None:
    (tmp_path / "open.py").write_text("import http.client\ndef reply(request):\n    return {'messages': request['messages']}\n")
    assert run(PythonAgent(callable="open:reply"), "hello", folder=tmp_path).ended == "finished"


def test_a_program_that_is_not_there_is_refused_before_the_first_run(tmp_path: Path) -> None:
    for argv in (["no-such-program"], ["./agent.sh"], [str(tmp_path)]):
        with pytest.raises(InputError, match=r"agent.command.argv: there is no program .* that can be run"):
            open_agent(CommandAgent(argv=tuple(argv)), folder=tmp_path, environ=ENVIRON)


def test_a_program_that_is_gone_by_now_could_not_run(tmp_path: Path) -> None:
    program = tmp_path / "agent.sh"
    program.write_text("#!/bin/sh\ncat\n")
    program.chmod(0o755)

    async def asked() -> None:
        runner = open_agent(CommandAgent(argv=("./agent.sh",)), folder=tmp_path, environ=ENVIRON)
        program.unlink()
        await runner.run(request("hello"))

    with pytest.raises(HarnessError) as refused:
        asyncio.run(asked())
    assert refused.value.reason == "cannot_start"


def test_an_argument_can_name_the_scenario_files_folder(tmp_path: Path) -> None:
    (tmp_path / "start").mkdir()
    (tmp_path / "agent.py").write_text(AGENT.read_text())
    settings = CommandAgent(argv=(sys.executable, "{folder}/agent.py"), workspace="start")
    assert run(settings, "hello", folder=tmp_path).ended == "finished"


@pytest.mark.parametrize("settings", [command(max_response_bytes=100_000), python(max_response_bytes=100_000)], ids=["command", "python"])
def test_a_reply_that_is_too_large_is_not_read(settings: CommandAgent | PythonAgent) -> None:
    reply = run(settings, "do:huge")
    assert reply.ended == "agent_error"
    assert str(reply.reason).startswith("too_large: ")


def test_a_program_that_never_stops_writing_is_stopped(tmp_path: Path) -> None:
    settings = CommandAgent(argv=("sh", "-c", "yes"), max_response_bytes=1_000_000)
    assert str(run(settings, "hello", folder=tmp_path).reason).startswith("too_large: ")


def test_a_program_need_not_read_what_it_is_given(tmp_path: Path) -> None:
    answer = json.dumps({"messages": [{"role": "user", "content": "x" * 1_000_000}]})
    (tmp_path / "answer.json").write_text(answer)
    reply = run(CommandAgent(argv=("sh", "-c", "cat answer.json")), "x" * 1_000_000, folder=tmp_path)
    assert reply.ended == "finished"


@pytest.mark.parametrize("settings", [command(), python()], ids=["command", "python"])
def test_a_run_at_its_time_limit_is_ended_with_all_that_it_started(settings: CommandAgent | PythonAgent, tmp_path: Path) -> None:
    started = tmp_path / "started"
    reply = run(settings, "do:hang", str(started), max_seconds=4.0)
    assert (reply.ended, reply.reason) == ("budget_stop", "max_seconds: the run's limit is 4 s.")
    agent, child, _ = started.read_text().split()
    assert ended_soon(int(agent), int(child))


def test_an_agents_own_timeout_is_its_breakage() -> None:
    reply = run(CommandAgent(argv=("sleep", "300"), timeout_seconds=0.2), "hello", max_seconds=60.0)
    assert (reply.ended, reply.reason) == ("agent_error", "timeout: no reply within 0.2 s.")


def test_a_program_that_ignores_the_request_to_end_is_killed(tmp_path: Path) -> None:
    (tmp_path / "stubborn.py").write_text(
        "import os, pathlib, signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "pathlib.Path('pid').write_text(str(os.getpid()))\ntime.sleep(300)\n"
    )
    reply = run(CommandAgent(argv=(sys.executable, "stubborn.py"), timeout_seconds=3.0), "hello", folder=tmp_path)
    assert reply.ended == "agent_error"
    assert not is_running(int((tmp_path / "pid").read_text()))


@every_kind
def test_a_child_left_in_the_background_holds_nobody_up_and_is_ended(settings: CommandAgent | PythonAgent) -> None:
    reply = run(settings, "do:child")
    assert reply.ended == "finished"
    assert ended_soon(int(str(reply.reason)))


@every_kind
def test_a_cancelled_run_leaves_no_process_and_no_copy(settings: CommandAgent | PythonAgent, tmp_path: Path) -> None:
    (tmp_path / "start").mkdir()
    started = tmp_path / "started"

    async def cancelled() -> None:
        runner = open_agent(changed(settings, workspace=str(tmp_path / "start")), folder=tmp_path, environ=ENVIRON)
        under_way = asyncio.create_task(runner.run(request("do:hang", str(started))))
        assert await asyncio.to_thread(appeared, started)
        under_way.cancel()
        with pytest.raises(asyncio.CancelledError):
            await under_way
        await runner.aclose()

    asyncio.run(cancelled())
    agent, child, workspace = started.read_text().split()
    assert ended_soon(int(agent), int(child))
    assert not Path(workspace).exists()


_DRIVER = """
import asyncio, pathlib, sys
from evalplatform.adapters.agents.open import open_agent
from evalplatform.ports.agent_runner import AgentRequest
from evalplatform.runs.agent_settings import CommandAgent

settings = CommandAgent.model_validate_json(sys.argv[1])
request = AgentRequest(scenario_id="s", order=0, messages=("do:hang", sys.argv[2]))
asyncio.run(open_agent(settings, folder=pathlib.Path.cwd()).run(request))
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM], ids=["killed", "ended"])
def test_when_we_are_killed_the_agent_ends_too_and_its_copy_is_removed(tmp_path: Path, how: signal.Signals) -> None:
    (tmp_path / "start").mkdir()
    started = tmp_path / "started"
    settings = command(env=[], workspace=str(tmp_path / "start"))
    driver = subprocess.Popen([sys.executable, "-c", _DRIVER, settings.model_dump_json(), str(started)], cwd=SUPPORT.parents[1])
    try:
        assert appeared(started)
        agent, child, workspace = started.read_text().split()
        assert is_running(int(child))
    finally:
        driver.send_signal(how)
        driver.wait()
    assert ended_soon(int(agent), int(child))
    assert disappeared(Path(workspace))


@every_kind
def test_the_files_that_a_run_changes_in_its_workspace_are_its_last_step(settings: CommandAgent | PythonAgent, tmp_path: Path) -> None:
    start = tmp_path / "start"
    start.mkdir()
    for name in ("kept.txt", "gone.txt", "same.txt"):
        (start / name).write_text(name)
    before = {path.name: path.read_bytes() for path in start.iterdir()}
    with_workspace = changed(settings, workspace="start")
    reply = run(with_workspace, "do:files", folder=tmp_path)
    last = reply.trajectory.steps[-1]
    assert isinstance(last, FileChangeStep)
    assert [(file.path, file.change) for file in last.files] == [
        ("closed/file.txt", "added"),
        ("gone.txt", "removed"),
        ("kept.txt", "modified"),
        ("link", "added"),
        ("new.txt", "added"),
        ("pipe", "added"),
    ]
    new = "11507a0e2f5e69d5dfa40a62a1bd7b6ee57e6bcd85c67c9b8431b36fff21c437"
    assert last.files[4] == ChangedFile(path="new.txt", change="added", digest=f"sha256:{new}")
    assert {path.name: path.read_bytes() for path in start.iterdir()} == before
    assert run(with_workspace, "do:files", folder=tmp_path).trajectory == reply.trajectory  # each run starts from the same files
    unchanged = run(with_workspace, "hello", folder=tmp_path).trajectory.steps[-1]
    assert unchanged == FileChangeStep(files=())


def test_files_are_found_in_a_workspace_and_not_stated(tmp_path: Path) -> None:
    (tmp_path / "start").mkdir()
    reply = run(command(workspace="start"), "do:state", folder=tmp_path)
    assert (reply.ended, reply.reason) == (
        "agent_error",
        "not_a_reply: the agent's reply: files: are found in its workspace, and not stated.",
    )

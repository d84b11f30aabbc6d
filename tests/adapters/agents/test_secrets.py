"""No secret that an agent was given reaches a reason or an error, whichever way the agent lets it slip out."""

import asyncio
import json
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from evalplatform.adapters.agents.http import HttpRunner
from evalplatform.adapters.agents.open import open_agent
from evalplatform.adapters.agents.redaction import REASON_LIMIT_CHARS, Redactor
from evalplatform.adapters.clock import SystemClock
from evalplatform.calls.retry import RetryPolicy
from evalplatform.kernel.errors import HarnessError
from evalplatform.ports.agent_runner import AgentReply, AgentRequest, AgentRunner
from evalplatform.runs.agent_settings import CommandAgent, HttpAgent, PythonAgent
from tests.support.leaky_agent import LEAKS, SECRET_VARIABLE

SUPPORT = Path(__file__).parents[2] / "support"
ONE_LINE = 'k3y-of-"an"-agent/9f86d081884c7d65'
SEVERAL_LINES = "-----BEGIN k3y-----\nMIIEk3yQIBADANBgkqhkiG9w0B\nAQEFk3yASCBKcwggSjAgEAAoIB\n-----END k3y-----"
PROGRAMS: dict[str, CommandAgent | PythonAgent] = {
    "command": CommandAgent(argv=(sys.executable, str(SUPPORT / "leaky_agent.py")), env=(SECRET_VARIABLE,)),
    "python": PythonAgent(callable="leaky_agent:reply", path=str(SUPPORT), env=(SECRET_VARIABLE, "LEAKS_AT_IMPORT")),
}


def what_is_said(runner: AgentRunner, way: str) -> str:
    """All that is shown of a run beside its trajectory."""

    async def whole() -> str:
        try:
            reply = await runner.run(AgentRequest(scenario_id="s", order=0, messages=(way,)))
            return " ".join([str(reply.reason), *(problem.words for problem in reply.problems)])
        except HarnessError as error:
            return str(error)
        finally:
            await runner.aclose()

    said = asyncio.run(whole())
    assert said not in ("", "None")
    return said


@pytest.mark.parametrize(("settings", "secret"), [(PROGRAMS["command"], ONE_LINE), (PROGRAMS["python"], SEVERAL_LINES)], ids=PROGRAMS)
@pytest.mark.parametrize("way", [*LEAKS, "exception", "exit"])
def test_a_program_lets_no_secret_slip_out(settings: CommandAgent | PythonAgent, secret: str, way: str) -> None:
    environ = {"PATH": os.environ["PATH"], SECRET_VARIABLE: secret, "LEAKS_AT_IMPORT": ""}
    assert "k3y" not in what_is_said(open_agent(settings, folder=SUPPORT, environ=environ), way)


def test_a_function_that_cannot_be_imported_lets_no_secret_slip_out() -> None:
    environ = {"PATH": os.environ["PATH"], SECRET_VARIABLE: ONE_LINE, "LEAKS_AT_IMPORT": "yes"}
    said = what_is_said(open_agent(PROGRAMS["python"], folder=SUPPORT, environ=environ), "reason")
    assert "cannot begin with [secret]" in said


@contextmanager
def server(answer: Callable[[dict[str, object], str], tuple[int, str]]) -> Iterator[str]:
    """A server that answers with a status and a text made of the request and its Authorization."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, text = answer(body, self.headers["Authorization"])
            data = text.encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as serving:
        thread = threading.Thread(target=serving.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{serving.server_port}"
        finally:
            serving.shutdown()
            thread.join()


def http_runner(url: str, **settings: object) -> HttpRunner:
    declared = HttpAgent.model_validate({"url": f"{url}/run?key=k3y-in-the-query", "auth_env": "AUTH", **settings})
    headers = {"Authorization": f"Bearer {ONE_LINE}"}
    return HttpRunner(declared, headers=headers, clock=SystemClock(), retry=RetryPolicy(attempts=1))


@pytest.mark.parametrize("bare", [False, True], ids=["header", "key alone"])
@pytest.mark.parametrize("way", LEAKS)
def test_an_http_agent_lets_no_secret_slip_out(way: str, bare: bool) -> None:
    def answer(body: dict[str, object], authorization: str) -> tuple[int, str]:
        messages = body["messages"]
        assert isinstance(messages, list)
        said = LEAKS[way](messages, authorization.split()[1] if bare else authorization)
        return 200, said if isinstance(said, str) else json.dumps(said)

    with server(answer) as url:
        assert "k3y" not in what_is_said(http_runner(url), way)


@pytest.mark.parametrize("status", [302, 400, 401, 500, 503])
def test_a_refusal_that_quotes_the_key_shows_none(status: int) -> None:
    with server(lambda body, key: (status, f"{'x' * 290} {key} for /run?key=k3y-in-the-query")) as url:
        assert "k3y" not in what_is_said(http_runner(url), "hello")


@pytest.mark.parametrize("tool", [False, True])
def test_an_openai_server_that_quotes_the_key_shows_none(tool: bool) -> None:
    def answer(body: dict[str, object], key: str) -> tuple[int, str]:
        message = LEAKS["tool"]([], key)["messages"][0] if tool else {"role": "assistant", "content": [{"type": key, "text": 1}]}
        return 200, json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]})

    with server(answer) as url:
        assert "k3y" not in what_is_said(http_runner(url, format="openai", model="m"), "hello")


def test_a_secret_is_found_however_it_is_written_and_short_values_are_left() -> None:
    redactor = Redactor([ONE_LINE, SEVERAL_LINES, "abc", "k3y-and-more"])
    assert redactor.reason(f"<{ONE_LINE}>") == "<[secret]>"
    written = [json.dumps(ONE_LINE), repr(ONE_LINE), "k3y-of-%22an%22-agent%2F9f86d081884c7d65", " ".join(SEVERAL_LINES.split())]
    assert all("k3y" not in redactor.reason(text) for text in written)
    assert redactor.reason("see MIIEk3yQIBADANBgkqhkiG9w0B alone") == "see [secret] alone"
    assert redactor.reason("abc is a word") == "abc is a word"
    assert redactor.reason("it began with k3y-of-\"an…' and ended") == "it began with [secret]…' and ended"
    assert len(redactor.reason("y" * 5_000)) == REASON_LIMIT_CHARS + 1


ECHO = """
import json, os, sys
asked = json.load(sys.stdin)
key, mode = os.environ["SHOP_API_KEY"], os.environ["SHOP_MODE"]
open(f"note-{key}", "w").close()
call = {"id": "c1", "type": "function", "function": {"name": "pay", "arguments": json.dumps({"key": key})}}
print(json.dumps({"messages": [
    *asked["messages"],
    {"role": "assistant", "content": f"I use {key}", "tool_calls": [call]},
    {"role": "tool", "tool_call_id": "c1", "content": f"401 for {key}"},
    {"role": "assistant", "content": f"{mode}: {key}"},
]}))
"""


def test_no_step_holds_a_key_that_the_agent_was_given_and_the_run_says_which_lost_one(tmp_path: Path) -> None:
    (tmp_path / "echo.py").write_text(ECHO)
    (tmp_path / "desk").mkdir()
    argv = (sys.executable, "{folder}/echo.py")
    settings = CommandAgent(argv=argv, env=("SHOP_API_KEY", "SHOP_MODE"), workspace="desk")
    environ = {"PATH": os.environ["PATH"], "SHOP_API_KEY": 'a"key-9f86d081', "SHOP_MODE": "rehearsal"}
    runner = open_agent(settings, folder=tmp_path, environ=environ)

    async def whole() -> AgentReply:
        try:
            return await runner.run(AgentRequest(scenario_id="s", order=0, messages=("hello",)))
        finally:
            await runner.aclose()

    reply = asyncio.run(whole())
    assert "9f86d081" not in reply.model_dump_json()
    assert reply.trajectory.final_text == "rehearsal: [secret]"  # what is no key by its name is what the agent said
    assert [(problem.kind, problem.step) for problem in reply.problems] == [("secret_blanked", step) for step in (2, 3, 4, 5)]

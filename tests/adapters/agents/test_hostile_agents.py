"""Agents that mean harm, asked as monitored ones are: every call is bounded in time and size, and its failure has a name and no secret."""

import asyncio
import gzip
import json
import re
import socket
import time
import tracemalloc
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalplatform.adapters.agents.monitored import MAX_RESPONSE_BYTES, open_monitored_agent
from evalplatform.adapters.clock import SystemClock
from evalplatform.kernel.errors import HarnessError
from evalplatform.ports.agent_runner import AgentReply, AgentRequest
from evalplatform.ports.monitored_agent import MonitoredEndpoint
from evalplatform.project.deployment import DeploymentSettings
from evalplatform.runs.agent_settings import MIB
from tests.support.agent_stub import AgentStub, running_agent
from tests.support.raw_http import after_request, answering, endless, head
from tests.support.raw_server import Talk, dripping, raw_server, silence

KEY = "monitored-key-123456"
TOKEN = "token-in-the-query"
HERE = DeploymentSettings(monitored_http=True, monitored_hosts="127.0.0.1")
JSON = "Content-Type: application/json"
SENT = {"role": "user", "content": "hello"}
REPLY = json.dumps({"messages": [SENT, {"role": "assistant", "content": "here"}]}).encode()
STATUSES = ["200 OK", "204 Nothing", "206 Part", "304 Same", "408 Late", "425 Early", "600 More", "999 Most", "000 None"]
FIELDS = [JSON, "Content-Type: ;;;", "Content-Length: 5", "Transfer-Encoding: chunked", "Set-Cookie: a=b; Max-Age=x; Domain=[::1"]
FIELDS += ["Location: http://[::1", "Retry-After: nan", "Retry-After: -5", "Retry-After: Wed, 99", 'Link: <[::1>; rel="', "Upgrade: h2c"]
BODIES = [
    REPLY,
    b"",
    b"5\r\nhello\r\n",
    b"0\r\n\r\n",
    b"\xff",
    b"null",
    b"\0",
    b'{"messages": [{"role": "user"}], "cost_usd": 1e400}',
    b"\r\n",
]
AT_LAST_SECONDS = 20.0
WHO = "the agent"


async def _looks_nothing_up(name: str) -> list[str]:
    raise AssertionError(name)


def came(url: str, *messages: str, timeout_seconds: float = 10.0) -> AgentReply | HarnessError:
    """Return what came of one call, which says neither key nor token."""
    endpoint = MonitoredEndpoint(url=f"{url}?{TOKEN}", project="shop", timeout_seconds=timeout_seconds, authorization=f"Bearer {KEY}")
    request = AgentRequest(scenario_id="s", order=0, messages=messages or ("hello",))

    async def whole() -> AgentReply | HarnessError:
        async with open_monitored_agent(endpoint, deployment=HERE, clock=SystemClock(), resolve=_looks_nothing_up) as agent:
            try:
                return await agent.run(request)
            except HarnessError as error:
                return error

    started = time.monotonic()
    result = asyncio.run(whole())
    assert time.monotonic() - started < AT_LAST_SECONDS
    shown = str(result) if isinstance(result, HarnessError) else result.model_dump_json()
    assert KEY not in shown
    assert TOKEN not in shown
    return result


def of_server(talk: Talk, *, timeout_seconds: float = 10.0) -> AgentReply | HarnessError:
    with raw_server(talk) as server:
        return came(f"http://127.0.0.1:{server.port}/agent", timeout_seconds=timeout_seconds)


def broke(result: AgentReply | HarnessError) -> str:
    """Return why the agent broke, with `WHO` in place of its address."""
    assert isinstance(result, AgentReply), result
    assert result.ended == "agent_error"
    assert [step.model_dump()["text"] for step in result.trajectory.steps] == ["hello"]
    return re.sub(r"http://127\.0\.0\.1:\d+/agent", WHO, str(result.reason))


@pytest.fixture(scope="module")
def agent() -> Iterator[AgentStub]:
    with running_agent() as stub:
        yield stub


def test_an_agent_that_means_well_is_understood() -> None:
    result = of_server(answering(head("200 OK", JSON, f"Content-Length: {len(REPLY)}") + REPLY))
    assert isinstance(result, AgentReply)
    assert (result.ended, result.trajectory.final_text) == ("finished", "here")


@pytest.mark.parametrize("kind", ["application/json; charset=utf-8", "application/vnd.agent+json", "APPLICATION/JSON"])
def test_every_way_to_say_json_is_json(kind: str) -> None:
    result = of_server(answering(head("200 OK", f"Content-Type: {kind}") + REPLY))
    assert isinstance(result, AgentReply)
    assert result.ended == "finished"


@pytest.mark.parametrize(
    "talk",
    [
        silence,
        dripping(b"HTTP/1.1 200 OK\r\nX-Slow: ", b"a"),
        after_request(dripping(head("200 OK", JSON))),
        after_request(dripping(head("200 OK", JSON, "Transfer-Encoding: chunked"), b"1\r\n \r\n")),
        after_request(dripping(head("200 OK", JSON, "Content-Length: 4000000"))),
        after_request(dripping(b"", head("100 Continue"))),
        after_request(dripping(b"", head("103 Early Hints", "Link: </a>"))),
        after_request(dripping(head("500 Internal Server Error"))),
        endless(head("200 OK", JSON, "Transfer-Encoding: chunked"), b"0" * 65_536),
        endless(head("200 OK", JSON, "Transfer-Encoding: chunked") + b"1;", b"a" * 65_536),
    ],
    ids=[
        "silent",
        "slow head",
        "slow body",
        "slow chunks",
        "slow length",
        "continue for ever",
        "hints for ever",
        "slow error",
        "length for ever",
        "extension for ever",
    ],
)
def test_a_server_that_never_comes_to_an_end_is_cut_off_when_the_call_has_taken_its_time(talk: Talk) -> None:
    assert broke(of_server(talk, timeout_seconds=0.25)) == "timeout: no reply within 0.25 s."


@pytest.mark.parametrize(
    ("beginning", "piece"),
    [
        (head("200 OK", JSON), b" " * 65_536),
        (head("200 OK", JSON, "Transfer-Encoding: chunked"), b"10000\r\n" + b"[" * 65_536 + b"\r\n"),
        (head("200 OK", JSON, "Content-Length: 999999999999"), b"{" * 65_536),
    ],
    ids=["until it closes", "chunked", "as long as it says"],
)
def test_an_endless_body_is_read_up_to_the_limit(beginning: bytes, piece: bytes) -> None:
    assert broke(of_server(endless(beginning, piece))) == f"too_large: {WHO}: the reply is larger than {MAX_RESPONSE_BYTES:,} bytes."


@pytest.mark.parametrize(
    ("beginning", "piece"),
    [
        (b"HTTP/1.1 200 OK\r\n", b"X-More: and more\r\n" * 100),
        (b"HTTP/1.1 200 OK\r\nX-Long: ", b"a" * 65_536),
        (b"", b"a" * 65_536),
    ],
    ids=["fields", "one field", "no head"],
)
def test_a_head_without_end_is_cut_off(beginning: bytes, piece: bytes) -> None:
    assert broke(of_server(endless(beginning, piece))).startswith(f"broken_off: {WHO}: the connection broke off (")


@pytest.mark.parametrize(
    "said",
    [b"", b"\xff\xfe\x00", b"220 mail.example.com ESMTP\r\n", b"HTTP/1.1 OK\r\n\r\n", head("200 OK", JSON, "Content-Length: 900") + REPLY],
    ids=["nothing", "bytes", "another protocol", "no status", "half of it"],
)
def test_what_is_no_whole_answer_is_a_connection_that_broke_off(said: bytes) -> None:
    assert broke(of_server(answering(said))).startswith(f"broken_off: {WHO}: the connection broke off (")


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd", "x-gzip", "gzip, identity", "GZIP", ""])
def test_a_packed_reply_is_not_unpacked(encoding: str) -> None:
    packed = gzip.compress(REPLY)
    reason = broke(of_server(answering(head("200 OK", JSON, f"Content-Encoding: {encoding}", f"Content-Length: {len(packed)}") + packed)))
    assert reason == f"encoded_reply: {WHO}: the reply is compressed, which was not asked for."


@pytest.mark.parametrize(
    ("field", "reason"),
    [("Content-Encoding: gzip", "encoded_reply: "), ("X-Says: nothing", "not_a_reply: "), ("Transfer-Encoding: gzip", "not_a_reply: ")],
)
def test_a_reply_that_unpacks_to_a_gigabyte_takes_no_more_than_it_is_on_the_wire(field: str, reason: str) -> None:
    bomb = gzip.compress(b" " * MIB, 9) * 1_024  # a gzip file may have many members; each is a thousandth of what it unpacks to
    tracemalloc.start()
    try:
        assert broke(of_server(answering(head("200 OK", JSON, field) + bomb))).startswith(reason)
        assert tracemalloc.get_traced_memory()[1] < 24 * MIB
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("kind", ["text/html", "text/plain", "application/octet-stream", "application/xml", "jsonp", None])
def test_a_reply_of_another_type_is_not_read(kind: str | None) -> None:
    fields = () if kind is None else (f"Content-Type: {kind}",)
    assert broke(of_server(answering(head("200 OK", *fields) + REPLY))) == f"not_json: {WHO}: the reply is no JSON by its Content-Type."


@pytest.mark.parametrize(
    "body",
    [b"", b"null", b"<html>", b"[" * 1_000_000, b"\xff", b'{"messages": []}', b'{"messages": 1}', b'{"a": 1' + b"0" * 100_000 + b"}"],
    ids=["empty", "null", "html", "deep", "no UTF-8", "no messages", "a number", "a huge number"],
)
def test_json_that_is_no_reply_is_the_agents_own_breakage(body: bytes) -> None:
    assert broke(of_server(answering(head("200 OK", JSON) + body))).startswith("not_a_reply: the agent's reply")


@pytest.mark.parametrize("status", [300, 301, 302, 303, 304, 305, 307, 308])
def test_a_redirect_to_where_secrets_are_is_named_and_not_followed(status: int) -> None:
    requests: list[bytes] = []
    location = "Location: http://127.0.0.1:1/latest/meta-data/iam/"
    result = of_server(answering(head(f"{status} Elsewhere", location, "Content-Length: 0"), requests=requests))
    assert isinstance(result, HarnessError)
    assert (result.reason, str(result)) == (
        "endpoint_redirects",
        "endpoint: answers with a redirect, and none is followed. (endpoint_redirects)",
    )
    assert len(requests) == 1


def test_a_server_that_would_speak_another_protocol_is_no_agent() -> None:
    result = of_server(answering(head("101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade")))
    assert broke(result) == f"not_a_reply: {WHO} answered HTTP 101."


@pytest.mark.parametrize(
    ("status", "reason"), [(400, "bad_request"), (401, "auth"), (403, "auth"), (404, "not_found"), (407, "bad_request")]
)
def test_a_refusal_that_repeats_what_was_sent_is_named_without_it(status: int, reason: str) -> None:
    said = f"no: Bearer {KEY} {KEY} {TOKEN} ".encode() * 3
    result = of_server(answering(head(f"{status} No", "Set-Cookie: a=b") + said))
    assert isinstance(result, HarnessError)
    assert result.reason == reason
    assert f"answered HTTP {status}: no: [secret] [secret] [secret]" in str(result)


def test_a_key_in_an_error_that_comes_in_pieces_is_found() -> None:
    def talk(connection: socket.socket) -> None:
        for piece in (head("401 No"), f"no: {KEY[:12]}".encode(), KEY[12:].encode()):
            connection.sendall(piece)
            time.sleep(0.05)  # so that each is read by itself

    result = of_server(after_request(talk))
    assert isinstance(result, HarnessError)
    assert str(result).endswith(" answered HTTP 401: no: [secret]")


def test_an_error_without_end_is_read_no_further_than_is_shown() -> None:
    result = of_server(endless(head("500 Broken"), KEY.encode() * 1_000))
    assert broke(result).startswith(f"server_error: {WHO} answered HTTP 500: [secret]")
    assert len(str(result.reason if isinstance(result, AgentReply) else "")) < 700


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("wait", ["30", "Fri, 31 Dec 9999 23:59:59 GMT", "1e300", "0.2"])
def test_a_server_that_is_always_busy_is_waited_for_no_longer_than_the_call_may_take(status: int, wait: str) -> None:
    result = of_server(answering(head(f"{status} Busy", f"Retry-After: {wait}", "Content-Length: 0")), timeout_seconds=0.5)
    assert isinstance(result, HarnessError)
    assert result.reason == ("rate_limited" if status == 429 else "overloaded")


def test_an_agent_that_is_busy_once_is_asked_again(agent: AgentStub) -> None:
    result = came(agent.url, "do:status 429 0.01 1")
    assert isinstance(result, AgentReply)
    assert result.ended == "finished"


@settings(max_examples=40)
@given(st.sampled_from(STATUSES), st.lists(st.sampled_from(FIELDS), max_size=4), st.lists(st.sampled_from(BODIES), max_size=2))
def test_whatever_a_server_says_the_call_ends_as_a_run_or_by_a_name(status: str, fields: list[str], bodies: list[bytes]) -> None:
    result = of_server(answering(head(status, *fields), *bodies), timeout_seconds=0.5)
    assert result.reason or isinstance(result, AgentReply)
    if isinstance(result, AgentReply) and result.ended == "finished":
        assert result.trajectory.final_text == "here"


def test_a_server_where_nobody_listens_is_named_without_its_query() -> None:
    with raw_server(silence) as server:
        url = f"http://127.0.0.1:{server.port}/agent"
    result = came(url)
    assert isinstance(result, HarnessError)
    assert (result.reason, str(result)) == ("unreachable", f"{url} cannot be reached: connection refused.")

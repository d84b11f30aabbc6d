"""Monitored agents: names that resolve to what they should not, between one look-up and the next too, and what each request carries."""

import asyncio
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from evalplatform.adapters.agents.monitored import CheckedResolver, Resolve, open_monitored_agent, system_addresses
from evalplatform.adapters.clock import SystemClock
from evalplatform.kernel.errors import EndpointRefusedError, HarnessError
from evalplatform.monitoring.endpoints import checked_url
from evalplatform.ports.agent_runner import AgentReply, AgentRequest
from evalplatform.ports.monitored_agent import MonitoredEndpoint
from evalplatform.project.deployment import DeploymentSettings
from tests.support.agent_stub import AgentStub, running_agent
from tests.support.certificates import Certificate, self_signed
from tests.support.dns_server import dns_server
from tests.support.raw_http import answering, head, over_tls
from tests.support.raw_server import raw_server

KEY = "Bearer monitored-key-123456"
INSIDE = DeploymentSettings(monitored_http=True, monitored_hosts="agent.test")
PUBLIC_ALONE = DeploymentSettings(monitored_http=True)


@pytest.fixture(scope="module")
def agent() -> Iterator[AgentStub]:
    with running_agent() as stub:
        yield stub


async def nowhere(name: str) -> list[str]:
    raise AssertionError(f"{name} was looked up")


def ask(
    url: str, resolve: Resolve, *messages: str, deployment: DeploymentSettings = INSIDE, times: int = 1, timeout_seconds: float = 10.0
) -> list[AgentReply | HarnessError]:
    """Return what came of each call, one after the other, with the agent opened once."""
    endpoint = MonitoredEndpoint(url=url, project="shop", timeout_seconds=timeout_seconds, authorization=KEY)
    request = AgentRequest(scenario_id="s", order=0, messages=messages or ("hello",))

    async def whole() -> list[AgentReply | HarnessError]:
        came: list[AgentReply | HarnessError] = []
        async with open_monitored_agent(endpoint, deployment=deployment, clock=SystemClock(), resolve=resolve) as opened:
            for number in range(times):
                try:
                    came.append(await opened.run(request))
                except HarnessError as error:
                    came.append(error)
                assert opened.requests == number + 1
        return came

    return asyncio.run(whole())


def replied(came: AgentReply | HarnessError) -> AgentReply:
    assert isinstance(came, AgentReply), came
    return came


def refused(came: AgentReply | HarnessError) -> HarnessError:
    assert isinstance(came, HarnessError), came
    assert "monitored-key" not in str(came)
    return came


def test_a_request_says_who_asks_for_which_project_and_wants_nothing_packed(agent: AgentStub) -> None:
    with dns_server({"agent.test": [["127.0.0.1"]]}) as names:
        reply = replied(ask(f"http://agent.test:{agent.port}/agent?q=1", names.resolver(), "hello", "and then?")[0])
    assert (reply.ended, reply.trajectory.tools, reply.trajectory.final_text) == ("finished", ("look",), "heard: and then?")
    assert agent.headers[-1] == {
        "Host": f"agent.test:{agent.port}",
        "User-Agent": "evalplatform-monitor/1",
        "X-Evalplatform-Project": "shop",
        "Authorization": KEY,
        "Accept": "application/json",
        "Accept-Encoding": "identity",
        "Content-Type": "application/json",
        "Content-Length": agent.headers[-1]["Content-Length"],
        "Connection": "close",
    }


def test_an_agent_without_a_stored_value_is_sent_no_authorization(agent: AgentStub) -> None:
    endpoint = MonitoredEndpoint(url=agent.url, project="shop", timeout_seconds=10)
    here = DeploymentSettings(monitored_http=True, monitored_hosts="127.0.0.1")

    async def whole() -> None:
        async with open_monitored_agent(endpoint, deployment=here, clock=SystemClock(), resolve=nowhere) as opened:
            await opened.run(AgentRequest(scenario_id="s", order=0, messages=("hello",)))

    asyncio.run(whole())
    assert "Authorization" not in agent.headers[-1]


def test_a_name_is_resolved_as_the_system_does_where_nothing_else_is_said(agent: AgentStub) -> None:
    url = f"http://localhost:{agent.port}/agent"
    allowed = DeploymentSettings(monitored_http=True, monitored_hosts="LOCALHOST, other.test")
    assert replied(ask(url, system_addresses, deployment=allowed)[0]).ended == "finished"


def test_a_name_that_becomes_another_address_is_connected_to_where_it_was_looked_at(agent: AgentStub) -> None:
    # Every look-up gives another answer. A second one for the connection would go where nobody looked: no server is at 127.0.0.9.
    script = {"agent.test": [["127.0.0.1"], ["127.0.0.9"], ["169.254.169.254"], ["127.0.0.1"]]}
    with dns_server(script) as names:
        url = f"http://agent.test:{agent.port}/agent"
        first, gone, rebound, back = ask(url, names.resolver(), times=4)
        assert names.look_ups("agent.test") == 4
    assert replied(first).ended == "finished"
    assert refused(gone).reason == "unreachable"
    assert refused(rebound).reason == "endpoint_metadata"
    assert replied(back).ended == "finished"


def test_a_public_name_that_becomes_this_machine_is_refused_at_that_connection(agent: AgentStub) -> None:
    before = len(agent.bodies)
    with dns_server({"agent.example.com": [["127.0.0.1"]]}) as names:
        url = f"http://agent.example.com:{agent.port}/agent"
        came = refused(ask(url, names.resolver(), deployment=PUBLIC_ALONE)[0])
        assert names.look_ups("agent.example.com") == 1
    assert (came.reason, str(came)) == (
        "endpoint_loopback",
        "endpoint: must be public, and is this machine itself. (endpoint_loopback)",
    )
    assert len(agent.bodies) == before


@pytest.mark.parametrize(
    ("addresses", "code"),
    [
        (["10.0.0.8"], "endpoint_private"),
        (["100.64.0.1"], "endpoint_private"),
        (["169.254.7.7"], "endpoint_link_local"),
        (["169.254.169.254"], "endpoint_metadata"),
        (["168.63.129.16"], "endpoint_metadata"),
        (["0.0.0.0"], "endpoint_reserved"),
        (["::1"], "endpoint_loopback"),
        (["fd00::1"], "endpoint_unique_local"),
        (["fe80::1"], "endpoint_link_local"),
        (["::ffff:127.0.0.1"], "endpoint_embeds_ipv4"),
        (["64:ff9b::7f00:1"], "endpoint_embeds_ipv4"),
        (["2002:7f00:1::1"], "endpoint_embeds_ipv4"),
        (["8.8.8.8", "127.0.0.1"], "endpoint_loopback"),
        (["8.8.8.8", "fd00::1"], "endpoint_unique_local"),
        (["inside.example.com"], "endpoint_private"),
    ],
)
def test_a_name_with_one_address_that_is_refused_is_refused(addresses: list[str], code: str) -> None:
    with dns_server({"agent.example.com": [addresses], "inside.example.com": [["192.168.0.7"]]}) as names:
        came = refused(ask("https://agent.example.com/agent", names.resolver(), deployment=PUBLIC_ALONE)[0])
    assert came.reason == code
    assert not any(address in str(came) for address in addresses)


def test_a_host_that_is_allowed_inside_is_refused_at_metadata_link_local_and_embedding_addresses() -> None:
    rounds = [["169.254.169.254"], ["fe80::1"], ["::ffff:10.0.0.1"], ["0.0.0.0"]]
    with dns_server({"agent.test": rounds}) as names:
        came = [refused(one).reason for one in ask("http://agent.test/agent", names.resolver(), times=4)]
    assert came == ["endpoint_metadata", "endpoint_link_local", "endpoint_embeds_ipv4", "endpoint_reserved"]


@pytest.mark.parametrize("answers", [[], ["garbage"]])
def test_a_name_without_an_answer_cannot_be_resolved(answers: list[str]) -> None:
    with dns_server({"agent.test": [answers]}) as names:
        assert refused(ask("http://agent.test/agent", names.resolver())[0]).reason == "endpoint_unresolvable"
        unknown = refused(ask("https://nobody.example.com/agent", names.resolver())[0])
    assert str(unknown) == "endpoint: has a name that cannot be resolved. (endpoint_unresolvable)"


def test_a_name_server_that_does_not_answer_takes_no_longer_than_the_call_may() -> None:
    async def silent(name: str) -> list[str]:
        await asyncio.sleep(60)
        return []

    came = refused(ask("http://agent.test/agent", silent, timeout_seconds=0.3)[0])
    assert (came.reason, str(came)) == ("unreachable", "http://agent.test/agent cannot be reached: it took no connection in time.")


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("https://10.0.0.1/agent", "endpoint_private"),
        ("https://[::ffff:169.254.169.254]/latest", "endpoint_embeds_ipv4"),
        ("https://2130706433/agent", "endpoint_obscured_address"),
        ("https://user:word@agent.test/agent", "endpoint_has_credentials"),
    ],
)
def test_an_address_that_is_refused_as_it_is_written_is_never_looked_up(url: str, code: str) -> None:
    with pytest.raises(EndpointRefusedError) as came:
        ask(url, nowhere)
    assert came.value.code == code


def test_what_is_allowed_at_one_host_is_allowed_at_no_other() -> None:
    resolver = CheckedResolver(checked_url("https://agent.test/", allow_http=False, internal_hosts=("agent.test",)), system_addresses)
    with pytest.raises(EndpointRefusedError, match="endpoint_malformed"):
        asyncio.run(resolver.resolve("localhost", 443))


def test_plain_http_is_refused_where_the_deployment_does_not_allow_it() -> None:
    with pytest.raises(EndpointRefusedError, match="endpoint_not_https"):
        ask("http://agent.test/agent", nowhere, deployment=DeploymentSettings(monitored_hosts="agent.test"))


def test_no_proxy_and_no_password_file_of_the_environment_is_used(
    agent: AgentStub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "netrc").write_text("machine agent.test login someone password their-word\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with dns_server({"agent.test": [["127.0.0.1"]]}) as names:
        assert replied(ask(f"http://agent.test:{agent.port}/agent", names.resolver())[0]).ended == "finished"
    assert agent.headers[-1]["Authorization"] == KEY


def test_what_is_shown_of_an_endpoint_holds_no_authorization() -> None:
    assert "monitored-key" not in repr(MonitoredEndpoint(url="https://a.example", project="shop", timeout_seconds=1, authorization=KEY))


def test_a_run_keeps_no_key_that_the_agent_repeats_and_every_word_that_is_none(agent: AgentStub) -> None:
    with dns_server({"agent.test": [["127.0.0.1"]]}) as names:
        url = f"http://agent.test:{agent.port}/agent"
        reply = replied(ask(url, names.resolver(), f"shop identity {KEY}")[0])
    assert reply.trajectory.final_text == "heard: shop identity [secret]"
    assert [problem.kind for problem in reply.problems] == ["secret_blanked", "secret_blanked"]


@dataclass
class TlsAgent:
    """Where an agent behind TLS is, the names that its clients asked for, and their requests."""

    url: str
    resolve: Resolve
    asked_for: list[str | None]
    requests: list[bytes]


@contextmanager
def tls_agent(certificate: Certificate) -> Iterator[TlsAgent]:
    asked_for: list[str | None] = []
    requests: list[bytes] = []

    def noted(connection: ssl.SSLObject, name: str | None, of: ssl.SSLContext) -> None:
        asked_for.append(name)

    context = certificate.server_context()
    context.sni_callback = noted
    talk = over_tls(context, answering(head("200 OK", "Content-Type: text/html"), requests=requests))
    with raw_server(talk) as server, dns_server({"agent.test": [["127.0.0.1"]]}) as names:
        yield TlsAgent(f"https://agent.test:{server.port}/agent", names.resolver(), asked_for, requests)


def test_a_certificate_is_checked_against_the_name_though_an_address_is_connected_to(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    certificate = self_signed(tmp_path, names=("agent.test",))
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate.file))
    with tls_agent(certificate) as behind:
        reply = replied(ask(behind.url, behind.resolve)[0])
    assert str(reply.reason).startswith("not_json: ")
    assert behind.asked_for == ["agent.test"]
    assert len(behind.requests) == 1


@pytest.mark.parametrize(
    ("named", "days", "is_trusted", "words"),
    [
        ("agent.test", (-1, 30), False, "self-signed certificate"),
        ("agent.test", (-30, -1), True, "certificate has expired"),
        ("other.test", (-1, 30), True, "Hostname mismatch, certificate is not valid for 'agent.test'"),
        ("127.0.0.1", (-1, 30), True, "Hostname mismatch, certificate is not valid for 'agent.test'"),
    ],
)
def test_a_certificate_that_is_not_valid_ends_the_call_before_anything_is_sent(
    named: str, days: tuple[int, int], is_trusted: bool, words: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    certificate = self_signed(tmp_path, names=(named,), days=days)
    if is_trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate.file))
    with tls_agent(certificate) as behind:
        came = refused(ask(behind.url, behind.resolve)[0])
    assert behind.requests == []
    assert came.reason == "unreachable"
    assert words in str(came)

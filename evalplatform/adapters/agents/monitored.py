"""A monitored agent: somebody else's, asked over HTTP at an address that is looked at before every connection.

A name is resolved once for each connection, every address it has is looked at, and the connection goes to one of those: there is no second
look-up in which a name could have become another. No redirect is followed, no proxy of the environment is used, no compressed reply is
unpacked, and what comes back is bounded in time and size.
"""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from ipaddress import ip_address

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from evalplatform.adapters.agents.http import HttpRunner
from evalplatform.adapters.agents.replies import AgentBrokeError
from evalplatform.kernel.errors import EndpointRefusedError, HarnessError
from evalplatform.monitoring.endpoints import EndpointAddress, checked_url, refusal, refused_address
from evalplatform.ports.agent_runner import AgentReply, AgentRequest
from evalplatform.ports.clock import Clock
from evalplatform.ports.monitored_agent import MonitoredAgent, MonitoredEndpoint
from evalplatform.project.deployment import DeploymentSettings
from evalplatform.runs.agent_settings import MIB, HttpAgent

USER_AGENT = "evalplatform-monitor/1"
PROJECT_HEADER = "X-Evalplatform-Project"
MAX_RESPONSE_BYTES = 4 * MIB
CONCURRENCY = 4
RESOLVE_SECONDS = 10.0
JSON_TYPE = "application/json"

Resolve = Callable[[str], Awaitable[Sequence[str]]]
"""Returns the addresses of a name; an OSError where it has none."""


async def system_addresses(host: str) -> Sequence[str]:
    """Return the addresses of a name as the system resolves it."""
    found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return [str(address[0]) for *_, address in found]


@asynccontextmanager
async def open_monitored_agent(
    endpoint: MonitoredEndpoint, *, deployment: DeploymentSettings, clock: Clock, resolve: Resolve = system_addresses
) -> AsyncIterator[MonitoredAgent]:
    """Open the agent of a schedule, and close it after the body. Nothing is resolved or connected before its first run.

    Args:
        endpoint: where it is.
        deployment: says whether plain http is allowed, and at which hosts of its own agents may be.
        clock: times its runs.
        resolve: returns the addresses of a name.

    Raises:
        EndpointRefusedError: it is an address that no monitored agent may have.
    """
    address = checked_url(endpoint.url, allow_http=deployment.monitored_http, internal_hosts=deployment.monitored_host_names)
    settings = HttpAgent(
        url=endpoint.url, timeout_seconds=endpoint.timeout_seconds, max_response_bytes=MAX_RESPONSE_BYTES, concurrency=CONCURRENCY
    )
    headers = {} if endpoint.authorization is None else {"Authorization": endpoint.authorization}
    runner = MonitoredRunner(
        settings, headers=headers, clock=clock, waits_count=True, project=endpoint.project, endpoint=address, resolve=resolve
    )
    async with aclosing(runner):
        yield runner


class CheckedResolver(AbstractResolver):
    """Gives a connector the addresses of a name, all of which were looked at; one that is refused refuses the name."""

    def __init__(self, endpoint: EndpointAddress, resolve: Resolve) -> None:
        self._endpoint = endpoint
        self._resolve = resolve

    async def resolve(self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET) -> list[ResolveResult]:
        """Return the addresses of a name.

        Raises:
            EndpointRefusedError: it has none, or one that no agent may be asked at; or it is another name than the endpoint's.
        """
        if host.lower().removesuffix(".") != self._endpoint.host:  # or another host's name would be taken for one that is allowed
            raise refusal("endpoint_malformed")
        try:
            async with asyncio.timeout(RESOLVE_SECONDS):
                found = [ip_address(text) for text in await self._resolve(host)]
        except (OSError, UnicodeError, ValueError):  # no such name, no answer in time, no address
            found = []
        if not found:
            raise refusal("endpoint_unresolvable")
        for one in found:
            code = refused_address(one, is_internal=self._endpoint.is_internal)
            if code is not None:
                raise refusal(code)
        return [
            ResolveResult(
                hostname=host,
                host=str(one),
                port=port,
                family=socket.AF_INET if one.version == 4 else socket.AF_INET6,
                proto=0,
                flags=socket.AI_NUMERICHOST,
            )
            for one in dict.fromkeys(found)
        ]

    async def close(self) -> None:
        """Close nothing."""


@dataclass(kw_only=True)
class MonitoredRunner(HttpRunner):
    """Runs a monitored agent: the JSON contract, at addresses that were looked at.

    Args:
        project: the id of the project that asks.
        endpoint: where the agent is, as `checked_url` returned it.
        resolve: returns the addresses of a name.
    """

    project: str
    endpoint: EndpointAddress
    resolve: Resolve

    async def run(self, request: AgentRequest) -> AgentReply:
        """Return what the agent did; see `ports.agent_runner.AgentRunner`. What is refused could not be run, by its code."""
        self.open_session()  # reading the authorities is no time of the run
        try:
            return await super().run(request)
        except EndpointRefusedError as error:
            raise HarnessError(error.code, str(error)) from error

    def open_session(self) -> aiohttp.ClientSession:
        """Return the session, whose connections go to addresses that were looked at; it takes no proxy from the environment."""
        if self._session is None:
            resolver = CheckedResolver(self.endpoint, self.resolve)
            who = {"User-Agent": USER_AGENT, PROJECT_HEADER: self.project}
            what = {"Content-Type": JSON_TYPE, "Accept": JSON_TYPE, "Accept-Encoding": "identity"}
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    limit=0,
                    force_close=True,
                    use_dns_cache=False,
                    resolver=resolver,
                    # The authorities of now, and not those of when the process began.
                    ssl=ssl.create_default_context() if self.settings.url.lower().startswith("https:") else True,
                ),
                headers={**who, **what, **self.headers},
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                trust_env=False,
            )
        return self._session

    def check(self, response: aiohttp.ClientResponse) -> None:
        """Refuse a reply that redirects, is compressed though that was not asked for, or is of another type than JSON."""
        if 300 <= response.status < 400:
            raise refusal("endpoint_redirects")
        if response.status < 200:  # a change of protocol: every other answer before the real one is skipped
            raise AgentBrokeError("not_a_reply", f"{self.address} answered HTTP {response.status}.")
        if response.status >= 400:
            return
        encoding = response.headers.get("Content-Encoding", "identity").lower()
        if encoding != "identity":
            raise AgentBrokeError("encoded_reply", f"{self.address}: the reply is compressed, which was not asked for.")
        kind = response.content_type.lower()
        if kind != JSON_TYPE and not (kind.startswith("application/") and kind.endswith("+json")):
            raise AgentBrokeError("not_json", f"{self.address}: the reply is no JSON by its Content-Type.")

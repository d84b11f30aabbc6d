"""An agent behind an HTTP address: the JSON contract in one exchange, or an OpenAI-compatible server turn by turn.

What the agent never got to do is a HarnessError: no connection, a refusal, a redirect (which would carry the key to another place). What it
broke itself is a run that ended in `agent_error`: a 5xx, a reply that is cut off, too long, or none.
"""

import asyncio
import json
import os
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import aiohttp

from evalplatform.adapters.agents.redaction import Redactor, secret_values
from evalplatform.adapters.agents.replies import (
    AgentBrokeError,
    asked_trajectory,
    broken_reply,
    contract_agent_reply,
    out_of_time_reply,
    parsed_json,
)
from evalplatform.adapters.models.chat_completions import ChatCompletions
from evalplatform.adapters.models.http_errors import error_for_status, retry_after_seconds
from evalplatform.calls.retry import RetryPolicy
from evalplatform.kernel.errors import CallError, DeferredError, HarnessError, RetryableCallError, TraceError
from evalplatform.kernel.usage import Usage, summed_usage
from evalplatform.ports.agent_runner import AgentReply, AgentRequest
from evalplatform.ports.clock import Clock
from evalplatform.ports.model_client import Sampling
from evalplatform.ports.run_limits import within_limits
from evalplatform.runs.agent_contract import contract_request_bytes
from evalplatform.runs.agent_settings import HttpAgent
from evalplatform.runs.traces.chat_messages import trajectory_of_messages
from evalplatform.runs.trajectory import ToolCallStep, Trajectory

CONNECT_TIMEOUT_SECONDS = 15.0
ERROR_BODY_LIMIT_BYTES = 64 * 1024
ASKED_AGAIN = frozenset({429, 503})
USER_AGENT = "evalplatform"


@dataclass
class HttpRunner:
    """Runs one HTTP agent. Its connections belong to the event loop of its first run.

    Args:
        settings: where the agent is.
        headers: sent with every request; their values are blanked out of every step, reason and error, those in the address's query out of
            the latter.
        clock: for how long a run took, and for a Retry-After that is a date.
        retry: how a 429 or 503 is asked again; such waits count for no run's limits.
        waits_count: they count for how long a run may take after all: somebody else's agent decides how long it is waited for.

    Attributes:
        requests: how many requests were begun until now.
    """

    settings: HttpAgent
    headers: Mapping[str, str]
    clock: Clock
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    waits_count: bool = False
    requests: int = 0
    _session: aiohttp.ClientSession | None = None

    def __post_init__(self) -> None:
        self._slots = asyncio.Semaphore(self.settings.concurrency)
        # The key of `Bearer KEY` is a secret without its first word as well.
        sent, keys = (
            [part for value in values for part in (value, value.split()[-1])]
            for values in (self.headers.values(), secret_values(self.headers))
        )
        query = urlsplit(self.settings.url).query
        self.redactor = Redactor([*sent, query, *(value for _, value in parse_qsl(query))], keys=keys)
        self.address = self.settings.identity.removeprefix("http ")

    @property
    def agent(self) -> str:
        """`http` and the address."""
        return self.settings.identity

    @property
    def model(self) -> str | None:
        """The model that the openai format names."""
        return self.settings.model

    @property
    def concurrency(self) -> int:
        """How many runs at once."""
        return self.settings.concurrency

    async def run(self, request: AgentRequest) -> AgentReply:
        """Return what the agent did; see `ports.agent_runner.AgentRunner`."""
        async with self._slots:
            exchange = _Exchange(self, request)
            try:
                return self.redactor.reply(await exchange.reply())
            except HarnessError as error:
                raise self.redactor.error(error) from None

    async def aclose(self) -> None:
        """Close the connections; calling it twice is fine."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def open_session(self) -> aiohttp.ClientSession:
        """Return the session. A run is long and rare, so each has a connection of its own: a kept one may be closed just then."""
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, force_close=True),
                headers={"User-Agent": USER_AGENT, "Content-Type": "application/json", "Accept": "application/json", **self.headers},
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        return self._session

    def check(self, response: aiohttp.ClientResponse) -> None:
        """Raise AgentBrokeError for a reply that is not to be read; by default every reply is."""


@dataclass
class _Exchange:
    """One run: what was spent of its time, with what was waited where that counts, and what was said so far."""

    runner: HttpRunner
    request: AgentRequest
    seconds: float = 0.0
    waited_seconds: float = 0.0
    messages: list[dict[str, Any]] = field(default_factory=list)
    usages: list[Usage] = field(default_factory=list)

    async def reply(self) -> AgentReply:
        """Return the run; what may not be shown still stands in its reason."""
        try:
            return await (self.whole() if self.runner.settings.format == "json" else self.turns())
        except AgentBrokeError as error:
            return self.broken(error)

    async def whole(self) -> AgentReply:
        """Send the scenario as one document and read the run from the reply."""
        payload = contract_request_bytes(self.request.scenario_id, self.request.order, self.request.messages)
        try:
            data = await self._answer(self.runner.settings.url, payload)
        except TimeoutError:
            return self._out_of_time(asked_trajectory(self.request))
        return contract_agent_reply(parsed_json(data), self.request, seconds=self.seconds)

    async def turns(self) -> AgentReply:
        """Send the user's messages one after the other, each with the conversation before it."""
        url = self.runner.settings.url.rstrip("/") + ChatCompletions.path
        sent: list[dict[str, Any]] = []
        for message in self.request.messages:
            asked = {"role": "user", "content": message}
            sent.append(asked)
            self.messages.append(asked)
            body = ChatCompletions().request_body(self.runner.settings.model or "", sent, Sampling(), stream=False)
            try:
                said = self._read_turn(await self._answer(url, json.dumps(body).encode()))
            except TimeoutError:
                return self._out_of_time(self._trajectory())
            sent.append({"role": "assistant", "content": said})
            reply = within_limits(self._reply_so_far(), self.request)
            if reply.ended != "finished":
                return reply
        return self._reply_so_far()

    def broken(self, error: AgentBrokeError) -> AgentReply:
        """Return the run of an agent that broke, with what was said before."""
        reply = broken_reply(self.request, error, seconds=self.seconds)
        return reply.with_changes(trajectory=self._trajectory(), usage=summed_usage(self.usages)) if self.messages else reply

    def _read_turn(self, data: bytes) -> str:
        """Keep the message that a turn's reply holds, and return its text."""
        body = parsed_json(data)
        who = self.runner.address
        try:
            parsed = ChatCompletions().parsed(body if isinstance(body, dict) else {}, who=who)
        except CallError as error:
            raise AgentBrokeError("not_a_reply", str(error)) from None
        assert isinstance(body, dict)  # what has choices is an object
        message = {**body["choices"][0]["message"], "role": "assistant"}
        try:
            trajectory_of_messages([*self.messages, message])
        except TraceError as error:
            raise AgentBrokeError("not_a_reply", f"{who}: {error}") from None
        self.messages.append(message)
        self.usages.append(parsed.usage)
        return parsed.text

    def _reply_so_far(self) -> AgentReply:
        trajectory, problems = trajectory_of_messages(self.messages)
        last = trajectory.steps[-1]
        unrun = last.tool if isinstance(last, ToolCallStep) else None
        return AgentReply(
            trajectory=trajectory,
            ended="finished" if unrun is None else "agent_error",
            reason=None if unrun is None else f"open_tool_call: the agent asks for {unrun!r} to be run, and nobody runs its tools.",
            usage=summed_usage(self.usages),
            seconds=self.seconds,
            problems=problems,
        )

    def _trajectory(self) -> Trajectory:
        return trajectory_of_messages(self.messages).trajectory

    def _out_of_time(self, trajectory: Trajectory) -> AgentReply:
        timeout_seconds = self.runner.settings.timeout_seconds
        usage = summed_usage(self.usages)
        return out_of_time_reply(self.request, trajectory, timeout_seconds=timeout_seconds, seconds=self.seconds, usage=usage)

    async def _answer(self, url: str, payload: bytes) -> bytes:
        """Post and return the body of a 2xx; a 429 or 503 is asked again. TimeoutError: the run's time is used up."""
        tries = 0
        while True:
            started = self.runner.clock.monotonic_seconds()
            try:
                return await self._posted(url, payload)
            except RetryableCallError as error:
                busy = error
            finally:
                self.seconds += self.runner.clock.monotonic_seconds() - started
            tries += 1
            await self._wait(busy, tries)

    async def _wait(self, busy: RetryableCallError, tries: int) -> None:
        """Wait as a busy agent asks. Raises HarnessError where it is to be asked no more."""
        wait_seconds = self._wait_seconds(busy, tries)
        if self.runner.waits_count:
            self.waited_seconds += wait_seconds
            if self.seconds + self.waited_seconds >= self._limit_seconds():
                raise HarnessError(busy.reason, f"{busy} Waiting for it takes longer than a call may.") from busy
        await self.runner.clock.sleep(wait_seconds)

    def _wait_seconds(self, error: RetryableCallError, tries: int) -> float:
        retry = self.runner.retry
        if tries >= retry.attempts:
            raise HarnessError(error.reason, str(error)) from error
        try:
            return retry.wait_seconds(error, tries=tries, request_digest=f"{self.request.scenario_id}/{self.request.order}")
        except DeferredError:
            asked_seconds = error.retry_after_seconds or 0.0
            raise HarnessError(error.reason, f"{error} It asks to wait {asked_seconds:,.0f} s, longer than this waits.") from error

    async def _posted(self, url: str, payload: bytes) -> bytes:
        left_seconds = self._seconds_left()
        # A connection that is not there in time is no agent's fault, so its own limit strikes before the run's does.
        connect_seconds = min(CONNECT_TIMEOUT_SECONDS, 0.9 * left_seconds)
        timeout = aiohttp.ClientTimeout(total=None, connect=connect_seconds)
        who = self.runner.address
        self.runner.requests += 1
        try:
            async with asyncio.timeout(left_seconds):
                async with self.runner.open_session().post(url, data=payload, allow_redirects=False, timeout=timeout) as response:
                    self.runner.check(response)
                    if 200 <= response.status < 300:
                        return await self._read(response, self.runner.settings.max_response_bytes)
                    raise await self._refused(response)
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
            raise HarnessError("unreachable", f"{who} cannot be reached: {_why(error)}.") from error
        except (aiohttp.ClientError, OSError) as error:
            if isinstance(error, TimeoutError):
                raise
            raise AgentBrokeError("broken_off", f"{who}: the connection broke off ({_named(error)}).") from error

    def _seconds_left(self) -> float:
        """Return how much of the run's time is left. Raises TimeoutError where none is."""
        left_seconds = self._limit_seconds() - self.seconds - self.waited_seconds
        if left_seconds <= 0:
            raise TimeoutError
        return left_seconds

    def _limit_seconds(self) -> float:
        return min(self.runner.settings.timeout_seconds, self.request.max_seconds or float("inf"))

    async def _read(self, response: aiohttp.ClientResponse, limit_bytes: int) -> bytes:
        gathered = await _body(response, limit_bytes)
        if len(gathered) > limit_bytes:
            response.close()
            raise AgentBrokeError("too_large", f"{self.runner.address}: the reply is larger than {limit_bytes:,} bytes.")
        return gathered

    async def _refused(self, response: aiohttp.ClientResponse) -> Exception:
        body = await _body(response, ERROR_BODY_LIMIT_BYTES)  # not the first piece of it, which may end within a secret
        error = error_for_status(
            response.status,
            self.runner.redactor.text(body.decode("utf-8", "replace")),  # before it is clipped
            who=self.runner.address,
            retry_after_seconds=retry_after_seconds(response.headers, now=self.runner.clock.now()),
        )
        response.close()
        if response.status in ASKED_AGAIN:
            return error
        return AgentBrokeError(error.reason, str(error)) if response.status >= 500 else HarnessError(error.reason, str(error))


async def _body(response: aiohttp.ClientResponse, limit_bytes: int) -> bytes:
    """Return a body; of one that is longer than the limit, more than that and not all."""
    gathered = bytearray()
    async for chunk in response.content.iter_any():  # decompressed by now, so a small reply that unpacks to a huge one is bounded too
        gathered += chunk
        if len(gathered) > limit_bytes:
            break
    return bytes(gathered)


def _why(error: BaseException) -> str:
    """Return why a connection was not made, in the system's words where it has any."""
    cause = getattr(error, "os_error", None)
    if not isinstance(cause, OSError):
        return "it took no connection in time"
    if cause.errno is not None and cause.errno > 0 and not isinstance(cause, ssl.SSLError):
        return os.strerror(cause.errno).lower()
    return str(cause.strerror or cause)


def _named(error: BaseException) -> str:
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__

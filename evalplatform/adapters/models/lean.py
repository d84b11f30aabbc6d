"""A lean HTTP client for single-shot chat calls.

A local server answers hundreds of calls a second, and there the client is the bottleneck: this one costs about a third of a millisecond of
CPU a call, where a full SDK costs several (benchmarks/). So it posts bytes, reads bytes, and looks only at the fields it needs.
"""

import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import aiohttp
import orjson

from evalplatform.adapters.models.dialect import Dialect, JsonObject, unusable
from evalplatform.adapters.models.http_errors import error_for_status, retry_after_seconds, without_secret
from evalplatform.adapters.models.sse import SseDecoder
from evalplatform.kernel.errors import CallError, FatalCallError, RetryableCallError
from evalplatform.ports.clock import Clock
from evalplatform.ports.model_client import ModelReply, ModelRequest

CONNECT_TIMEOUT_SECONDS = 15.0

# An error inside a 200 (a stream that already began, a gateway) has a type and no status: the status the API gives it elsewhere.
_STATUS_OF_ERROR_TYPE = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "api_error": 500,
    "server_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}


class LeanClient:
    """One endpoint's connections. One instance serves many concurrent calls of one event loop.

    The connections open with the first call and belong to its event loop; close them before that loop ends. A call after `aclose` opens
    new ones.

    Args:
        dialect: the API that the endpoint speaks.
        base_url: where it is; the dialect's path is appended.
        key: the API key or None. It goes into a header and is blanked out of every error text.
        stream: ask for a stream, to measure the time to the first token.
        timeout_seconds: for one attempt as a whole.
        max_connections: at most so many calls on the wire; more wait.
        clock: for latencies, and for a Retry-After that is a date.
    """

    def __init__(
        self,
        dialect: Dialect,
        *,
        base_url: str,
        key: str | None,
        stream: bool,
        timeout_seconds: float,
        max_connections: int,
        clock: Clock,
    ) -> None:
        self._dialect = dialect
        self._url = base_url.rstrip("/") + dialect.path
        self._host = urlsplit(base_url).netloc
        self._key = key
        self._stream = stream
        self._timeout_seconds = timeout_seconds
        self._max_connections = max_connections
        self._clock = clock
        self._session: aiohttp.ClientSession | None = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({type(self._dialect).__name__} at {self._host})"

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Return the reply; see `ports.model_client.ModelClient`."""
        who = f"{request.model} at {self._host}"
        payload = self._payload(request)
        started = self._clock.monotonic_seconds()
        async with self._answer(payload, who) as response:
            if self._stream and response.content_type == "text/event-stream":
                body, first_token_seconds = await self._read_stream(response, who, started)
            else:
                body, first_token_seconds = self._json(await response.read(), response.headers, who), None
        parsed = self._dialect.parsed(body, who=who)
        return ModelReply(
            text=parsed.text,
            finish_reason=parsed.finish_reason,
            usage=parsed.usage,
            latency_seconds=self._clock.monotonic_seconds() - started,
            time_to_first_token_seconds=first_token_seconds,
            model_returned=parsed.model_returned,
        )

    async def aclose(self) -> None:
        """Close the connections; calling it twice is fine."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def _payload(self, request: ModelRequest) -> bytes:
        messages: list[JsonObject] = [{"role": message.role, "content": message.content} for message in request.messages]
        try:
            return orjson.dumps(self._dialect.request_body(request.model, messages, request.sampling, stream=self._stream))
        except orjson.JSONEncodeError as error:
            raise FatalCallError("bad_request", f"The request cannot be sent as UTF-8 JSON: {error}.") from error

    @asynccontextmanager
    async def _answer(self, payload: bytes, who: str) -> AsyncIterator[aiohttp.ClientResponse]:
        """Post and hold the answer open. What the wire does, here or while the answer is read, becomes a typed error."""
        try:
            # A redirect is refused: it would carry the key to another place, and turn a POST into a GET.
            async with self._open_session().post(self._url, data=payload, allow_redirects=False) as response:
                if response.status != 200:
                    raise self._refused(response.status, _decoded(await response.read()), response.headers, who)
                yield response
        except TimeoutError as error:
            raise RetryableCallError("timeout", f"{who} did not answer within {self._timeout_seconds:g} s.") from error
        except (aiohttp.ClientError, OSError) as error:
            raise RetryableCallError("connection", f"{who}: the connection failed ({_named(error)}).") from error

    def _open_session(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=self._max_connections),
                headers={"Content-Type": "application/json", **self._dialect.headers(self._key)},
                timeout=aiohttp.ClientTimeout(total=self._timeout_seconds, sock_connect=CONNECT_TIMEOUT_SECONDS),
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        return self._session

    async def _read_stream(self, response: aiohttp.ClientResponse, who: str, started: float) -> tuple[JsonObject, float | None]:
        decoder, gathered = SseDecoder(), self._dialect.streamed_body()
        first_token_seconds: float | None = None
        async for chunk in response.content.iter_any():
            self._gather(decoder.feed(chunk), gathered.add, response.headers, who)
            if first_token_seconds is None and gathered.started:
                first_token_seconds = self._clock.monotonic_seconds() - started
        self._gather(decoder.close(), gathered.add, response.headers, who)
        if not gathered.finished:
            raise RetryableCallError("connection", f"{who}: the stream ended before the reply did.")
        return gathered.body(), first_token_seconds

    def _gather(self, payloads: list[bytes], add: Callable[[JsonObject], None], headers: Mapping[str, str], who: str) -> None:
        for payload in payloads:
            if payload != b"[DONE]":
                add(self._json(payload, headers, who))

    def _json(self, data: bytes, headers: Mapping[str, str], who: str) -> JsonObject:
        try:
            body = _json_value(data)
        except ValueError:
            raise unusable("not_json", who, "something that is not JSON") from None
        if not isinstance(body, dict):
            raise unusable("not_json", who, "JSON that is not an object")
        if body.get("error"):
            raise self._error_in_body(body, headers, who)
        return body

    def _error_in_body(self, body: JsonObject, headers: Mapping[str, str], who: str) -> CallError:
        error = body["error"]
        code = error.get("code") if isinstance(error, dict) else None
        status = code if isinstance(code, int) and 400 <= code < 600 else None
        if status is None and isinstance(error, dict):
            status = _STATUS_OF_ERROR_TYPE.get(str(error.get("type"))) or _STATUS_OF_ERROR_TYPE.get(str(code))
        if status is None:
            said = without_secret(_server_text(body), self._key)[:300]
            return unusable("error_body", who, f"an error inside a 200: {said}")
        return self._refused(status, orjson.dumps(body).decode(), headers, who)

    def _refused(self, status: int, text: str, headers: Mapping[str, str], who: str) -> CallError:
        try:
            body = orjson.loads(text)
        except orjson.JSONDecodeError:
            body = text
        error = body.get("error") if isinstance(body, dict) else None
        code = error.get("code") if isinstance(error, dict) else None
        return error_for_status(
            status,
            without_secret(_server_text(body), self._key),
            who=who,
            code=code if isinstance(code, str) else None,
            retry_after_seconds=retry_after_seconds(headers, now=self._clock.now()),
        )


def _json_value(data: bytes) -> object:
    """Return the JSON value, with a half surrogate pair as U+FFFD: it is no text, but the reply around it was paid for."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        text = json.dumps(json.loads(data), ensure_ascii=False)
        return orjson.loads(text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"))


def _server_text(body: object) -> str:
    """Return the sentence in an error body: `error.message`, `error`, `message` or `detail`, else the body as it is."""
    if not isinstance(body, dict):
        return body if isinstance(body, str) else orjson.dumps(body).decode()
    error = body.get("error")
    found = error.get("message") if isinstance(error, dict) else error
    found = found or body.get("message") or body.get("detail")
    return found if isinstance(found, str) else orjson.dumps(body).decode()


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _named(error: BaseException) -> str:
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__

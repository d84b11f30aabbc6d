"""A model server for tests and benchmarks: chat completions and Anthropic messages over real HTTP, with failures on demand.

In a test: `with running_stub() as stub: ... stub.url ...`. As a process of its own: `python -m tests.support.model_stub --port 0`, which
prints its port on the first line of its output.

What it does is chosen by the request's model name, so that both ways are scripted alike:

    any other name          a reply derived from the prompt; scores in JSON when the prompt reads like a judge's
    stub;do=NAME;...        one of `BEHAVIOURS` below, with its settings
    ...;latency=0.2         added to any of them
    ...;together=64         held until so many requests were in flight at once

Every other API answers 503, and is counted. `fail_first` makes the first k requests of every body digest fail with `fail_status`,
whatever the model; `fail_after` makes every request after the first k fail so.
"""

import argparse
import asyncio
import hashlib
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import orjson
from aiohttp import web

from tests.support.model_stub_replies import (
    Json,
    Settings,
    completion_body,
    completion_events,
    derived_reply,
    message_body,
    message_events,
)


@dataclass
class Seen:
    """All requests with one body: how often, when, and how they were answered."""

    body: bytes
    times: list[float] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)

    @property
    def count(self) -> int:
        return len(self.times)


@dataclass
class ModelStub:
    """The server's settings and what it saw. `url` is the base URL for chat completions, `root_url` the one for Anthropic messages."""

    latency_seconds: float = 0.0
    fail_first: int = 0
    fail_after: int | None = None
    fail_status: int = 503
    retry_after: str | None = None
    port: int = 0
    seen: dict[str, Seen] = field(default_factory=dict)
    keys: set[str] = field(default_factory=set)
    in_flight: int = 0
    most_in_flight: int = 0
    arrivals: asyncio.Condition = field(default_factory=asyncio.Condition, repr=False)

    @property
    def root_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.root_url}/v1"

    @property
    def requests(self) -> int:
        return sum(seen.count for seen in list(self.seen.values()))  # a copy: tests ask while the server's thread adds

    def bodies(self) -> list[Json]:
        """The distinct bodies, in the order first seen."""
        return [orjson.loads(seen.body) for seen in self.seen.values()]

    def stats(self) -> Json:
        return {
            "requests": self.requests,
            "most_in_flight": self.most_in_flight,
            "bodies": {digest: {"count": seen.count, "times": seen.times, "statuses": seen.statuses} for digest, seen in self.seen.items()},
        }


@dataclass
class Asked:
    """One request as a behaviour sees it."""

    stub: ModelStub
    http: web.Request
    body: Json
    settings: Settings

    @property
    def anthropic(self) -> bool:
        return self.http.path.endswith("/messages")

    @property
    def prompt(self) -> str:
        system = self.body.get("system")
        contents = [str(message["content"]) for message in self.body.get("messages", [])]
        return "\n\n".join([str(system), *contents] if system else contents)


Behaviour = Callable[[Asked], Awaitable[web.StreamResponse]]
BEHAVIOURS: dict[str, Behaviour] = {}


def behaviour(name: str) -> Callable[[Behaviour], Behaviour]:
    def remember(function: Behaviour) -> Behaviour:
        BEHAVIOURS[name] = function
        return function

    return remember


@behaviour("reply")
async def reply(asked: Asked) -> web.StreamResponse:
    """text=...: that text (`+` for a blank) in place of the derived one; finish=..., prompt_tokens=..., completion_tokens=..."""
    text = asked.settings["text"].replace("+", " ") if "text" in asked.settings else derived_reply(asked.prompt)
    if asked.body.get("stream"):
        return await _streamed(asked, text)
    return _json(asked, completion(asked, text))


@behaviour("status")
async def status(asked: Asked) -> web.StreamResponse:
    """code=429, retry_after=..., retry_after_ms=..., error_code=..., text=... ; echo_key=1 puts the sent key into the error."""
    message = asked.settings.get("text", "scripted+failure").replace("+", " ")
    if "echo_key" in asked.settings:
        message += " " * 270 + _sent_key(asked.http)  # where clipping would cut the key in two
    headers = {
        name: asked.settings[setting].replace("+", " ")
        for name, setting in (("Retry-After", "retry_after"), ("retry-after-ms", "retry_after_ms"))
        if setting in asked.settings
    }
    error = {"message": message, "type": "scripted", "code": asked.settings.get("error_code")}
    return web.Response(
        status=int(asked.settings["code"]), body=orjson.dumps({"error": error}), content_type="application/json", headers=headers
    )


@behaviour("error_in_200")
async def error_in_200(asked: Asked) -> web.StreamResponse:
    """code=..., type=...: the error object that comes with a 200."""
    code = asked.settings.get("code")
    error = {"message": "scripted failure", "type": asked.settings.get("type"), "code": int(code) if code else None}
    return _json(asked, {"error": error})


@behaviour("body")
async def body(asked: Asked) -> web.StreamResponse:
    """raw=...: that text as the whole body of a 200."""
    return web.Response(body=asked.settings["raw"].encode(), content_type="application/json")


@behaviour("cut")
async def cut(asked: Asked) -> web.StreamResponse:
    """The connection ends in the middle of the body."""
    whole = orjson.dumps(completion(asked, derived_reply(asked.prompt)))
    response = web.StreamResponse(headers={"Content-Type": "application/json", "Content-Length": str(len(whole))})
    await response.prepare(asked.http)
    await response.write(whole[: len(whole) // 2])
    return _hang_up(asked, response)


@behaviour("disconnect")
async def disconnect(asked: Asked) -> web.StreamResponse:
    """The connection ends before an answer."""
    return _hang_up(asked, web.Response())


@behaviour("cut_stream")
async def cut_stream(asked: Asked) -> web.StreamResponse:
    """The stream ends politely before the reply does."""
    response = await _event_stream(asked)
    await response.write(b"".join(_events(asked, "half a reply")[:2]))
    await response.write_eof()
    return response


@behaviour("thought_only")
async def thought_only(asked: Asked) -> web.StreamResponse:
    """A reasoning model that spent its budget: no content, finish reason length, all completion tokens reasoning."""
    whole = completion(asked, "")
    if asked.anthropic:
        whole.update(content=[{"type": "thinking", "thinking": "..."}], stop_reason="max_tokens")
        return _json(asked, whole)
    whole["choices"] = [{"index": 0, "message": {"role": "assistant", "content": None}, "finish_reason": "length"}]
    whole["usage"] = {**whole["usage"], "completion_tokens": 16, "completion_tokens_details": {"reasoning_tokens": 16}}
    return _json(asked, whole)


@behaviour("empty_choices")
async def empty_choices(asked: Asked) -> web.StreamResponse:
    """A completion without a choice, a message without content."""
    whole = completion(asked, "")
    whole.pop("content" if asked.anthropic else "choices")
    return _json(asked, whole if asked.anthropic else {**whole, "choices": []})


@behaviour("redirect")
async def redirect(asked: Asked) -> web.StreamResponse:
    raise web.HTTPTemporaryRedirect(asked.http.path)


def completion(asked: Asked, text: str) -> Json:
    """The body of an unstreamed reply, in the API that was asked."""
    whole = message_body if asked.anthropic else completion_body
    return whole(_plain_model(asked), text, prompt=asked.prompt, settings=asked.settings)


def _plain_model(asked: Asked) -> str:
    return str(asked.body["model"]).partition(";")[0]


async def _streamed(asked: Asked, text: str) -> web.StreamResponse:
    """first_token=0.1: seconds before the first piece; next_token=0.01: seconds between pieces."""
    response = await _event_stream(asked)
    first, *rest = _events(asked, text)
    await asyncio.sleep(float(asked.settings.get("first_token", 0)))
    await response.write(first)
    for event in rest:
        if pause := float(asked.settings.get("next_token", 0)):
            await asyncio.sleep(pause)
        await response.write(event)
    await response.write_eof()
    return response


async def _event_stream(asked: Asked) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(asked.http)
    await response.write(b": the line that some gateways send to keep a connection open\n\n")
    return response


def _events(asked: Asked, text: str) -> list[bytes]:
    whole = completion(asked, text)
    if asked.anthropic:
        return message_events(whole, text)
    return completion_events(whole, text, with_usage=bool((asked.body.get("stream_options") or {}).get("include_usage")))


def _json(asked: Asked, whole: Json) -> web.Response:
    return web.Response(body=orjson.dumps(whole), content_type="application/json")


def _hang_up(asked: Asked, response: web.StreamResponse) -> web.StreamResponse:
    assert asked.http.transport is not None
    asked.http.transport.close()
    return response


def _sent_key(request: web.Request) -> str:
    return request.headers.get("x-api-key") or request.headers.get("Authorization", "").removeprefix("Bearer ")


def stub_app(stub: ModelStub) -> web.Application:
    """The server's routes over one stub's settings and memory."""

    async def answer(request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        seen = stub.seen.setdefault(hashlib.sha256(raw).hexdigest(), Seen(raw))
        seen.times.append(time.time())
        stub.keys.add(_sent_key(request))
        stub.in_flight += 1
        stub.most_in_flight = max(stub.most_in_flight, stub.in_flight)
        try:
            response = await _behave(request, raw, nth=seen.count)
        finally:
            stub.in_flight -= 1
        seen.statuses.append(response.status)
        return response

    async def _behave(request: web.Request, raw: bytes, *, nth: int) -> web.StreamResponse:
        parsed = orjson.loads(raw)
        _, *pairs = str(parsed["model"]).split(";")
        settings = dict(pair.split("=", 1) for pair in pairs)
        if latency_seconds := stub.latency_seconds + float(settings.get("latency", 0)):
            await asyncio.sleep(latency_seconds)
        if together := int(settings.get("together", 0)):
            async with stub.arrivals:
                stub.arrivals.notify_all()
                await stub.arrivals.wait_for(lambda: stub.most_in_flight >= together)
        name = settings.get("do", "reply")
        if nth <= stub.fail_first or (stub.fail_after is not None and stub.requests > stub.fail_after):
            name, settings = "status", {"code": str(stub.fail_status)} | ({"retry_after": stub.retry_after} if stub.retry_after else {})
        return await BEHAVIOURS[name](Asked(stub=stub, http=request, body=parsed, settings=settings))

    async def unavailable(request: web.Request) -> web.Response:
        raw = await request.read()
        seen = stub.seen.setdefault(hashlib.sha256(raw).hexdigest(), Seen(raw))
        seen.times.append(time.time())
        seen.statuses.append(503)
        return web.Response(status=503, body=b'{"message": "no such API here"}', content_type="application/json")

    async def stats(request: web.Request) -> web.Response:
        return web.Response(body=orjson.dumps(stub.stats()), content_type="application/json")

    app = web.Application(client_max_size=64 * 2**20)
    app.router.add_post("/v1/chat/completions", answer)
    app.router.add_post("/v1/messages", answer)
    app.router.add_get("/stats", stats)
    app.router.add_post("/{any:.*}", unavailable)
    return app


async def _serve(stub: ModelStub, port: int) -> web.AppRunner:
    runner = web.AppRunner(stub_app(stub), access_log=None, shutdown_timeout=0.1, handler_cancellation=True)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port, backlog=1024)
    await site.start()
    stub.port = runner.addresses[0][1]
    return runner


async def _stop(runner: web.AppRunner) -> None:
    await runner.cleanup()
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)


@contextmanager
def running_stub(
    *, latency_seconds: float = 0.0, fail_first: int = 0, fail_status: int = 503, retry_after: str | None = None
) -> Iterator[ModelStub]:
    """A stub in a thread of this process, on a free port, until the block ends."""
    stub = ModelStub(latency_seconds=latency_seconds, fail_first=fail_first, fail_status=fail_status, retry_after=retry_after)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="model-stub", daemon=True)
    thread.start()
    runner = asyncio.run_coroutine_threadsafe(_serve(stub, 0), loop).result(timeout=10)
    try:
        yield stub
    finally:
        asyncio.run_coroutine_threadsafe(_stop(runner), loop).result(timeout=10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(timeout=10)
        loop.close()


async def _serve_forever(stub: ModelStub, port: int) -> None:
    await _serve(stub, port)
    print(stub.port, flush=True)
    await asyncio.Event().wait()


def main() -> None:
    """Serve until the process is ended."""
    parser = argparse.ArgumentParser(description="A model server for tests and benchmarks.")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one; the port is printed on the first line")
    parser.add_argument("--latency-seconds", type=float, default=0.0)
    parser.add_argument("--fail-first", type=int, default=0, help="fail the first k requests of every body digest")
    parser.add_argument("--fail-status", type=int, default=503)
    parser.add_argument("--retry-after", help="the Retry-After of those failures")
    options = parser.parse_args()
    stub = ModelStub(
        latency_seconds=options.latency_seconds,
        fail_first=options.fail_first,
        fail_status=options.fail_status,
        retry_after=options.retry_after,
    )
    asyncio.run(_serve_forever(stub, options.port))


if __name__ == "__main__":
    main()

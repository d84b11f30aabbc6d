"""An agent behind a real HTTP server: the scripted agent over the JSON contract, and what servers and networks do wrong.

The user's first message chooses: what `tests.support.scripted_agent` does, or one of the answers below. Use it as a context manager.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import orjson
from aiohttp import web

from tests.support.scripted_agent import reply


@dataclass
class AgentStub:
    """What the server saw: requests' bodies and headers, and how many were in flight at most."""

    port: int = 0
    bodies: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    in_flight: int = 0
    most_in_flight: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/agent"


Answer = Callable[[web.Request, dict[str, Any], int], Awaitable[web.StreamResponse]]


async def _status(request: web.Request, body: dict[str, Any], nth: int) -> web.StreamResponse:
    """do:status CODE [RETRY_AFTER [TIMES]]: that status, `TIMES` times (else always), the sent Authorization within its text."""
    code, *more = body["messages"][0]["content"].split()[1:]
    if len(more) == 2 and nth > int(more[1]):
        return web.json_response(reply(body))
    headers = {"Retry-After": more[0]} if more else {}
    return web.Response(status=int(code), text=f"no: {request.headers.get('Authorization')}", headers=headers)


async def _redirect(request: web.Request, body: dict[str, Any], nth: int) -> web.StreamResponse:
    raise web.HTTPTemporaryRedirect("/elsewhere")


async def _cut(request: web.Request, body: dict[str, Any], nth: int) -> web.StreamResponse:
    whole = orjson.dumps(reply(body))
    response = web.StreamResponse(headers={"Content-Length": str(len(whole))})
    await response.prepare(request)
    await response.write(whole[: len(whole) // 2])
    assert request.transport is not None
    request.transport.close()
    return response


async def _slow(request: web.Request, body: dict[str, Any], nth: int) -> web.StreamResponse:
    await asyncio.sleep(60)
    return web.Response()


async def _drip(request: web.Request, body: dict[str, Any], nth: int) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    for _ in range(600):
        await response.write(b" ")
        await asyncio.sleep(0.1)
    return response


async def _bomb(request: web.Request, body: dict[str, Any], nth: int) -> web.StreamResponse:
    """Twenty megabytes that are twenty kilobytes on the wire."""
    response = web.Response(body=b" " * 20_000_000)
    response.enable_compression(web.ContentCoding.gzip)
    return response


async def _text(request: web.Request, body: dict[str, Any], nth: int) -> web.StreamResponse:
    return web.Response(text="<html>welcome</html>")


async def _pause(request: web.Request, body: dict[str, Any], nth: int) -> web.StreamResponse:
    await asyncio.sleep(0.05)
    return web.json_response(reply(body))


ANSWERS: dict[str, Answer] = {
    "do:status": _status,
    "do:redirect": _redirect,
    "do:cut": _cut,
    "do:slow": _slow,
    "do:drip": _drip,
    "do:bomb": _bomb,
    "do:text": _text,
    "do:pause": _pause,
}


@contextmanager
def running_agent() -> Iterator[AgentStub]:
    """The agent's server in a thread of this process, on a free port, until the block ends."""
    stub = AgentStub()
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="agent-stub", daemon=True)
    thread.start()
    runner = asyncio.run_coroutine_threadsafe(_serve(stub), loop).result(timeout=10)
    try:
        yield stub
    finally:
        asyncio.run_coroutine_threadsafe(_stop(runner), loop).result(timeout=10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(timeout=10)
        loop.close()


async def _serve(stub: AgentStub) -> web.AppRunner:
    async def answer(request: web.Request) -> web.StreamResponse:
        body = orjson.loads(await request.read())
        stub.bodies.append(body)
        stub.headers.append(dict(request.headers))
        stub.in_flight += 1
        stub.most_in_flight = max(stub.most_in_flight, stub.in_flight)
        try:
            chosen = ANSWERS.get(body["messages"][0]["content"].split()[0])
            return web.json_response(reply(body)) if chosen is None else await chosen(request, body, stub.bodies.count(body))
        finally:
            stub.in_flight -= 1

    app = web.Application()
    app.router.add_post("/agent", answer)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1, handler_cancellation=True)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    stub.port = runner.addresses[0][1]
    return runner


async def _stop(runner: web.AppRunner) -> None:
    await runner.cleanup()
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)

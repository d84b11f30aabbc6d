"""Document sources and servers for tests: a scripted source, and real local HTTP servers."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from evalplatform.kernel.digests import json_digest
from evalplatform.kernel.errors import RetrievalError
from evalplatform.ports.documents import Chunk

REQUESTS: web.AppKey[list[Any]] = web.AppKey("requests", list)


class ScriptedSource:
    """A document source that gives the chunks it was made with, or fails where told to, and counts what was asked of it."""

    name = "scripted"

    def __init__(self, texts: Sequence[str] = (), *, fails_at_open: bool = False, fails_at_retrieve: bool = False) -> None:
        self._chunks = [Chunk(source=f"page-{place}", text=text, relevance=1.0) for place, text in enumerate(texts)]
        self._fails_at_open = fails_at_open
        self._fails_at_retrieve = fails_at_retrieve
        self.queries: list[str] = []
        self.closed = 0

    async def open(self) -> str:
        if self._fails_at_open:
            raise RetrievalError("the source is down.")
        return json_digest([chunk.text for chunk in self._chunks])

    async def retrieve(self, query: str, *, top_k: int) -> list[Chunk]:
        if self._fails_at_retrieve:
            raise RetrievalError("the source went away.")
        self.queries.append(query)
        return self._chunks[:top_k]

    async def aclose(self) -> None:
        self.closed += 1


@asynccontextmanager
async def served(app: web.Application) -> AsyncIterator[str]:
    """Serve the application on a free local port for the body, and give its address."""
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0][:2]
        yield f"http://{host}:{port}"
    finally:
        await runner.cleanup()


def page_app(
    body: str | bytes = "<h1>Guide</h1><p>alpha beta</p>", *, content_type: str = "text/html", status: int = 200
) -> web.Application:
    """Return an application that serves one page at /guide, a redirect to it at /moved, and counts requests in `app[REQUESTS]`."""
    app = web.Application()
    app[REQUESTS] = []

    async def guide(request: web.Request) -> web.Response:
        request.app[REQUESTS].append(request.path)
        data = body.encode() if isinstance(body, str) else body
        return web.Response(body=data, status=status, headers={"Content-Type": content_type})

    async def moved(request: web.Request) -> web.Response:
        raise web.HTTPFound("/guide")

    app.router.add_get("/guide", guide)
    app.router.add_get("/moved", moved)
    return app


def context7_app(*, library_id: str = "/acme/widgets", key: str | None = None) -> web.Application:
    """Return a server of Context7's v2 shape that has one library. Requests are kept in `app[REQUESTS]` as (path, query, key)."""
    app = web.Application()
    app[REQUESTS] = []

    def refused(request: web.Request) -> web.Response | None:
        given = request.headers.get("Authorization")
        request.app[REQUESTS].append((request.path, dict(request.query), given))
        if key is not None and given != f"Bearer {key}":
            return web.json_response({"error": "unauthorized", "message": "Invalid API key."}, status=401)
        return None

    async def search(request: web.Request) -> web.Response:
        found = {"id": library_id, "title": "Widgets", "description": "d", "totalSnippets": 3, "state": "finalized"}
        return refused(request) or web.json_response({"results": [{"id": "/other/widgets", "title": "Other"}, found], "metadata": {}})

    async def context(request: web.Request) -> web.Response:
        if (response := refused(request)) is not None:
            return response
        if request.query["libraryId"] != library_id:
            return web.json_response({"error": "library_not_found", "message": "Library not found."}, status=404)
        code = [
            {
                "codeTitle": f"Code {n}",
                "codeDescription": "turns",
                "codeId": f"code-{n}",
                "codeList": [{"language": "py", "code": f"turn({n})"}],
            }
            for n in (1, 2)
        ]
        prose = [{"pageId": "page-1", "breadcrumb": "Guide > Turning", "content": "Widgets turn.", "contentTokens": 3}]
        return web.json_response({"codeSnippets": code, "infoSnippets": prose, "rules": {}})

    app.router.add_get("/api/v2/libs/search", search)
    app.router.add_get("/api/v2/context", context)
    return app

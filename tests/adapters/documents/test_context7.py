import asyncio
from pathlib import Path

import pytest
from aiohttp import web

from evalplatform.adapters.documents.open import open_document_source
from evalplatform.kernel.errors import ArmSpecError, RetrievalError
from tests.support.documents import REQUESTS, context7_app, served


def asked(app: web.Application, library: str = "/acme/widgets", *, key: str | None = None, top_k: int = 5):
    async def run():
        async with served(app) as address:
            environment = {"EVALPLATFORM_CONTEXT7_URL": f"{address}/", **({"CONTEXT7_API_KEY": key} if key else {})}
            source = open_document_source(f"context7:{library}", base_folder=Path(), environment=environment)
            try:
                return await source.open(), await source.retrieve("how do widgets turn", top_k=top_k)
            finally:
                await source.aclose()

    return asyncio.run(run())


def test_snippets_come_in_the_services_order_code_and_prose_in_turn():
    _, chunks = asked(context7_app())
    assert [(chunk.source, chunk.relevance) for chunk in chunks] == [("code-1", 1.0), ("page-1", 0.5), ("code-2", 1 / 3)]
    assert chunks[0].text == "Code 1\n\nturns\n\n```py\nturn(1)\n```"
    assert chunks[1].text == "Guide > Turning\n\nWidgets turn."
    assert [chunk.source for chunk in asked(context7_app(), top_k=2)[1]] == ["code-1", "page-1"]


def test_a_library_id_is_checked_at_open_and_used_as_it_is():
    app = context7_app(library_id="/acme/widgets/v2")
    asked(app, "/acme/widgets/v2")
    assert [path for path, _, _ in app[REQUESTS]] == ["/api/v2/context", "/api/v2/context"]
    assert app[REQUESTS][1][1] == {"libraryId": "/acme/widgets/v2", "query": "how do widgets turn", "type": "json"}


def test_a_qualified_name_is_looked_up_and_never_replaced_by_a_namesake():
    app = context7_app(library_id="/Acme/Widgets")
    asked(app, "acme/widgets")
    assert [path for path, _, _ in app[REQUESTS]] == ["/api/v2/libs/search", "/api/v2/context"]
    assert app[REQUESTS][0][1] == {"libraryName": "widgets", "query": "widgets"}
    assert app[REQUESTS][1][1]["libraryId"] == "/Acme/Widgets"


def test_a_library_the_service_does_not_have_is_found_at_open():
    with pytest.raises(RetrievalError, match=r"answered with status 404: Library not found\."):
        asked(context7_app(), "/acme/gone")
    with pytest.raises(RetrievalError, match=r"knows no library '/acme/wigdets'\. Did you mean '/acme/widgets'\?"):
        asked(context7_app(), "acme/wigdets")


def test_the_key_is_sent_as_a_bearer_token_and_stands_in_no_message():
    app = context7_app(key="right")
    asked(app, key="right")
    assert {given for _, _, given in app[REQUESTS]} == {"Bearer right"}
    with pytest.raises(RetrievalError, match="status 401") as refused:
        asked(context7_app(key="right"), key="wrong-secret")
    assert "wrong-secret" not in str(refused.value)


def test_without_a_key_no_authorization_is_sent():
    app = context7_app()
    asked(app)
    assert {given for _, _, given in app[REQUESTS]} == {None}


@pytest.mark.parametrize("body", ["not json", "[]", '{"codeSnippets": [{"codeTitle": "x"}]}', '{"codeSnippets": null}'])
def test_a_reply_of_another_shape_is_a_failure_and_no_empty_result(body):
    app = web.Application()

    async def odd(request: web.Request) -> web.Response:
        return web.Response(text=body, content_type="application/json")

    app.router.add_get("/api/v2/context", odd)
    with pytest.raises(RetrievalError, match="something that is no /api/v2/context reply"):
        asked(app)


def test_an_empty_result_is_no_failure():
    app = web.Application()

    async def empty(request: web.Request) -> web.Response:
        return web.json_response({"codeSnippets": [], "infoSnippets": []})

    app.router.add_get("/api/v2/context", empty)
    assert asked(app)[1] == []


def test_a_redirect_is_not_followed_so_that_the_key_stays_with_the_service():
    app = web.Application()

    async def moved(request: web.Request) -> web.Response:
        return web.json_response({"message": "Use /acme/new."}, status=301, headers={"Location": "/elsewhere"})

    app.router.add_get("/api/v2/context", moved)
    with pytest.raises(RetrievalError, match=r"status 301: Use /acme/new\."):
        asked(app, key="k")


def test_the_digest_is_of_the_service_and_the_library_and_the_key_is_not_in_it():
    async def digest(address: str, library: str, **key: str) -> str:
        source = open_document_source(f"context7:{library}", base_folder=Path(), environment={"EVALPLATFORM_CONTEXT7_URL": address, **key})
        try:
            return await source.open()
        finally:
            await source.aclose()

    async def run() -> tuple[str, ...]:
        async with served(context7_app()) as address, served(context7_app()) as elsewhere:
            by_id = await digest(address, "/acme/widgets")
            by_name = await digest(address, "acme/widgets", CONTEXT7_API_KEY="k")
            return by_id, by_name, await digest(elsewhere, "/acme/widgets")

    by_id, by_name, other_service = asyncio.run(run())
    assert by_id == by_name != other_service


@pytest.mark.parametrize("library", ["", "widgets", "/widgets", "/"])
def test_a_library_that_is_not_qualified_is_refused(library):
    with pytest.raises(ArmSpecError, match="needs a library, as owner/name"):
        open_document_source(f"context7:{library}", base_folder=Path(), environment={})


def test_an_address_that_is_no_http_address_is_refused():
    with pytest.raises(ArmSpecError, match="EVALPLATFORM_CONTEXT7_URL: must be an http or https address"):
        open_document_source("context7:/a/b", base_folder=Path(), environment={"EVALPLATFORM_CONTEXT7_URL": "file:///x"})

import asyncio

import pytest
from aiohttp import web

from evalplatform.adapters.documents import http
from evalplatform.adapters.documents.kinds.url import PageSource
from evalplatform.adapters.documents.open import open_document_source
from evalplatform.kernel.digests import text_digest
from evalplatform.kernel.errors import ArmSpecError, RetrievalError
from tests.support.documents import REQUESTS, page_app, served


def opened(app: web.Application, path: str = "/guide"):
    async def run():
        async with served(app) as address:
            source = PageSource(address + path)
            digests = (await source.open(), await source.open())
            chunks = [await source.retrieve(query, top_k=5) for query in ("alpha gamma", "nothing")]
            await source.aclose()
            return address, digests, chunks

    return asyncio.run(run())


def test_a_page_is_fetched_once_stripped_and_served_as_one_chunk():
    app = page_app()
    address, (first, second), [[chunk], [other]] = opened(app)
    assert first == second == text_digest("Guide\n\nalpha beta")
    assert (chunk.source, chunk.text, chunk.relevance) == (f"{address}/guide", "Guide\n\nalpha beta", 0.5)
    assert (other.text, other.relevance) == (chunk.text, 0.0)
    assert app[REQUESTS] == ["/guide"]


def test_a_redirect_is_followed():
    assert opened(page_app(), "/moved")[2][0][0].text == "Guide\n\nalpha beta"


def test_plain_text_is_kept_as_it_is_and_long_pages_are_cut():
    assert opened(page_app("<b>&amp;</b>", content_type="text/plain"))[2][0][0].text == "<b>&amp;</b>"
    assert len(opened(page_app("x" * 40_000, content_type="text/markdown"))[2][0][0].text) == 32_000


def test_the_declared_charset_is_used():
    assert opened(page_app("caf\xe9".encode("latin-1"), content_type="text/plain; charset=latin-1"))[2][0][0].text == "café"


@pytest.mark.parametrize(
    ("app", "says"),
    [
        (lambda: page_app(status=503), "answered with status 503"),
        (lambda: page_app(b"%PDF", content_type="application/pdf"), "is application/pdf, not a page of text"),
        (lambda: page_app(b"\xff\xfe\xfa", content_type="text/plain"), "the response is not UTF-8 text"),
        (lambda: page_app("x", content_type="text/plain; charset=no-such"), "the response is not no-such text"),
        (lambda: page_app("<script>only()</script>"), "holds no text"),
        (lambda: page_app("x" * (http.RESPONSE_LIMIT_BYTES + 1)), "answered with more than 4 MiB"),
    ],
)
def test_a_page_that_cannot_be_used_is_a_named_failure_at_open(app, says):
    with pytest.raises(RetrievalError, match=says):
        opened(app())


def test_a_server_that_is_not_there_is_found_at_open():
    async def run() -> str:
        async with served(page_app()) as address:
            pass
        return await PageSource(f"{address}/guide").open()

    with pytest.raises(RetrievalError, match="cannot be reached"):
        asyncio.run(run())


def test_a_server_that_never_ends_its_answer_is_given_up(monkeypatch):
    monkeypatch.setattr(http, "REQUEST_LIMIT_SECONDS", 0.2)
    app = web.Application()

    async def endless(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/plain"})
        await response.prepare(request)
        await response.write(b"x")
        await asyncio.sleep(0.6)
        return response

    app.router.add_get("/guide", endless)
    with pytest.raises(RetrievalError, match="did not answer within"):
        opened(app)


@pytest.mark.parametrize("url", ["file:///etc/hosts", "ftp://h/x", "example.org/guide", "", "http://", "http://[bad", "javascript:x"])
def test_only_http_and_https_addresses_are_taken(tmp_path, url):
    with pytest.raises(ArmSpecError, match="needs an http or https address"):
        open_document_source(f"url:{url}", base_folder=tmp_path)


def test_a_password_in_an_address_is_refused_and_not_repeated(tmp_path):
    with pytest.raises(ArmSpecError, match="must not hold a user name or password") as refused:
        open_document_source("url:https://me:hunter2@example.org/", base_folder=tmp_path)
    assert "hunter2" not in str(refused.value)


def test_asking_before_opening_is_a_failure():
    with pytest.raises(RetrievalError, match="has not been opened"):
        asyncio.run(PageSource("http://127.0.0.1/").retrieve("q", top_k=1))

"""What every registered document source keeps. A new kind inherits this suite by giving one way to serve it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import TypeVar

import pytest

from evalplatform.adapters.documents.open import open_document_source
from evalplatform.adapters.documents.source_kind import document_sources
from evalplatform.kernel.errors import EvalplatformError, RetrievalError
from evalplatform.ports.documents import DocumentSource
from tests.support.documents import context7_app, page_app, served

T = TypeVar("T")
Setting = tuple[str, dict[str, str]]


@asynccontextmanager
async def _local(folder: Path) -> AsyncIterator[Setting]:
    for name in ("a", "b", "c"):
        (folder / "docs").mkdir(exist_ok=True)
        (folder / "docs" / f"{name}.md").write_text(f"alpha {name}")
    yield "local:docs", {}


@asynccontextmanager
async def _url(folder: Path) -> AsyncIterator[Setting]:
    async with served(page_app()) as address:
        yield f"url:{address}/guide", {}


@asynccontextmanager
async def _context7(folder: Path) -> AsyncIterator[Setting]:
    async with served(context7_app()) as address:
        yield "context7:/acme/widgets", {"EVALPLATFORM_CONTEXT7_URL": address}


SETTINGS: dict[str, Callable[[Path], AbstractAsyncContextManager[Setting]]] = {"local": _local, "url": _url, "context7": _context7}
ABSENT: dict[str, Setting] = {
    "local": ("local:gone", {}),
    "url": ("url:http://127.0.0.1:9/guide", {}),
    "context7": ("context7:/acme/widgets", {"EVALPLATFORM_CONTEXT7_URL": "http://127.0.0.1:9"}),
}


@pytest.fixture(params=document_sources.names())
def kind(request: pytest.FixtureRequest) -> str:
    assert request.param in SETTINGS, f"document source {request.param!r} needs a setting in this suite"
    assert request.param in ABSENT, f"document source {request.param!r} needs an absent address in this suite"
    return str(request.param)


def with_source(kind: str, folder: Path, body: Callable[[DocumentSource], Awaitable[T]]) -> T:
    async def run() -> T:
        async with SETTINGS[kind](folder) as (spec, environment):
            source = open_document_source(spec, base_folder=folder, environment=environment)
            try:
                return await body(source)
            finally:
                await source.aclose()
                await source.aclose()

    return asyncio.run(run())


def test_opening_gives_one_digest_however_often(kind, tmp_path):
    async def body(source: DocumentSource) -> set[str]:
        return {await source.open() for _ in range(3)}

    [digest] = with_source(kind, tmp_path, body)
    assert digest.startswith("sha256:")
    assert len(digest) == 71


def test_its_name_begins_with_its_kind(kind, tmp_path):
    async def body(source: DocumentSource) -> str:
        return source.name

    assert with_source(kind, tmp_path, body).startswith(f"{kind}:")


def test_chunks_are_at_most_top_k_best_first_and_scored_between_0_and_1(kind, tmp_path):
    async def body(source: DocumentSource) -> None:
        await source.open()
        for top_k in (1, 2, 50):
            chunks = await source.retrieve("alpha turns", top_k=top_k)
            scores = [chunk.relevance for chunk in chunks]
            assert 0 < len(chunks) <= top_k
            assert scores == sorted(scores, reverse=True)
            assert all(0 <= score <= 1 for score in scores)
            assert all(chunk.text and chunk.source for chunk in chunks)

    with_source(kind, tmp_path, body)


def test_one_query_gives_one_answer_also_when_asked_at_once(kind, tmp_path):
    async def body(source: DocumentSource) -> None:
        await source.open()
        alone = await source.retrieve("alpha", top_k=3)
        assert await asyncio.gather(*(source.retrieve("alpha", top_k=3) for _ in range(5))) == [alone] * 5

    with_source(kind, tmp_path, body)


@pytest.mark.parametrize("query", ["", "?!", "alpha " * 300, "<b> & +%#é\u2028"])
def test_any_query_is_answered(kind, tmp_path, query):
    async def body(source: DocumentSource) -> None:
        await source.open()
        assert len(await source.retrieve(query, top_k=2)) <= 2

    with_source(kind, tmp_path, body)


def test_asking_before_opening_is_a_retrieval_error(kind, tmp_path):
    async def body(source: DocumentSource) -> None:
        with pytest.raises(RetrievalError, match="has not been opened"):
            await source.retrieve("alpha", top_k=1)

    with_source(kind, tmp_path, body)


def test_what_is_not_there_is_found_at_open(kind, tmp_path):
    spec, environment = ABSENT[kind]

    async def run() -> None:
        source = open_document_source(spec, base_folder=tmp_path, environment=environment)
        try:
            await source.open()
        finally:
            await source.aclose()

    with pytest.raises(EvalplatformError):
        asyncio.run(run())

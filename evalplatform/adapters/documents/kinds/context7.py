"""`context7:<library>`: the documentation service Context7, over its HTTP API.

API as published at context7.com/docs/api-guide (v2): `GET /api/v2/libs/search?libraryName=&query=` gives `results` with `id`;
`GET /api/v2/context?libraryId=&query=&type=json` gives `codeSnippets` and `infoSnippets`; a key goes into `Authorization: Bearer`.
"""

from collections.abc import Iterator
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, ValidationError

from evalplatform.adapters.documents.http import fetch, new_session
from evalplatform.adapters.documents.source_kind import SourceContext, document_sources
from evalplatform.kernel.digests import json_digest
from evalplatform.kernel.errors import ArmSpecError, RetrievalError, nearest_name
from evalplatform.ports.documents import Chunk
from evalplatform.project.deployment import variable_of

if TYPE_CHECKING:
    from aiohttp import ClientSession

DEFAULT_URL = "https://context7.com"
URL_VARIABLE = variable_of("context7_url")
KEY_VARIABLE = "CONTEXT7_API_KEY"


class _Reply(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class _Library(_Reply):
    id: str


class _Libraries(_Reply):
    results: list[_Library]


class _Code(_Reply):
    language: str = ""
    code: str


class _CodeSnippet(_Reply):
    codeTitle: str = ""  # noqa: N815 - the service's spelling
    codeDescription: str = ""  # noqa: N815
    codeId: str | None = None  # noqa: N815
    codeList: list[_Code]  # noqa: N815


class _InfoSnippet(_Reply):
    pageId: str | None = None  # noqa: N815
    breadcrumb: str | None = None
    content: str


class _Context(_Reply):
    codeSnippets: list[_CodeSnippet] = []  # noqa: N815
    infoSnippets: list[_InfoSnippet] = []  # noqa: N815


class _Problem(_Reply):
    message: str = ""


R = TypeVar("R", bound=_Reply)


class Context7Source:
    """One library's documentation, searched by the service for each question.

    Args:
        library: a library id (`/owner/name`, `/owner/name/version`), or `owner/name`, whose id the service is asked for.
        base_url: the service's address.
        api_key: sent with every request, or None.
    """

    def __init__(self, library: str, *, base_url: str, api_key: str | None) -> None:
        self.name = f"context7:{library}"
        self._library = library
        self._base_url = base_url
        self._api_key = api_key
        self._library_id: str | None = None
        self._session: ClientSession | None = None

    async def open(self) -> str:
        """Find the library, once, and return the digest of the service's address and the library id.

        The service cannot be read as a whole, so a change of its content changes no digest; pin a version in the id where that matters.

        Raises:
            RetrievalError: the service does not answer, refuses the key, or does not have the library.
        """
        if self._library_id is None:
            self._library_id = await self._find_library()
        return json_digest({"source": "context7", "base_url": self._base_url, "library_id": self._library_id})

    async def retrieve(self, query: str, *, top_k: int) -> list[Chunk]:
        """Return at most `top_k` snippets in the service's order, code and prose in turn.

        The service ranks but gives no scores, so `relevance` is the reciprocal of the place: 1, 1/2, 1/3.

        Raises:
            RetrievalError: the source has not been opened, or the service could not answer.
        """
        if self._library_id is None:
            raise RetrievalError(f"{self.name} has not been opened.")
        context = await self._get("/api/v2/context", _Context, libraryId=self._library_id, query=query, type="json")
        found = list(_in_turn(context))[:top_k]
        return [
            Chunk(source=source or self._library_id, text=text, relevance=1 / place) for place, (source, text) in enumerate(found, start=1)
        ]

    async def aclose(self) -> None:
        """Close the connection; the source can be used again, by a new one."""
        if self._session is not None:
            session, self._session = self._session, None
            await session.close()

    async def _find_library(self) -> str:
        if self._library.startswith("/"):
            await self._get("/api/v2/context", _Context, libraryId=self._library, query=self._library.split("/")[2], type="json")
            return self._library
        name = self._library.split("/")[-1]
        wanted = f"/{self._library}"
        ids = [library.id for library in (await self._get("/api/v2/libs/search", _Libraries, libraryName=name, query=name)).results]
        for library_id in ids:
            if library_id.casefold() == wanted.casefold():
                return library_id
        near = nearest_name(wanted, ids)
        hint = f" Did you mean {near!r}?" if near else ""
        raise RetrievalError(f"{self.name}: the service knows no library {wanted!r}.{hint}")

    async def _get(self, path: str, reply_type: type[R], **params: str) -> R:
        if self._session is None:
            self._session = new_session({"Authorization": f"Bearer {self._api_key}"} if self._api_key else None)
        fetched = await fetch(self._session, self._base_url + path, what=self.name, params=params)
        if fetched.status != 200:
            raise RetrievalError(f"{self.name} answered with status {fetched.status}{_said(fetched.body)}.")
        try:
            return reply_type.model_validate_json(fetched.body)
        except ValidationError as error:
            raise RetrievalError(f"{self.name} answered with something that is no {path} reply.") from error


def _in_turn(context: _Context) -> Iterator[tuple[str | None, str]]:
    """Yield (source, text) of the snippets, code and prose alternating, each list in the service's order."""
    code = [(snippet.codeId, _code_text(snippet)) for snippet in context.codeSnippets]
    prose = [
        (snippet.pageId, "\n\n".join(part for part in (snippet.breadcrumb, snippet.content) if part)) for snippet in context.infoSnippets
    ]
    return (pair for pair in chain.from_iterable(zip_longest(code, prose)) if pair is not None)


def _code_text(snippet: _CodeSnippet) -> str:
    blocks = [f"```{code.language}\n{code.code}\n```" for code in snippet.codeList]
    return "\n\n".join(part for part in (snippet.codeTitle, snippet.codeDescription, *blocks) if part)


def _said(body: bytes) -> str:
    try:
        message = _Problem.model_validate_json(body).message.strip()
    except ValidationError:
        return ""
    return f": {message.rstrip('.')[:200]}" if message else ""


@document_sources.register("context7")
def context7_source(argument: str, *, context: SourceContext) -> Context7Source:
    """Return the source for one library; address and key come from the environment."""
    if len([step for step in argument.split("/") if step]) < 2:
        raise ArmSpecError(f"needs a library, as owner/name or /owner/name, not {argument!r}.", field="document source 'context7'")
    base_url = (context.environment.get(URL_VARIABLE) or DEFAULT_URL).rstrip("/")
    if urlsplit(base_url).scheme not in {"http", "https"}:
        raise ArmSpecError(f"must be an http or https address, not {base_url!r}.", field=URL_VARIABLE)
    return Context7Source(argument, base_url=base_url, api_key=context.environment.get(KEY_VARIABLE) or None)

"""`url:<address>`: one web page, fetched once, as one chunk."""

from urllib.parse import urlsplit

from evalplatform.adapters.documents.http import Fetched, fetch, new_session
from evalplatform.adapters.documents.source_kind import SourceContext, document_sources
from evalplatform.kernel.digests import text_digest
from evalplatform.kernel.errors import ArmSpecError, RetrievalError
from evalplatform.ports.documents import Chunk
from evalplatform.retrieval.documents import CHUNK_LIMIT_CHARS
from evalplatform.retrieval.html_text import strip_html
from evalplatform.retrieval.lexical import lexical_score

HTML_MEDIA_TYPES = frozenset({"text/html", "application/xhtml+xml"})


class PageSource:
    """A page as it was when the run began: every question of a run is given the same text."""

    def __init__(self, url: str) -> None:
        self.name = f"url:{url}"
        self._url = url
        self._text: str | None = None

    async def open(self) -> str:
        """Fetch the page, once, and return the digest of its text.

        Raises:
            RetrievalError: it cannot be fetched, is no text, or holds none.
        """
        if self._text is None:
            async with new_session() as session:
                page = await fetch(session, self._url, what=self.name, follow_redirects=True)
            self._text = page_text(page, what=self.name)
        return text_digest(self._text)

    async def retrieve(self, query: str, *, top_k: int) -> list[Chunk]:
        """Return the page as the only chunk, scored by the query's words that it holds.

        Raises:
            RetrievalError: the source has not been opened.
        """
        if self._text is None:
            raise RetrievalError(f"{self.name} has not been opened.")
        return [Chunk(source=self._url, text=self._text, relevance=lexical_score(query, self._text))][:top_k]

    async def aclose(self) -> None:
        """Do nothing: no connection outlives `open`."""


def page_text(page: Fetched, *, what: str) -> str:
    """Return the first 32,000 characters of a fetched page's text, HTML stripped.

    Raises:
        RetrievalError: the status is not 200, or it is no text, or an empty one.
    """
    if page.status != 200:
        raise RetrievalError(f"{what} answered with status {page.status}.")
    if page.media_type not in HTML_MEDIA_TYPES and not page.media_type.startswith("text/"):
        raise RetrievalError(f"{what} is {page.media_type}, not a page of text.")
    text = strip_html(page.text()) if page.media_type in HTML_MEDIA_TYPES else page.text()
    if not text.strip():
        raise RetrievalError(f"{what} holds no text.")
    return text[:CHUNK_LIMIT_CHARS]


@document_sources.register("url")
def page_source(argument: str, *, context: SourceContext) -> PageSource:
    """Return the source over one page; only http and https, and no password in the address, since names of sources are published."""
    try:
        parts = urlsplit(argument)
        host = parts.hostname
    except ValueError:
        parts, host = urlsplit(""), None
    if parts.scheme not in {"http", "https"} or not host:
        raise ArmSpecError(f"needs an http or https address, not {argument!r}.", field="document source 'url'")
    if parts.username is not None or parts.password is not None:
        raise ArmSpecError("the address must not hold a user name or password: it stands in every report.", field="document source 'url'")
    return PageSource(argument)

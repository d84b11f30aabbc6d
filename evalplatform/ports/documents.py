"""The document source port: chunks for a query, from a folder, a page, a service."""

from typing import Protocol

from evalplatform.kernel.values import Value


class Chunk(Value):
    """A piece of documentation. `relevance` is in [0, 1], as last scored: by its source, or by the reranker after it."""

    source: str
    text: str
    relevance: float


class DocumentSource(Protocol):
    """Documentation for a docs arm. It is opened and checked before the first model call."""

    @property
    def name(self) -> str:
        """How reports name it, such as `local:docs`."""
        ...

    async def open(self) -> str:
        """Connect or read, once, and return the digest of what is served.

        A source whose content cannot be read as a whole (a remote search) returns the digest of its address and library id.

        Raises:
            TreatmentFileError: a folder that is missing or holds no readable document.
            RetrievalError: a server that does not answer.
        """
        ...

    async def retrieve(self, query: str, *, top_k: int) -> list[Chunk]:
        """Return at most `top_k` chunks, best first, ties in a fixed order.

        Raises:
            RetrievalError: the source could not answer; the answer becomes a failed row, never an unaided one counted as treated.
        """
        ...

    async def aclose(self) -> None:
        """Close connections; calling it twice is fine."""
        ...

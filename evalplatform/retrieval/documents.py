"""The rule that makes chunks of local files: one file, one chunk (treatment-arms spec, section 3)."""

from collections.abc import Sequence
from heapq import nsmallest
from pathlib import PurePosixPath

from evalplatform.kernel.values import Value
from evalplatform.ports.documents import Chunk
from evalplatform.retrieval.html_text import strip_html
from evalplatform.retrieval.lexical import LexicalIndex

CHUNK_RULE = "one-file-one-chunk-v1"
CHUNK_LIMIT_CHARS = 32_000
DOCUMENT_LIMIT_BYTES = 512 * 1024
HTML_SUFFIXES = frozenset({".html", ".htm"})
DOCUMENT_SUFFIXES = frozenset({".md", ".rst", ".txt"}) | HTML_SUFFIXES


class Document(Value):
    """One readable file: its path relative to the folder, in POSIX spelling, and the text its chunk holds."""

    path: str
    text: str


def is_document(path: str) -> bool:
    """Return whether the file's ending says it is documentation (.md .rst .txt .html .htm, in any case)."""
    return PurePosixPath(path).suffix.lower() in DOCUMENT_SUFFIXES


def document(path: str, content: str) -> Document:
    """Return the document of a file's content: HTML stripped where it is HTML, then the first 32,000 characters."""
    text = strip_html(content) if PurePosixPath(path).suffix.lower() in HTML_SUFFIXES else content
    return Document(path=path, text=text[:CHUNK_LIMIT_CHARS])


class DocumentIndex:
    """Documents that are read and lower-cased once and ranked for many queries."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self._documents = tuple(documents)
        self._lexical = LexicalIndex([document.text for document in self._documents])

    def __len__(self) -> int:
        return len(self._documents)

    def search(self, query: str, *, top_k: int) -> list[Chunk]:
        """Return the `top_k` documents of the highest lexical score as chunks, best first, equal scores by path.

        Documents that share no word with the query count too, with score 0: dropping them is the reranker's decision.
        """
        scored = zip(self._lexical.scores(query), self._documents, strict=True)
        best = nsmallest(top_k, scored, key=lambda pair: (-pair[0], pair[1].path))
        return [Chunk(source=document.path, text=document.text, relevance=score) for score, document in best]

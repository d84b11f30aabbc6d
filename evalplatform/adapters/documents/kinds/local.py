"""`local:<path>`: a folder of documentation, one chunk a file."""

import asyncio
import logging
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from evalplatform.adapters.documents.source_kind import SourceContext, document_sources
from evalplatform.kernel.digests import bytes_digest, json_digest
from evalplatform.kernel.errors import ArmSpecError, RetrievalError, TreatmentFileError
from evalplatform.ports.documents import Chunk
from evalplatform.retrieval.documents import DOCUMENT_LIMIT_BYTES, DOCUMENT_SUFFIXES, Document, DocumentIndex, document, is_document
from evalplatform.retrieval.files import files_below, nearest_existing

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Corpus:
    """A folder as read: its index, the digest over sorted relative paths and bytes, and how many files were skipped for which reason."""

    index: DocumentIndex
    digest: str
    skipped: Mapping[str, int]


class LocalDocuments:
    """A folder's documents, read once at `open` and ranked in memory for every query."""

    def __init__(self, path: str, *, base_folder: Path) -> None:
        self.name = f"local:{path}"
        self._path = path
        self._base_folder = base_folder
        self._corpus: Corpus | None = None

    @property
    def skipped(self) -> Mapping[str, int]:
        """How many documentation files `open` left out, by reason: `too_large` (over 512 KiB) or `undecodable` (not UTF-8)."""
        return self._corpus.skipped if self._corpus is not None else {}

    async def open(self) -> str:
        """Read the folder, once, and return the digest of the documents that are served.

        Raises:
            TreatmentFileError: the folder is missing, is no folder, cannot be read, or holds no readable document.
        """
        if self._corpus is None:
            self._corpus = await asyncio.to_thread(read_corpus, self._path, base_folder=self._base_folder)
            for reason, count in self._corpus.skipped.items():
                logger.warning("%s: %d documentation file(s) skipped: %s", self.name, count, reason)
        return self._corpus.digest

    async def retrieve(self, query: str, *, top_k: int) -> list[Chunk]:
        """Return the `top_k` documents of the highest lexical score, equal scores by path.

        Raises:
            RetrievalError: the source has not been opened.
        """
        if self._corpus is None:
            raise RetrievalError(f"{self.name} has not been opened.")
        return self._corpus.index.search(query, top_k=top_k)

    async def aclose(self) -> None:
        """Do nothing: the documents stay in memory and the source usable."""


def read_corpus(path: str, *, base_folder: Path) -> Corpus:
    """Return the folder's documents, digest and skipped files.

    The digest is over the relative paths and bytes of the documents that are served, so it is the same on every machine and changes with
    any of them. Skipped files are not served and not in it.

    Raises:
        TreatmentFileError: the folder is missing, is no folder, cannot be read, or holds no readable document.
    """
    folder = base_folder / path
    try:
        if not folder.exists():
            nearest = nearest_existing(path, base_folder=base_folder)
            raise TreatmentFileError("the documents folder does not exist.", file=path, nearest=nearest)
        if not folder.is_dir():
            raise TreatmentFileError("is a file; a local document source is a folder.", file=path)
        return _read_folder(folder, shown_as=path)
    except OSError as error:
        raise TreatmentFileError(f"cannot be read ({error.strerror}).", file=error.filename or path) from error


def _read_folder(folder: Path, *, shown_as: str) -> Corpus:
    documents: list[Document] = []
    digests: list[list[str]] = []
    skipped: Counter[str] = Counter()
    for relative, path in files_below(folder):
        if not is_document(relative):
            continue
        if path.stat().st_size > DOCUMENT_LIMIT_BYTES:
            skipped["too_large"] += 1
            continue
        content = path.read_bytes()
        try:
            documents.append(document(relative, content.decode("utf-8-sig")))
        except UnicodeDecodeError:
            skipped["undecodable"] += 1
            continue
        digests.append([relative, bytes_digest(content)])
    if not documents:
        endings = " ".join(sorted(DOCUMENT_SUFFIXES))
        left_out = "".join(f" {count} skipped: {reason}." for reason, count in sorted(skipped.items()))
        raise TreatmentFileError(f"holds no readable document ({endings}).{left_out}", file=shown_as)
    return Corpus(DocumentIndex(documents), json_digest(digests), MappingProxyType(dict(sorted(skipped.items()))))


@document_sources.register("local")
def local_documents(argument: str, *, context: SourceContext) -> LocalDocuments:
    """Return the source over a folder; the path is relative to the base folder."""
    if not argument:
        raise ArmSpecError("needs a folder: local:<path>.", field="document source 'local'")
    return LocalDocuments(argument, base_folder=context.base_folder)

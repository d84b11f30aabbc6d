"""The registry of document source kinds, and the one function that turns a source's spec into a source."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from evalplatform.kernel.errors import ArmSpecError, nearest_name
from evalplatform.kernel.registry import Registry
from evalplatform.ports.documents import DocumentSource

LATER_SOURCES = frozenset({"mcp"})
"""Source kinds of the arm spec format that this version does not have; they are told apart from typing mistakes."""


@dataclass(frozen=True, kw_only=True)
class SourceContext:
    """What a source may know of its surroundings: where relative paths start, and the environment's variables."""

    base_folder: Path
    environment: Mapping[str, str] = field(default_factory=dict)


class DocumentSourceFactory(Protocol):
    """Makes a source of one kind. It connects to nothing and reads no document; that is `DocumentSource.open`."""

    def __call__(self, argument: str, *, context: SourceContext) -> DocumentSource:
        """Return the source for the text after the spec's first colon (empty where there is none).

        Raises:
            ArmSpecError: the argument makes no sense for the kind.
        """
        ...


document_sources: Registry[DocumentSourceFactory] = Registry(
    "document_sources", noun="document source", kinds_package="evalplatform.adapters.documents.kinds"
)


def open_document_source(spec: str, *, base_folder: Path, environment: Mapping[str, str]) -> DocumentSource:
    """Return the document source of a spec such as `local:docs`, `url:https://example.org/guide` or `context7:/owner/name`.

    Args:
        spec: the source kind, a colon, and its argument.
        base_folder: where relative paths start.
        environment: addresses and keys of services are looked up here.

    Raises:
        ArmSpecError: no such source kind (with the nearest), or an argument that makes no sense for it.
    """
    kind, _, argument = spec.strip().partition(":")
    if kind not in document_sources:
        known = document_sources.names()
        listed = ", ".join(known)
        if kind in LATER_SOURCES:
            raise ArmSpecError(f"is not available in this version (available: {listed}).", field=f"document source {kind!r}")
        raise ArmSpecError(f"unknown document source {kind!r} (known: {listed}).", nearest=nearest_name(kind, known))
    return document_sources.get(kind)(argument.strip(), context=SourceContext(base_folder=base_folder, environment=environment))

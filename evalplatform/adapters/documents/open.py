"""From a document source's spec to the source."""

import os
from collections.abc import Mapping
from pathlib import Path

from evalplatform.adapters.documents.source_kind import SourceContext, document_sources
from evalplatform.kernel.errors import ArmSpecError, nearest_name
from evalplatform.ports.documents import DocumentSource

LATER_SOURCES = frozenset({"mcp"})
"""Source kinds of the arm spec format that this version does not have; they are told apart from typing mistakes."""


def open_document_source(spec: str, *, base_folder: Path, environment: Mapping[str, str] | None = None) -> DocumentSource:
    """Return the document source of a spec such as `local:docs`, `url:https://example.org/guide` or `context7:/owner/name`.

    Args:
        spec: the source kind, a colon, and its argument.
        base_folder: where relative paths start.
        environment: where addresses and keys of services are looked up; None is the process environment.

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
    context = SourceContext(base_folder=base_folder, environment=os.environ if environment is None else environment)
    return document_sources.get(kind)(argument.strip(), context=context)

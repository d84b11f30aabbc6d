"""What a document source kind is, and the registry that kinds join."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from evalplatform.kernel.registry import Registry
from evalplatform.ports.documents import DocumentSource


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

"""What an answer's metadata keeps of its retrieval. Writer and reader stand together, so that they stay inverse."""

from collections.abc import Mapping, Sequence

from pydantic import Field, JsonValue

from evalplatform.kernel.values import Value
from evalplatform.ports.documents import Chunk

_SOURCES = "retrieved_sources"
_TOP_K = "top_k"
_PARTS = "treatments"  # a combined arm keeps the metadata of each part in a list of this name


class RecordedRetrieval(Value):
    """The first stage of one retrieval: the sources in rank order, before reranking, and how many were asked for."""

    sources: tuple[str, ...]
    top_k: int = Field(ge=1)


def retrieval_record(found: Sequence[Chunk], *, top_k: int) -> dict[str, JsonValue]:
    """Return the metadata keys that record a first stage: every source in rank order, and how many were asked for."""
    return {_TOP_K: top_k, _SOURCES: [chunk.source for chunk in found]}


def recorded_retrievals(metadata: Mapping[str, JsonValue]) -> tuple[RecordedRetrieval, ...]:
    """Return every first stage that the metadata records: one for a docs arm, one for each retrieving part of a combined arm.

    Metadata of other tools may use the same keys for something else; what has another shape is no record of a retrieval.
    """
    sources, top_k, parts = metadata.get(_SOURCES), metadata.get(_TOP_K), metadata.get(_PARTS)
    found: list[RecordedRetrieval] = []
    if isinstance(sources, list) and isinstance(top_k, int) and top_k >= 1:
        named = [source for source in sources if isinstance(source, str)]
        if len(named) == len(sources):
            found.append(RecordedRetrieval(sources=tuple(named), top_k=top_k))
    for part in parts if isinstance(parts, list) else ():
        if isinstance(part, dict):
            found += recorded_retrievals(part)
    return tuple(found)

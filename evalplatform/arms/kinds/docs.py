"""`docs[:<source>]`: documentation retrieved for each question and put before it."""

from collections.abc import Sequence

from pydantic import JsonValue

from evalplatform.arms.kind import ArmBuildContext, ArmKind, arm_kinds
from evalplatform.arms.library_ids import service_library
from evalplatform.arms.treatment import AgentConfig
from evalplatform.kernel.digests import json_digest
from evalplatform.kernel.material import SEPARATOR, JudgeMaterial
from evalplatform.ports.documents import Chunk, DocumentSource
from evalplatform.questions.records import Question
from evalplatform.retrieval.documents import CHUNK_RULE
from evalplatform.retrieval.recorded import retrieval_record
from evalplatform.retrieval.rerank import KEPT_CHUNKS, RERANKER, rerank

SERVICE = "context7"


class DocsTreatment:
    """Takes `top_k` chunks, reranks them and injects at most three."""

    kind = "docs"
    name = "docs"
    warnings: tuple[str, ...] = ()

    def __init__(self, source: DocumentSource, *, top_k: int, rerank_threshold: float) -> None:
        self._source = source
        self._top_k = top_k
        self._rerank_threshold = rerank_threshold

    async def open(self) -> dict[str, str]:
        """Open the source and return the digests of what it serves and of how chunks are chosen from it."""
        documents = await self._source.open()
        rules: dict[str, JsonValue] = {
            "chunks": CHUNK_RULE,
            "reranker": RERANKER,
            "top_k": self._top_k,
            "rerank_threshold": self._rerank_threshold,
            "kept": KEPT_CHUNKS,
        }
        return {"documents": documents, "retrieval": json_digest(rules)}

    async def prepare(self, question: Question) -> AgentConfig:
        """Return the chunks that passed the reranker; none is a plain prompt, and no error.

        Raises:
            RetrievalError: the source could not answer.
        """
        found = await self._source.retrieve(question.question, top_k=self._top_k)
        kept = rerank(question.question, found, threshold=self._rerank_threshold)
        return AgentConfig(
            contexts=tuple(chunk.text for chunk in kept),
            chunks=kept,
            material=JudgeMaterial(injected=SEPARATOR.join(chunk.text for chunk in kept)),
            metadata=self._metadata(found, kept),
        )

    async def aclose(self) -> None:
        """Close the source."""
        await self._source.aclose()

    def _metadata(self, found: Sequence[Chunk], kept: Sequence[Chunk]) -> dict[str, JsonValue]:
        return {
            "arm_kind": "docs",
            **retrieval_record(found, top_k=self._top_k),
            "raw_count": len(found),
            "after_rerank": len(kept),
            "top_score": round(kept[0].relevance, 3) if kept else None,
            "error": None,  # a source that fails raises, and the failed row carries the reason
            "document_source": self._source.name,
            "reranker": RERANKER,
        }


def build(argument: str, *, context: ArmBuildContext) -> DocsTreatment:
    """Return the docs treatment over the source that the argument names.

    A name of the product's own document sources stands for the source it is registered with. The documentation service is told which
    library is meant.

    Raises:
        ArmSpecError: no such source, or no library that the service could be asked about.
    """
    source_spec = context.document_sources.get(argument, argument)
    if source_spec == SERVICE:
        source_spec = f"{SERVICE}:{service_library(context, spec=f'docs:{argument}')}"
    return DocsTreatment(context.open_document_source(source_spec), top_k=context.top_k, rerank_threshold=context.rerank_threshold)


arm_kinds.register("docs")(ArmKind(build=build, argument="optional", meaning="document source", default=SERVICE))

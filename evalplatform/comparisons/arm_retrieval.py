"""How much of what questions require each arm brought back: before reranking, and among what it kept for the model."""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet

from evalplatform.answering.records import PREPARE_FAILED, ArmAnswer
from evalplatform.comparisons.records import ArmRetrieval
from evalplatform.kernel.values import Value
from evalplatform.retrieval.measures import RetrievedDocuments, document_id, retrieval_measures
from evalplatform.retrieval.recorded import recorded_retrievals
from evalplatform.retrieval.rerank import KEPT_CHUNKS

RequiredDocuments = Mapping[str, AbstractSet[str]]
"""The ids of the documents that each question requires; a question that is not there requires none."""


class AnswerRetrieval(Value):
    """What one answer's retrieval brought: document ids in rank order, retrieved and kept, and how many of each there could have been."""

    retrieved: tuple[str, ...]
    retrieved_limit: int
    kept: tuple[str, ...]
    kept_limit: int


def answer_retrieval(answer: ArmAnswer) -> AnswerRetrieval | None:
    """Return what the answer's retrieval brought, or None where nothing was retrieved.

    Where several parts of a combined arm retrieve, their documents stand one part after the other and their limits add up.
    """
    stages = recorded_retrievals(answer.metadata)
    if not stages:
        return None
    return AnswerRetrieval(
        retrieved=tuple(document_id(source) for stage in stages for source in stage.sources),
        retrieved_limit=sum(stage.top_k for stage in stages),
        kept=tuple(document_id(chunk.source) for chunk in answer.context_chunks),
        kept_limit=KEPT_CHUNKS * len(stages),
    )


def arm_retrievals(
    arms: Sequence[str], *, answers: Iterable[ArmAnswer], required: RequiredDocuments, clusters: Mapping[str, str] | None = None
) -> dict[str, ArmRetrieval]:
    """Return the recall and hits of every arm that retrieves, over the questions that require documents; empty where none does.

    An arm counts as retrieving when any of its answers says so, or failed while it was prepared. Draws share one retrieval, so that the
    first recorded one of a question counts. A question whose retrieval failed, or was never tried, is not measured: `questions` and the
    measures' `measured` then differ.

    Args:
        arms: the arms, in order.
        answers: rows of any draws.
        required: what each question requires.
        clusters: the cluster label of every question, where questions depend on each other.
    """
    needing = {question for question, documents in required.items() if documents}
    found: dict[str, dict[str, AnswerRetrieval]] = {}
    for answer in answers:
        if answer.question_id not in needing:
            continue
        retrieval = answer_retrieval(answer)
        if retrieval is not None:
            found.setdefault(answer.arm, {}).setdefault(answer.question_id, retrieval)
        elif (answer.reason or "").startswith(PREPARE_FAILED):
            found.setdefault(answer.arm, {})
    return {arm: _arm_retrieval(arm, found[arm], len(needing), required, clusters) for arm in arms if arm in found}


def _arm_retrieval(
    arm: str, found: Mapping[str, AnswerRetrieval], questions: int, required: RequiredDocuments, clusters: Mapping[str, str] | None
) -> ArmRetrieval:
    if not found:
        return ArmRetrieval(arm=arm, questions=questions, retrieved=None, kept=None)
    labels = None if clusters is None else [clusters[question] for question in found]
    needs = {question: frozenset(required[question]) for question in found}
    return ArmRetrieval(
        arm=arm,
        questions=questions,
        retrieved=retrieval_measures(
            [RetrievedDocuments(retrieved=row.retrieved, required=needs[question]) for question, row in found.items()],
            k=max(row.retrieved_limit for row in found.values()),
            clusters=labels,
        ),
        kept=retrieval_measures(
            [RetrievedDocuments(retrieved=row.kept, required=needs[question]) for question, row in found.items()],
            k=max(row.kept_limit for row in found.values()),
            clusters=labels,
        ),
    )

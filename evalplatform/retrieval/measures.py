"""Retrieval measures: of the documents a question requires, how many did a document source bring back."""

from collections.abc import Collection, Iterable, Sequence
from pathlib import PurePosixPath

from pydantic import Field

from evalplatform.kernel.errors import InputError
from evalplatform.kernel.values import Value
from evalplatform.stats.mean import estimate_mean, plain_mean
from evalplatform.stats.wilson import wilson_interval


class RetrievedDocuments(Value):
    """What one question got and what it needed. `retrieved` is in rank order, best first; ids as `document_id` gives them."""

    retrieved: tuple[str, ...]
    required: frozenset[str]


class RetrievalMeasures(Value):
    """Recall and hits of one document source over a question set.

    `measured` counts the questions that require any document: the only ones that enter the rates, which are None when there is no such
    question. `best_recall_rate` is the mean recall of a perfect source: below 1 where questions require more than `k` documents. Intervals
    are 95%: of the mean recall, Student's over questions (or clustered), cut at 0 and 1 and None below two questions; of the hit rate,
    Wilson's, which supposes independent questions and is None where they are clustered.
    """

    k: int = Field(ge=1)
    questions: int
    measured: int
    mean_recall_rate: float | None
    recall_ci_lo_rate: float | None
    recall_ci_hi_rate: float | None
    best_recall_rate: float | None
    hits: int
    hit_rate: float | None
    hit_ci_lo_rate: float | None
    hit_ci_hi_rate: float | None


def document_id(source: str) -> str:
    """Return the id of the document that a chunk's source names: the file name without its folder and its last extension.

    Example:
        >>> document_id("cards/gold_001.md")
        'gold_001'
    """
    return PurePosixPath(source).stem


def recall_at_k(retrieved: Sequence[str], required: Collection[str], *, k: int) -> float | None:
    """Return the share of the required documents that stand among the first `k` retrieved.

    `k` counts ranks, so a document retrieved twice takes two places and is found once. Where more than `k` documents are required, the best
    possible value is below 1: it is not rescaled.

    Args:
        retrieved: document ids in rank order, best first; fewer than `k` is fine.
        required: the ids that a full answer needs.
        k: how many ranks to look at.

    Returns:
        A rate in [0, 1], or None when nothing is required: the question then says nothing about retrieval.

    Raises:
        InputError: if `k` is below 1.

    Example:
        >>> recall_at_k(["a", "x", "b"], {"a", "b"}, k=2)
        0.5

    References:
        Manning, Raghavan and Schütze, Introduction to Information Retrieval, section 8.4, 2008.
    """
    needed = set(required)
    found = needed.intersection(_first(retrieved, k))
    return len(found) / len(needed) if needed else None


def hit_at_k(retrieved: Sequence[str], required: Collection[str], *, k: int) -> bool | None:
    """Say whether any required document stands among the first `k` retrieved; None when nothing is required.

    Raises:
        InputError: if `k` is below 1.
    """
    recall = recall_at_k(retrieved, required, k=k)
    return None if recall is None else recall > 0


def retrieval_measures(rows: Iterable[RetrievedDocuments], *, k: int, clusters: Sequence[str] | None = None) -> RetrievalMeasures:
    """Return recall@k and hit@k over the questions, each question weighing the same (a macro average).

    Args:
        rows: one a question.
        k: how many ranks to look at.
        clusters: the cluster of each row, where questions depend on each other.

    Raises:
        InputError: if `k` is below 1.
        ValueError: rows and clusters differ in number.
    """
    _first((), k)
    all_rows = list(rows)
    labels = [""] * len(all_rows) if clusters is None else clusters
    measured = [(row, label) for row, label in zip(all_rows, labels, strict=True) if row.required]
    recalls = [recall for row, _ in measured if (recall := recall_at_k(row.retrieved, row.required, k=k)) is not None]
    mean = estimate_mean(recalls, clusters=None if clusters is None else [label for _, label in measured])
    hits = sum(recall > 0 for recall in recalls)
    hit = None if clusters is not None else wilson_interval(hits, len(recalls))
    return RetrievalMeasures(
        k=k,
        questions=len(all_rows),
        measured=len(measured),
        mean_recall_rate=plain_mean(recalls) if recalls else None,
        recall_ci_lo_rate=None if mean is None else max(0.0, mean.ci_lo),
        recall_ci_hi_rate=None if mean is None else min(1.0, mean.ci_hi),
        best_recall_rate=plain_mean([min(1.0, k / len(row.required)) for row, _ in measured]) if measured else None,
        hits=hits,
        hit_rate=hits / len(recalls) if recalls else None,
        hit_ci_lo_rate=None if hit is None else hit.ci_lo,
        hit_ci_hi_rate=None if hit is None else hit.ci_hi,
    )


def _first(retrieved: Sequence[str], k: int) -> Sequence[str]:
    if k < 1:
        raise InputError(f"k is {k}, but it counts ranks and starts at 1.", field="k")
    return retrieved[:k]

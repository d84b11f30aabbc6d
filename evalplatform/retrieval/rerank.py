"""The second stage: scores a handful of chunks against the question and keeps the best that pass a threshold."""

import re
from collections.abc import Sequence

from evalplatform.ports.documents import Chunk

RERANKER = "lexical-v1"
KEPT_CHUNKS = 3

_LONG_TOKEN = re.compile(r"\b[^\W\d]\w{2,}")
_CODE_LIKE = re.compile(r"\b(?:class|function|namespace|template)\b|\bstd::", re.IGNORECASE)


def rerank(question: str, chunks: Sequence[Chunk], *, threshold: float) -> tuple[Chunk, ...]:
    """Return at most 3 chunks that score at least the threshold, best first, equal scores in the order given.

    Their `relevance` is this reranker's score, since it is the score that decided. The reranker's name is `lexical-v1`; a change of the
    rule takes a new name, so that a recorded run says which rule it used.
    """
    scored = [chunk.with_changes(relevance=rerank_score(question, chunk.text)) for chunk in chunks]
    passing = [chunk for chunk in scored if chunk.relevance >= threshold]
    return tuple(sorted(passing, key=lambda chunk: -chunk.relevance)[:KEPT_CHUNKS])


def rerank_score(question: str, text: str) -> float:
    """Return how well a text suits a question, in [0, 1].

    0.6 times the share of the question's distinct words that the text holds as words (three or more characters, no digit first), plus 0.2
    times the length score, plus 0.2 if both hold a code-like word (class, function, namespace, template, a `std::` name). A question
    without such words scores 0.

    Example:
        >>> round(rerank_score("alpha beta", "alpha"), 2)
        0.32

    References:
        Weights, words and word list are those of other arms.v1 producers, so that scores agree; letters of every script count here, not
        ASCII ones alone (treatment-arms spec, section 3).
    """
    wanted = set(_LONG_TOKEN.findall(question.lower()))
    if not wanted:
        return 0.0
    shared = len(wanted & set(_LONG_TOKEN.findall(text.lower()))) / len(wanted)
    both_code = bool(_CODE_LIKE.search(question) and _CODE_LIKE.search(text))
    return min(1.0, 0.6 * shared + 0.2 * length_score(len(text)) + 0.2 * both_code)


def length_score(chars: int) -> float:
    """Return how much a text of that many characters is favoured: 0.1 below 100, then rising to 0.5 at 300 and to 1 at 1,000 and above."""
    if chars < 100:
        return 0.1
    if chars < 300:
        return chars / 300 * 0.5
    return min(1.0, 0.5 + 0.5 * (chars - 300) / 700)

"""An inverted BM25 index: deterministic order, and no hit that shares no term with the query."""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

K1 = 1.5
B = 0.75

# A term is a run of letters, digits and underscores. Kana and Han are written without spaces, so each such character is a term.
_TERM = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W\u3040-\u30ff\u3400-\u9fff]+")


def bm25_terms(text: str) -> list[str]:
    """Return the terms of a text in order, case-folded, repeats kept."""
    return _TERM.findall(text.casefold())


@dataclass(frozen=True, slots=True)
class Bm25Hit:
    """One text that shares a term with the query. `position` is its place among the indexed texts; `score` is above 0."""

    position: int
    score: float


class Bm25Index:
    """BM25 over a fixed list of texts.

    The convention is Lucene's (8.0 and later): idf = ln(1 + (N - n + 0.5) / (n + 0.5)), which is never negative, and
    tf / (tf + k1 * (1 - b + b * length / mean length)) without the constant factor k1 + 1. A term that a query repeats counts as often as
    it stands there.

    Args:
        texts: what to index, in the order that breaks ties.
        k1: how soon repeats of a term stop adding.
        b: how much long texts are held back, 0 to 1.
        terms: how a text becomes terms; the query is read the same way.

    References:
        Robertson and Zaragoza, Foundations and Trends in Information Retrieval 3(4), 2009. Kamphuis et al., ECIR 2020, for the variants.
    """

    def __init__(self, texts: Iterable[str], *, k1: float = K1, b: float = B, terms: Callable[[str], list[str]] = bm25_terms) -> None:
        self._terms = terms
        self._places: dict[str, list[int]] = {}  # term -> the text of each occurrence, in order; repeats are how often it stands there
        lengths: list[int] = []
        for position, text in enumerate(texts):
            words = terms(text)
            lengths.append(len(words))
            for word in words:
                places = self._places.get(word)
                if places is None:
                    self._places[word] = [position]
                else:
                    places.append(position)
        mean_length = (sum(lengths) / len(lengths) if lengths else 0.0) or 1.0
        self._length_factors = [k1 * (1 - b + b * length / mean_length) for length in lengths]

    def __len__(self) -> int:
        return len(self._length_factors)

    def search(self, query: str, *, limit: int | None = None) -> list[Bm25Hit]:
        """Return the best `limit` hits (all when None), best first, equal scores by position.

        A text that shares no term with the query is never a hit, so there may be fewer than `limit`, or none.
        """
        return self.search_terms(self._terms(query), limit=limit)

    def search_terms(self, terms: Iterable[str], *, limit: int | None = None) -> list[Bm25Hit]:
        """Return the same for a query that is already a list of terms."""
        scores: dict[int, float] = {}
        for term, repeats in Counter(terms).items():
            counts = Counter(self._places.get(term, ()))
            weight = repeats * self._idf(len(counts))
            for position, count in counts.items():
                scores[position] = scores.get(position, 0.0) + weight * count / (count + self._length_factors[position])
        ordered = sorted(scores.items(), key=lambda item: (-item[1], item[0]))
        return [Bm25Hit(position, score) for position, score in ordered[:limit]]

    def _idf(self, texts_with_term: int) -> float:
        return math.log(1 + (len(self._length_factors) - texts_with_term + 0.5) / (texts_with_term + 0.5))

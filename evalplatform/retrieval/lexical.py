"""Lexical first-stage scoring: which share of a query's words a text holds, for one text or for a whole corpus at once."""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

WORD = re.compile(r"\w+")
REMEMBERED_TOKENS = 4_096


def word_tokens(text: str) -> list[str]:
    r"""Return the text's distinct lower-case word tokens (runs of `\w`), in order of first appearance."""
    return list(dict.fromkeys(WORD.findall(text.lower())))


def lexical_score(query: str, text: str) -> float:
    """Return the share of the query's distinct word tokens that occur in the text as substrings, in [0, 1].

    "map" counts as found in "mapping". A query without a word scores 0.

    Example:
        >>> lexical_score("map tiles", "Mapping basics")
        0.5
    """
    tokens = word_tokens(query)
    lowered = text.lower()
    return sum(token in lowered for token in tokens) / len(tokens) if tokens else 0.0


class LexicalIndex:
    r"""The lexical scores of many texts for one query, without scanning every text for every token.

    It rests on one fact: a token is a run of word characters, so each of its occurrences lies inside one maximal word of the text. It is
    therefore enough to look for the token among the corpus's distinct words (a small part of its characters) and to unite the texts that
    hold each word found. What is found for a token is kept, since the questions of a set share most of their words.

    Args:
        texts: the corpus; each text is lower-cased once, here.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        texts_with: dict[str, list[int]] = {}
        for number, text in enumerate(texts):
            for word in word_tokens(text):
                texts_with.setdefault(word, []).append(number)
        self._size = len(texts)
        self._postings = list(texts_with.values())
        self._words = "\n".join(texts_with)
        self._starts = _starts(texts_with)
        self._holders = lru_cache(maxsize=REMEMBERED_TOKENS)(self._find_holders)

    def scores(self, query: str) -> list[float]:
        """Return `lexical_score(query, text)` of every text, in the order the texts were given."""
        tokens = word_tokens(query)
        found: Counter[int] = Counter()
        for token in tokens:
            found.update(self._holders(token))
        return [found[number] / len(tokens) if tokens else 0.0 for number in range(self._size)]

    def _find_holders(self, token: str) -> tuple[int, ...]:
        holders: set[int] = set()
        at = self._words.find(token)
        while at >= 0 and len(holders) < self._size:
            word = bisect_right(self._starts, at) - 1
            holders.update(self._postings[word])
            at = self._words.find(token, self._starts[word + 1])
        return tuple(holders)


def _starts(words: dict[str, list[int]]) -> list[int]:
    """Return where each word begins in the newline-joined words, and where one more would."""
    starts = [0]
    for word in words:
        starts.append(starts[-1] + len(word) + 1)
    return starts

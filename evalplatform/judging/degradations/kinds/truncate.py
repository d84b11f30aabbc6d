"""`truncate`: the second half of the sentences is gone."""

import re
from collections.abc import Sequence

from evalplatform.judging.degradations.degradation import Degraded, degradations
from evalplatform.judging.degradations.names import Name
from evalplatform.judging.degradations.sentences import sentence_spans
from evalplatform.kernel.text import plural

_LEAST_WORDS = 4
_WORD = re.compile(r"\S+")


@degradations.register("truncate")
class Truncate:
    """Keeps the first half of the sentences, rounded down; of one sentence the first half of its words."""

    what = "the second half of its sentences is left out"
    lack = "too_short"
    is_worse = True

    def degraded(self, answer: str, *, seed: int, names: Sequence[Name]) -> Degraded | None:
        """Return the first half, or None for fewer than two sentences and four words."""
        del seed, names  # there is nothing to choose
        pieces, noun = [span.end for span in sentence_spans(answer)], "sentence"
        if len(pieces) < 2:
            pieces, noun = [match.end() for match in _WORD.finditer(answer)], "word"
            if len(pieces) < _LEAST_WORDS:
                return None
        kept = len(pieces) // 2
        return Degraded(text=answer[: pieces[kept - 1]], change=f"{kept:,} of {plural(len(pieces), noun)} kept")

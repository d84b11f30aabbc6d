"""`contradiction`: a sentence at the end denies what the answer says."""

from collections.abc import Sequence

from evalplatform.judging.degradations.degradation import Degraded, degradations
from evalplatform.judging.degradations.names import Name
from evalplatform.judging.degradations.sentences import statements
from evalplatform.kernel.text import clip

_SHOWN_CHARS = 80


@degradations.register("contradiction")
class Contradiction:
    """Appends a denial of one of the answer's own statements. It is in English whatever the answer's language; it only makes it longer."""

    what = "a sentence is appended that denies one of its statements"
    lack = "no_statement"
    is_worse = True

    def degraded(self, answer: str, *, seed: int, names: Sequence[Name]) -> Degraded | None:
        """Return the answer with a denial after it, or None without a statement of at least four words."""
        del names
        stated = statements(answer)
        if not stated:
            return None
        denied = stated[seed % len(stated)]
        text = f'{answer.rstrip()}\n\nIn fact, the opposite is the case; it is not true that "{denied}"'
        return Degraded(text=text, change=f'denied: "{clip(denied, _SHOWN_CHARS)}"')

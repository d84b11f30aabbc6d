"""`wrong_name`: one name is another, wherever it stands."""

import re
from collections.abc import Sequence

from evalplatform.judging.degradations.degradation import Degraded, degradations
from evalplatform.judging.degradations.names import Name, names_in, replaced_name
from evalplatform.kernel.digests import text_digest
from evalplatform.kernel.seeds import derived_seed
from evalplatform.kernel.text import plural

_CAMEL_PART = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")


@degradations.register("wrong_name")
class WrongName:
    """Puts a name of another answer in the place of one of this answer: a name that exists, where it does not belong.

    Identifiers of code come first, then capitalised names, then plain words in backticks; of these the one that stands in most places. The
    other name is written in the same way, where there is such a one. Without any the parts of an identifier change places.
    """

    what = "one of its names is another one"
    lack = "no_name"
    is_worse = True

    def degraded(self, answer: str, *, seed: int, names: Sequence[Name]) -> Degraded | None:
        """Return the answer with one name replaced everywhere, or None without a name that can be."""
        for name in sorted(names_in(answer), key=lambda name: _rank(answer, name, seed)):
            other = _name_of_others(answer, name, names, seed) or (_rearranged(name.text) if name.is_code else None)
            if other is not None:
                text, places = replaced_name(answer, name.text, other)
                return Degraded(text=text, change=f'"{name.text}" became "{other}" in {plural(places, "place")}')
        return None


def _rank(answer: str, name: Name, seed: int) -> tuple[bool, bool, int, int]:
    _, places = replaced_name(answer, name.text, "")
    return name.is_plain, not name.is_code, -places, derived_seed(seed, text_digest(name.text))


def _name_of_others(answer: str, name: Name, others: Sequence[Name], seed: int) -> str | None:
    """Return the name of its sort that ranks first by a digest; one more name among the others changes a choice only where it wins."""
    folded = answer.casefold()
    fitting = [other for other in others if other.is_code == name.is_code and other.text.casefold() not in folded]
    alike = [other for other in fitting if other.shape == name.shape] or fitting
    return max((other.text for other in alike), key=lambda text: derived_seed(seed, text_digest(text)), default=None)


def _rearranged(name: str) -> str | None:
    """Return an identifier with its parts in reverse order, joined as they were; None where that is the same, or there is one part."""
    separator = next((mark for mark in ("::", ".", "_") if mark in name.strip("_.")), None)
    if separator is not None:
        other = separator.join(reversed(name.split(separator)))
    else:
        parts = _CAMEL_PART.findall(name)
        if len(parts) < 2 or "".join(parts) != name:
            return None
        backwards = [part.capitalize() for part in reversed(parts)]
        other = "".join(backwards) if name[0].isupper() else backwards[0].lower() + "".join(backwards[1:])
    return None if other == name else other

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
    """Puts a name of another answer in the place of one of this answer, identifiers of code first: names that exist, where they do not
    belong. Without such a name the parts of an identifier change places.
    """

    what = "one of its names is another one"
    lack = "no_name"
    is_worse = True

    def degraded(self, answer: str, *, seed: int, names: Sequence[Name]) -> Degraded | None:
        """Return the answer with one name replaced everywhere, or None without a name that can be."""
        own = names_in(answer)
        of_code = [name for name in own if name.is_code]
        for group in (of_code, [name for name in own if not name.is_code]):
            for turn in range(len(group)):
                name = group[(seed + turn) % len(group)]
                other = _name_of_others(answer, name, names, seed) or (_rearranged(name.text) if name.is_code else None)
                if other is not None:
                    text, places = replaced_name(answer, name.text, other)
                    return Degraded(text=text, change=f'"{name.text}" became "{other}" in {plural(places, "place")}')
        return None


def _name_of_others(answer: str, name: Name, others: Sequence[Name], seed: int) -> str | None:
    """Return the name of its sort that ranks first by a digest; one more name among the others changes a choice only where it wins."""
    folded = answer.casefold()
    fitting = [other.text for other in others if other.is_code == name.is_code and other.text.casefold() not in folded]
    return max(fitting, key=lambda text: (derived_seed(seed, text_digest(text)), text), default=None)


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

"""`wrong_number`: one number is another, equally plausible one, wherever it stands."""

import re
from collections.abc import Sequence

from evalplatform.judging.degradations.degradation import Degraded, degradations
from evalplatform.judging.degradations.names import Name
from evalplatform.kernel.seeds import derived_seed
from evalplatform.kernel.text import plural

# Not within a word, a date or a path; not an ordinal (3rd), not hexadecimal.
_NUMBER = re.compile(r"(?<![\w.,\-/])[0-9]+(?:[.,][0-9]+)*(?![0-9]|(?:st|nd|rd|th)\b|[xX][0-9a-fA-F])(?P<percent>\s?%)?")
_LIST_MARK = re.compile(r"[ \t]*[0-9]+[.)][ \t]")
_YEAR = re.compile(r"(?:19|20)[0-9]{2}")
_FARTHEST = 3
"""A digit moves by at most three: 404 becomes 504 rather than 904."""


@degradations.register("wrong_number")
class WrongNumber:
    """Changes the leading digit of one number (the last one of a year), everywhere in the answer alike, so that it contradicts nothing."""

    what = "one of its numbers is another one"
    lack = "no_number"
    is_worse = True

    def degraded(self, answer: str, *, seed: int, names: Sequence[Name]) -> Degraded | None:
        """Return the answer with one number changed, or None without a number. The numbers of a list's items are none."""
        del names
        marks = {match.start() for match in _LIST_MARK.finditer(answer) if _begins_line(answer, match.start())}
        places = [match for match in _NUMBER.finditer(answer) if not _is_list_mark(answer, match.start(), marks)]
        numbers = list(dict.fromkeys(match[0] for match in places))
        for turn in range(len(numbers)):
            number = numbers[(seed + turn) % len(numbers)]
            other = _other_number(number, taken=numbers, seed=derived_seed(seed, number))
            if other is not None:
                return _replaced(answer, [match for match in places if match[0] == number], other)
        return None


def _begins_line(answer: str, place: int) -> bool:
    return place == 0 or answer[place - 1] == "\n"


def _is_list_mark(answer: str, place: int, marks: set[int]) -> bool:
    line = answer.rfind("\n", 0, place) + 1
    return line in marks and not answer[line:place].strip()


def _other_number(number: str, *, taken: Sequence[str], seed: int) -> str | None:
    """Return another number that is written alike, or None; a percentage stays at most 100, and the answer's other numbers are avoided."""
    digits = number.rstrip("% \t\n\u00a0")
    place = (
        len(digits) - 1 if _YEAR.fullmatch(digits) else next((at for at, char in enumerate(digits) if char in "123456789"), len(digits) - 1)
    )
    old = int(digits[place])
    moved = [new for new in range(10) if 0 < abs(new - old) <= _FARTHEST and (new > 0 or place > 0)]
    others = [number[:place] + str(new) + number[place + 1 :] for new in moved]
    if len(digits) < len(number):
        others = [other for other in others if int(re.split("[.,]", other.rstrip("% \t\n\u00a0"))[0]) <= 100]
    free = [other for other in others if other not in taken] or others
    return free[seed % len(free)] if free else None


def _replaced(answer: str, places: Sequence[re.Match[str]], other: str) -> Degraded:
    pieces, after = [], 0
    for match in places:
        pieces += [answer[after : match.start()], other]
        after = match.end()
    change = f'"{places[0][0]}" became "{other}" in {plural(len(places), "place")}'
    return Degraded(text="".join(pieces) + answer[after:], change=change)

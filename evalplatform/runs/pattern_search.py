"""Searching texts with a user's regular expression, in bounded time.

Python's `re` backtracks: `(a+)+$` needs a time that doubles with every character, and `a.*b.*c` grows with the cube of the length. No text
of an agent may hang the judge. So a search whose worst case is short is made here, at once; any other is made by a process of its own,
which ends after `SEARCH_SECONDS`. What was not searched by then is None: neither found nor absent.
"""

import re
from collections.abc import Sequence

from evalplatform.kernel.errors import InputError
from evalplatform.runs.pattern_worker import WORKER

SEARCH_SECONDS = 5.0
"""The most that the texts of one search may take together."""

MAX_STEPS_AT_ONCE = 20_000_000
"""A search with a worst case of at most so many steps is made in this process; one takes about 10 nanoseconds."""

_REPEAT_OF_A_GROUP = re.compile(r"\)(?:[*+]|\{\d*,?\d*\})")
_ESCAPES_AND_CLASSES = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
_UNBOUNDED = re.compile(r"[*+]|\{\d*,\d*\}")
_FIXED_COUNT = re.compile(r"\{(\d+)\}")
_CHOICE = re.compile(r"[?|]")
_VERBOSE = re.compile(r"\(\?[a-zA-Z]*x")


def compiled_pattern(pattern: str) -> re.Pattern[str]:
    """Return the compiled regular expression, in the syntax of Python's `re`.

    Raises:
        InputError: it is none; the rule names the position, counted from 1.
    """
    try:
        return re.compile(pattern)
    except re.error as error:
        at = "" if error.pos is None else f" at character {error.pos + 1}"
        raise InputError(f"is no regular expression: {error.msg}{at}.") from None
    except (OverflowError, RecursionError):
        raise InputError("is no regular expression that can be used: it repeats or nests too much.") from None


def text_found(pattern: str, text: str) -> bool | None:
    """Return whether a pattern is found in a text; None where that took longer than `SEARCH_SECONDS`."""
    return texts_found(pattern, [text])[0]


def texts_found(pattern: str, texts: Sequence[str], *, seconds: float | None = None) -> list[bool | None]:
    """Return for each text whether the pattern is found in it; None where the time was up before that was known.

    `seconds` is what all the texts may take together; None is `SEARCH_SECONDS`.

    Raises:
        InputError: the pattern is no regular expression.
    """
    search = compiled_pattern(pattern).search
    if worst_case_steps(pattern, max(map(len, texts), default=0)) <= MAX_STEPS_AT_ONCE:
        return [search(text) is not None for text in texts]
    found: list[bool | None] = [*WORKER.found(pattern, texts, seconds=SEARCH_SECONDS if seconds is None else seconds)]
    return found + [None] * (len(texts) - len(found))


def worst_case_steps(pattern: str, text_chars: int) -> float:
    """Return an upper bound on the steps of a search: infinite where a group is repeated, whose parts may match in many ways.

    A search starts at every character; each unbounded repetition may end at every character, each choice doubles the ways.
    """
    bare = _ESCAPES_AND_CLASSES.sub("x", pattern)
    if _REPEAT_OF_A_GROUP.search(bare) or _VERBOSE.search(bare):
        return float("inf")  # a verbose pattern may set a blank between a group and its repetition
    repetitions, choices = len(_UNBOUNDED.findall(bare)), len(_CHOICE.findall(bare))
    fixed = sum(int(count) for count in _FIXED_COUNT.findall(bare))
    return float(max(1, text_chars)) ** (1 + min(repetitions, 20)) * 2.0 ** min(choices, 500) * max(1, fixed)

"""Words of a text, for graders that compare texts without a model.

Convention: text is case-folded after Unicode NFKC, so full-width and composed characters meet their plain forms. A token is a run of
letters, digits and underscores. A hyphen, an apostrophe and all other punctuation part tokens ("retry-after" is "retry after"); a decimal
point between digits does not, so that "5" is not found in "1.5" and "v1.2" stays one token; a thousands comma is dropped ("1,000" is
"1000"). Chinese characters and Japanese kana are one token each, since no space parts their words. There is no stemming: "retries" is not
"retry".
"""

import re
import unicodedata
from functools import lru_cache

_UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_LETTER = rf"[^\W{_UNSPACED}]"
_TOKEN = re.compile(rf"[{_UNSPACED}]|{_LETTER}+(?:(?<=\d)\.(?=\d){_LETTER}+)*")
_THOUSANDS_COMMA = re.compile(r",(?<=\d,)(?=\d{3}(?!\d))")  # the comma first: the search then skips to commas, 12 times faster
_ASCII_PARTING = str.maketrans({char: " " for char in map(chr, range(128)) if not char.isalnum() and char not in "_."})
_ASCII_PARTING_POINT = re.compile(r"\.(?:(?<!\d\.)|(?!\d))")

_STOP_WORDS_TEXT = """
a about after all also an and any are as at be because been before being but by can could did do does each for from had has have how
if in into is it its may might more most must no not of on only or other our out over should so some such than that the their them then
there these they this those to under up use used using was we were what when where which while who why will with would you your
"""
STOP_WORDS = frozenset(_STOP_WORDS_TEXT.split())
"""English words that carry no content of their own; they are left out where the share of content words is counted."""


def tokens(text: str) -> list[str]:
    """Return the tokens of a text, in order."""
    if text.isascii():
        return _ascii_tokens(_THOUSANDS_COMMA.sub("", text.casefold()))
    folded = unicodedata.normalize("NFKC", text).casefold()
    return _TOKEN.findall(_THOUSANDS_COMMA.sub("", folded))


def _ascii_tokens(folded: str) -> list[str]:
    """Return what `_TOKEN` finds, ten times faster: most answers are ASCII, and grading them is all this grader does."""
    return _ASCII_PARTING_POINT.sub(" ", folded.translate(_ASCII_PARTING)).split()


def content_words(text: str) -> frozenset[str]:
    """Return the distinct tokens that are no stop words."""
    return frozenset(tokens(text)) - STOP_WORDS


class TokenText:
    """A text ready to be searched for wordings, token by token."""

    def __init__(self, text: str) -> None:
        self.tokens = tokens(text)
        self._spaced = _spaced(self.tokens)
        self._text = text

    def states(self, wording: str) -> bool:
        """Say whether the wording's tokens stand in the text one after another.

        A wording without any token (such as "++") is looked for as it is written.
        """
        wanted = _wanted(wording)
        return wanted in self._spaced if wanted is not None else wording.casefold() in self._text.casefold()


@lru_cache(maxsize=16_384)
def _wanted(wording: str) -> str | None:
    """Return a wording's tokens as `_spaced` spells them, or None; cached, since a wording is looked for in every arm's answer."""
    wanted = tokens(wording)
    return _spaced(wanted) if wanted else None


def _spaced(words: list[str]) -> str:
    return f" {' '.join(words)} "

"""Where the sentences of an answer begin and end, well enough to leave some out or to quote one."""

import re
from typing import NamedTuple

_LINE = re.compile(r"[^\n]+")
# After an ending mark and a space, or a full-width mark; "e.g." and "i.e." end nothing.
_BREAK = re.compile(r"(?<=[.!?…])(?<!\.\w\.)[\"'”’)\]*_`]*\s+|(?<=[。！？])")
_WORD = re.compile(r"[^\W\d_]{2,}|[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]")
_LIST_MARKS = re.compile(r"(?:\s|[-*#>+•]|[0-9]+[.)]\s)*")
_LEADING_MARKS = re.compile(r"(?:\s|[-*#>+•“\"'(\[_]|[0-9]+[.)]\s)*")
_ENDED = re.compile(r"[.!…。！][\"'”’)\]*_`]*$")
_FENCE = "```"


class Span(NamedTuple):
    """A stretch of a text, by its first place and the one after its last."""

    start: int
    end: int


def sentence_spans(text: str) -> list[Span]:
    """Return the sentences of a text in order; a line break ends one, and what holds no word belongs to the next one of its line."""
    spans: list[Span] = []
    for line in _LINE.finditer(text):
        start, found = line.start(), [match.end() for match in _BREAK.finditer(line[0])]
        for end in (*(line.start() + place for place in found), line.end()):
            if _WORD.search(text, start, end):
                spans.append(_trimmed(text, start, end))
                start = end
    return spans


def statements(text: str) -> list[str]:
    """Return the sentences that state something, without the marks of lists: of four words, no question, heading or code.

    Those that end like a sentence are taken where there are any: lines of a table and of unmarked code do not.
    """
    stated = _stated(text)
    return [sentence for sentence in stated if _ENDED.search(sentence)] or stated


def _stated(text: str) -> list[str]:
    found = []
    in_code, seen = False, 0
    for span in sentence_spans(text):
        in_code ^= text.count(_FENCE, seen, span.start) % 2 == 1
        fences_within = text.count(_FENCE, span.start, span.end)
        sentence = text[span.start : span.end]
        plain = _LIST_MARKS.sub("", sentence, count=1).strip()
        if not in_code and not fences_within and _states_something(sentence, plain):
            found.append(plain)
        in_code ^= fences_within % 2 == 1
        seen = span.end
    return found


def first_word_place(text: str, span: Span) -> int:
    """Return where the first word of a sentence stands, after the marks of lists and quotations."""
    marks = _LEADING_MARKS.match(text, span.start, span.end)
    return span.start if marks is None else marks.end()


def _states_something(sentence: str, plain: str) -> bool:
    is_long_enough = len(plain.split()) >= 4 or (not plain.isascii() and len(_WORD.findall(plain)) >= 4)
    return is_long_enough and not sentence.startswith(("#", "|")) and not plain.endswith(("?", "？", ":"))


def _trimmed(text: str, start: int, end: int) -> Span:
    stretch = text[start:end]
    return Span(start + len(stretch) - len(stretch.lstrip()), start + len(stretch.rstrip()))

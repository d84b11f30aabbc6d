"""The names that an answer speaks of: identifiers of code, and capitalised names."""

import re
from collections.abc import Iterable

from evalplatform.judging.degradations.sentences import first_word_place, sentence_spans
from evalplatform.judging.words import STOP_WORDS
from evalplatform.kernel.values import Value

_TOKEN = re.compile(r"(?<![\w.])[^\W\d]\w+(?:(?:\.|::)[^\W\d]\w+)*(?!\w)")
_JOINED = re.compile(r"[^\W_]_[^\W_]|[a-z][A-Z]|\.|::")
_LEAST_CHARS = 3


class Name(Value):
    """A name in an answer; `is_code` says that it is an identifier of code, and not a capitalised word."""

    text: str
    is_code: bool

    @property
    def shape(self) -> tuple[object, ...]:
        """How it is written: a name of the same shape can stand in its place. Files have the shape of their suffix."""
        joins = tuple(join for join in ("::", ".", "_") if join in self.text)
        suffix = self.text.rpartition(".")[2] if "." in joins else ""
        return self.is_code, joins, suffix, self.text.isupper(), self.text[0].isupper(), self.text.islower()

    @property
    def is_plain(self) -> bool:
        """Whether it could be a common word, being code by its backticks alone."""
        return self.is_code and _JOINED.search(self.text) is None


def names_in(text: str) -> list[Name]:
    """Return the distinct names of a text, in order of first appearance.

    An identifier of code joins words by underscores, dots, `::` or capitals, or stands in backticks. A capitalised name does not begin a
    sentence, and stands nowhere in the text without its capital.
    """
    starts = {first_word_place(text, span) for span in sentence_spans(text)}
    tokens = [(match.start(), match[0]) for match in _TOKEN.finditer(text)]
    uncapitalised = {token for _, token in tokens if token[0].islower()}
    found: dict[str, Name] = {}
    for place, token in tokens:
        if len(token) < _LEAST_CHARS or token in found:
            continue
        in_backticks = text[max(0, place - 1) : place] == "`" == text[place + len(token) : place + len(token) + 1]
        if in_backticks or _JOINED.search(token):
            found[token] = Name(text=token, is_code=True)
        elif token[0].isupper() and place not in starts and not {token.lower(), token.casefold()} & (uncapitalised | STOP_WORDS):
            found[token] = Name(text=token, is_code=False)
    return list(found.values())


def names_of(texts: Iterable[str]) -> tuple[Name, ...]:
    """Return the distinct names of several texts, sorted: which answers there are decides, and not their order."""
    distinct = {name.text: name for text in texts for name in names_in(text)}
    return tuple(distinct[text] for text in sorted(distinct))


def replaced_name(text: str, name: str, replacement: str) -> tuple[str, int]:
    """Return the text with the name replaced wherever it stands as a whole, and in how many places that is."""
    return re.subn(rf"(?<!\w){re.escape(name)}(?!\w)", lambda _: replacement, text)

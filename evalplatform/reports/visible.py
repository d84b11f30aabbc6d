"""Characters that a reader cannot see, made visible: a report must not be reordered or blanked by the text it shows."""

import re

# Controls but tab and newline; soft hyphen; bidi marks, embeddings, overrides and isolates; zero-width space, word joiner and invisible
# operators; line and paragraph separators; BOM; interlinear marks; lone surrogates; noncharacters; tag characters. The zero-width joiner
# and non-joiner stay: emoji and several scripts are spelled with them.
HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff"
    "\ufdd0-\ufdef\ufffe\uffff\U000e0000-\U000e007f]"
)

_INDISTINCT_SPACE = re.compile(r"[^\S ]|(?<=\s) |^ | $")
"""White space that a page or a line shows as one space or not at all: any but a single plain space between two other characters."""


def with_visible_spaces(name: str) -> str:
    """Return `name` with every space that would be shown as another's as a token, so that `a  b` and `a b` do not read alike."""
    return _INDISTINCT_SPACE.sub(lambda match: control_token(match[0]), name)


def with_visible_controls(text: str) -> str:
    """Return `text` with every hidden control character as a token such as `⟨U+202E⟩`; a CRLF pair is a plain newline.

    Bidi overrides (CVE-2021-42574 shows what they hide), NUL, escapes and lone surrogates are all replaced, so the result can be written
    as UTF-8, XML and HTML. The digest beside a text is always that of the text itself.
    """
    return HIDDEN.sub(lambda match: control_token(match[0]), text.replace("\r\n", "\n"))


def control_token(character: str) -> str:
    """Return the token that stands for one hidden character, such as `⟨U+0000⟩`."""
    return f"⟨U+{ord(character):04X}⟩"


def one_line(text: str, limit_chars: int | None = None) -> str:
    """Return `text` on one line with visible controls, runs of white space as one space, cut with an ellipsis at `limit_chars`."""
    # A report's line needs the head only; a text of a mebibyte is not walked to its end for it.
    head = text if limit_chars is None else text[: 20 * limit_chars]
    line = " ".join(with_visible_controls(head).split())
    if limit_chars is None or (len(line) <= limit_chars and len(head) == len(text)):
        return line
    return line[: limit_chars - 1].rstrip() + "…"

"""The text of a message's content, whatever form it was written in."""

from collections.abc import Container, Mapping
from typing import NamedTuple

from evalplatform.kernel.errors import TraceError

_TEXT_PARTS = {"text": "text", "input_text": "text", "output_text": "text", "refusal": "refusal"}
"""Which field of a part of that type holds its text."""

_REASONING_PARTS = ("reasoning", "thinking", "redacted_thinking")
"""Not kept, and not named: what a model thought is no part of what its agent did."""


class ContentText(NamedTuple):
    """A content as text, and the types of the parts that are none: a placeholder stands for each."""

    text: str
    not_kept: tuple[str, ...]


def content_text(content: object, where: str) -> ContentText:
    """Return a content's text: itself, or its text parts joined by line breaks, with `[image_url]` and the like for other parts.

    Raises:
        TraceError: it is neither text nor a list of parts, or a text part has no text.
    """
    if isinstance(content, str):
        return ContentText(content, ())
    if not isinstance(content, list):
        raise TraceError("must be text, null, or a list of parts.", field=where)
    pieces: list[str] = []
    not_kept: list[str] = []
    for position, part in enumerate(content):
        if is_part(part, _REASONING_PARTS):
            continue
        piece, kind = _part_text(part, f"{where}[{position}]")
        pieces.append(piece)
        if kind is not None:
            not_kept.append(kind)
    return ContentText("\n".join(pieces), tuple(not_kept))


def is_part(part: object, kinds: Container[str]) -> bool:
    """Return whether something is a part of one of the types."""
    return isinstance(part, Mapping) and isinstance(kind := part.get("type"), str) and kind in kinds


def whole_text(text: str) -> str:
    """Return a text that JSON and UTF-8 can hold: surrogate pairs joined, a lone half written as U+FFFD."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _part_text(part: object, where: str) -> tuple[str, str | None]:
    if isinstance(part, str):
        return part, None
    if not isinstance(part, Mapping) or not isinstance(part.get("type"), str):
        raise TraceError("must be a part: an object with a type.", field=where)
    kind = str(part["type"])
    if kind not in _TEXT_PARTS:
        return f"[{kind}]", kind
    text = part.get(_TEXT_PARTS[kind])
    if not isinstance(text, str):
        raise TraceError("a text part needs its text.", field=f"{where}.{_TEXT_PARTS[kind]}")
    return text, None

"""Small rules about text that more than one room needs."""

ELLIPSIS = "…"


def clip(text: str, limit_chars: int) -> str:
    """Return `text`, or its first `limit_chars` characters and an ellipsis when it is longer."""
    return text if len(text) <= limit_chars else text[:limit_chars] + ELLIPSIS


def plural(count: int, noun: str) -> str:
    """Return `1 question`, `2 questions`, `1,000 questions`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"

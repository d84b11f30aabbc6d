"""Small rules about text that more than one room needs."""

import re

ELLIPSIS = "…"
_QUERY_PASSWORD = re.compile(r"([?&](?:password|sslpassword|key|token)=)[^&]*", re.IGNORECASE)
# Also of an address within an address, which may be percent-encoded there.
_ADDRESS_PASSWORD = re.compile(r"""((?:://|%3A%2F%2F)[^\s"'/?#&@:%]*(?::|%3A))[^\s"'/?#&]*(?=@|%40)""", re.IGNORECASE)


def clip(text: str, limit_chars: int) -> str:
    """Return `text`, or its first `limit_chars` characters and an ellipsis when it is longer."""
    return text if len(text) <= limit_chars else text[:limit_chars] + ELLIPSIS


def plural(count: int, noun: str) -> str:
    """Return `1 question`, `2 questions`, `1,000 questions`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def masked_url(url: str) -> str:
    """Return a URL, or a text that holds one, with `***` in place of a password, also of one in the query or in an address there."""
    scheme, separator, rest = url.partition("://")
    if not separator:
        return url
    authority, slash, path = rest.partition("/")
    user, at, host = authority.rpartition("@")
    name, colon, _ = user.partition(":")
    shown = f"{name}{colon and ':***'}{at}{host}{slash}{path}"
    return _ADDRESS_PASSWORD.sub(r"\1***", f"{scheme}://" + _QUERY_PASSWORD.sub(r"\1***", shown))

"""Mail addresses of who is told of nights."""

import re

MOST_ADDRESS_CHARS = 254  # RFC 5321 4.5.3.1.3, less the angle brackets
_LOCAL_ATOM, _DOMAIN_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+", r"[^\s@<>()\[\],:;\\\".]+"
_MAIL_ADDRESS = re.compile(rf"{_LOCAL_ATOM}(\.{_LOCAL_ATOM})*@{_DOMAIN_ATOM}(\.{_DOMAIN_ATOM})*")


def is_mail_address(text: str) -> bool:
    """Say whether a text is one mail address that any server takes, ASCII before the `@`, and neither a name nor a second one beside it."""
    return len(text) <= MOST_ADDRESS_CHARS and text.isprintable() and _MAIL_ADDRESS.fullmatch(text) is not None


def checked_mail_address(text: str) -> str:
    """Return a mail address; a ValueError where a text is none."""
    if not is_mail_address(text):
        raise ValueError("must be one mail address")
    return text

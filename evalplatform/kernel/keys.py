"""Keys that are safe everywhere: in a Dagster partition, an object key, a file name, a URL.

Dagster drops a `|` in a multi-partition key, its UI cannot select a key with a comma, and a slash nests folders. So every key is a slug of
`[a-z0-9._-]`, with six hex digits of what it stands for where two meanings could share a name.
"""

import re

from evalplatform.kernel.digests import json_digest
from evalplatform.kernel.errors import InputError

KEY_PATTERN = re.compile(r"[a-z0-9][a-z0-9._-]*")
MAX_KEY_CHARS = 100


def checked_key(key: str, *, what: str, file: object = None, field: str | None = None) -> str:
    """Return `key` if it is a safe key.

    Raises:
        InputError: unless it is 1 to 100 characters of `[a-z0-9._-]` that start with a letter or digit. `|`, commas, slashes, `..` at the
            start, newlines and the empty string are refused by that one rule.
    """
    if KEY_PATTERN.fullmatch(key) and len(key) <= MAX_KEY_CHARS:
        return key
    raise InputError(
        f"{key!r} cannot be a {what}: use 1 to {MAX_KEY_CHARS} of a-z, 0-9, '.', '_' and '-', starting with a letter or digit.",
        file=file,
        field=field,
        nearest=slug(key) or None,
    )


def slug(text: str) -> str:
    """Return `text` as a key: lower case, every other run of characters as one `-`; empty when nothing is left."""
    return re.sub(r"[^a-z0-9._]+", "-", text.lower()).strip("-._")[:MAX_KEY_CHARS]


def key_with_digest(key_id: str, behaviour: object) -> str:
    """Return `<id>-<6 hex>`: a key that changes when what it stands for changes, so a key is never reused for another meaning."""
    return f"{checked_key(key_id, what='key')}-{json_digest(behaviour).removeprefix('sha256:')[:6]}"

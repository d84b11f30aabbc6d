"""The one rule for object keys, in every store: safe slugs between slashes."""

from evalplatform.kernel.errors import InputError
from evalplatform.kernel.keys import checked_key

MAX_OBJECT_KEY_CHARS = 800  # S3 takes 1,024 bytes; the rest is room for the store's own prefix


def checked_object_key(key: str) -> str:
    """Return `key` if it is one or more safe keys between slashes.

    A key that is safe here needs no quoting in a URL, is one file in one folder, and is the same on a file system that ignores case.

    Raises:
        InputError: it is not, or it is longer than 800 characters.
    """
    if len(key) > MAX_OBJECT_KEY_CHARS:
        raise InputError(f"an object key of {len(key):,} characters is too long: the limit is {MAX_OBJECT_KEY_CHARS}.")
    for segment in key.split("/"):
        checked_key(segment, what="part of an object key")
    return key


def checked_prefix(prefix: str) -> str:
    """Return `prefix` if keys can start with it: empty, whole parts, or the start of a part.

    Raises:
        InputError: no key can start with it.
    """
    if prefix:
        checked_object_key(prefix.removesuffix("/"))
    return prefix

"""Digests: one canonical form of JSON, one spelling of sha256, one rule for data versions."""

import hashlib
from collections.abc import Iterable, Mapping

import orjson

from evalplatform.kernel.errors import InputError

_FINITE = (str, int, type(None))
EMPTY_TEXT_DIGEST = "sha256:" + hashlib.sha256(b"").hexdigest()


def canonical_json(value: object) -> bytes:
    """Return the one byte form of a JSON value: UTF-8, sorted keys, no spaces.

    Raises:
        InputError: if the value holds NaN or an infinity, or something JSON cannot hold. orjson would write NaN as null, and two
            different values would then share a digest, so non-finite numbers are looked for first.
    """
    _refuse_non_finite(value)
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError as error:
        raise InputError(f"cannot be written as JSON: {error}.") from error


def text_digest(text: str) -> str:
    """Return `sha256:` and 64 hex digits of the text's UTF-8 bytes. A lone surrogate is digested as it was read (surrogatepass)."""
    return bytes_digest(text.encode("utf-8", "surrogatepass"))


def bytes_digest(data: bytes) -> str:
    """Return `sha256:` and 64 hex digits of the bytes."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def json_digest(value: object) -> str:
    """Return the digest of a value's canonical JSON."""
    return bytes_digest(canonical_json(value))


def answer_digest(question: str, answer: str) -> str:
    """Return the digest of an answer to a question: the same answer to the same question has one, whichever arm, cell or draw gave it.

    It is the digest of the canonical JSON `{"answer": text digest, "question": text digest}`. Digests stand in for the texts because JSON
    cannot hold a lone surrogate, and a text can.
    """
    return json_digest({"question": text_digest(question), "answer": text_digest(answer)})


def data_version(inputs: Mapping[str, str], *, schema_version: str) -> str:
    """Return the 16 hex digits that say which inputs an artifact was made from.

    It is the head of sha256 over the sorted, named input digests and the artifact's schema version (design: data versions). The order of
    the mapping does not matter; the names do.
    """
    return json_digest({"inputs": dict(inputs), "schema_version": schema_version}).removeprefix("sha256:")[:16]


def _refuse_non_finite(value: object) -> None:
    items: Iterable[object] = ()
    if isinstance(value, float):
        if value != value or value in (float("inf"), float("-inf")):
            raise InputError("holds NaN or an infinity, which JSON cannot hold.")
    elif isinstance(value, dict):
        items = value.values()
    elif isinstance(value, list | tuple):
        items = value
    for item in items:
        if not isinstance(item, _FINITE):  # most leaves are texts: a call for each would be most of what a digest takes
            _refuse_non_finite(item)

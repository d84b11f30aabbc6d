"""Blobs: bytes by their own digest (prompts, materials, trajectories). Equal bytes are stored once."""

import re
from collections.abc import Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import islice

from evalplatform.kernel.digests import bytes_digest
from evalplatform.kernel.errors import DigestMismatchError, InputError
from evalplatform.ports.object_store import ObjectStore

WRITERS = 16
ASKED_AT_ONCE = 1_000

_DIGEST = re.compile(r"sha256:([0-9a-f]{64})")


def blob_key(digest: str) -> str:
    """Return the key of the blob with that digest: `blobs/ab/abcdef...`.

    Raises:
        InputError: the text is not `sha256:` and 64 hex digits.
    """
    match = _DIGEST.fullmatch(digest)
    if match is None:
        raise InputError(f"{digest[:100]!r} is no digest: it has to be sha256: and 64 hex digits.")
    return f"blobs/{match[1][:2]}/{match[1]}"


def put_blob(store: ObjectStore, data: bytes) -> str:
    """Store the bytes unless they are there, and return their digest (`sha256:` and 64 hex digits).

    Raises:
        StorageUnavailableError: the store does not answer.
    """
    digest = bytes_digest(data)
    _put_if_missing(store, digest, data)
    return digest


def put_blobs(store: ObjectStore, blobs: Iterable[bytes]) -> list[str]:
    """Store many blobs, several at once, and return their digests in the order given.

    Raises:
        StorageUnavailableError: the store does not answer. Some of the blobs may be stored by then; storing them again is safe.
    """
    digests: list[str] = []
    data_by_digest: dict[str, bytes] = {}
    for data in blobs:
        digest = bytes_digest(data)
        digests.append(digest)
        data_by_digest[digest] = data
    with ThreadPoolExecutor(max_workers=WRITERS, thread_name_prefix="blobs") as pool:
        for _ in pool.map(lambda item: _put_if_missing(store, *item), data_by_digest.items()):
            pass  # the loop is what raises a writer's error
    return digests


def missing_blobs(store: ObjectStore, digests: Collection[str]) -> frozenset[str]:
    """Return which of these blobs are not there, several looked for at once.

    Raises:
        StorageUnavailableError: the store does not answer.
    """
    left = iter(set(digests))
    missing: set[str] = set()
    with ThreadPoolExecutor(max_workers=WRITERS, thread_name_prefix="blobs") as pool:
        while asked := list(islice(left, ASKED_AT_ONCE)):
            found = pool.map(lambda digest: store.exists(blob_key(digest)), asked)
            missing.update(digest for digest, is_there in zip(asked, found, strict=True) if not is_there)
    return frozenset(missing)


def remove_blobs(store: ObjectStore, digests: Iterable[str]) -> None:
    """Remove blobs, several at once; what is not there is fine. Whoever calls it knows that nothing names them any more.

    Raises:
        StorageUnavailableError: the store does not answer. Some may be gone by then; removing them again is safe.
    """
    with ThreadPoolExecutor(max_workers=WRITERS, thread_name_prefix="blobs") as pool:
        for _ in pool.map(lambda digest: store.delete(blob_key(digest)), digests):
            pass  # the loop is what raises a remover's error


def get_blob(store: ObjectStore, digest: str) -> bytes:
    """Return the bytes with that digest.

    Raises:
        ObjectNotFoundError: there are none.
        DigestMismatchError: the stored bytes have another digest; they are not returned.
        StorageUnavailableError: the store does not answer.
    """
    return get_verified(store, blob_key(digest), digest)


def get_verified(store: ObjectStore, key: str, digest: str) -> bytes:
    """Return the object's bytes if they have that digest; raise DigestMismatchError if not.

    Other bytes are asked for once more: what went wrong on the way goes right the second time, what is stored wrongly does not.
    """
    data = store.get(key)
    if bytes_digest(data) != digest:
        data = store.get(key)
    found = bytes_digest(data)
    if found != digest:
        raise DigestMismatchError(f"{key} in {store.url} was written as {digest} and reads as {found} ({len(data):,} bytes).")
    return data


def _put_if_missing(store: ObjectStore, digest: str, data: bytes) -> None:
    key = blob_key(digest)
    if not store.exists(key):
        store.put(key, data)  # of two racing writers both write the same bytes

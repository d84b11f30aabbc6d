"""Opens an object store by its URL, and checks that it gives back what it was given."""

import os
from collections.abc import Callable
from contextlib import suppress
from urllib.parse import urlsplit

from evalplatform.kernel.digests import bytes_digest
from evalplatform.kernel.errors import DigestMismatchError, ObjectExistsError, StorageError, StorageUnavailableError
from evalplatform.kernel.registry import Registry
from evalplatform.ports.object_store import ObjectStore

LOCAL_SCHEME = "file"

store_schemes: Registry[Callable[[str], ObjectStore]] = Registry(
    "stores", noun="storage scheme", kinds_package="evalplatform.adapters.stores"
)


def open_store(url: str) -> ObjectStore:
    """Return the object store at `url`; nothing is asked of it yet.

    Args:
        url: `file:///path` or a bare path; `s3://bucket/prefix?endpoint_url=...`; `memory:`; or a scheme that another package registers
            under the entry point group `evalplatform.stores`.

    Raises:
        UnknownNameError: nothing answers to the scheme, or to a part of the URL.
        InputError: the URL cannot be used.
    """
    scheme = urlsplit(url).scheme or LOCAL_SCHEME
    return store_schemes.get(scheme)(url)


def check_store(store: ObjectStore) -> None:
    """Write two objects, read them back, and try to overwrite one: what an S3-compatible store gets wrong shows here, before any data.

    Raises:
        DigestMismatchError: the store changes the bytes. Some endpoints keep the framing of a checksum trailer as part of the body.
        StorageError: the store overwrites an object that was to be written only if absent.
        StorageUnavailableError: it does not answer.
    """
    name = os.urandom(16).hex()
    for size_bytes in (0, 100_000):
        key, data = f"checks/{name}-{size_bytes}", os.urandom(size_bytes)
        try:
            with suppress(ObjectExistsError):  # a retry after a lost answer meets its own first write: nobody else knows the name
                store.put(key, data, if_absent=True)
            _check_body(store, key, data)
            _check_second_write_refused(store, key)
        finally:
            store.delete(key)


def _check_body(store: ObjectStore, key: str, data: bytes) -> None:
    read = store.get(key)
    if bytes_digest(read) != bytes_digest(data):
        raise DigestMismatchError(
            f"{store.url} gave back {len(read):,} bytes where {len(data):,} were written. If it is an S3-compatible endpoint, open it "
            "with checksum=when_required."
        )


def _check_second_write_refused(store: ObjectStore, key: str) -> None:
    try:
        store.put(key, b"a second write", if_absent=True)
    except ObjectExistsError:
        return
    raise StorageError(f"{store.url} ignores If-None-Match: two writers of one artifact could overwrite each other there.")


def has_answered(store: ObjectStore) -> None:
    """Return nothing if a store answers, a refusal included; StorageUnavailableError if it does not."""
    try:
        store.exists("checks/any")
    except StorageUnavailableError:
        raise
    except StorageError:  # whoever needs what it refuses is told why then
        return

"""The object store port: bytes by key. Keys are ours (hex digests and safe slugs under fixed prefixes), never text a user wrote."""

from collections.abc import Iterator
from typing import Protocol

from evalplatform.kernel.values import Value


class ObjectInfo(Value):
    """One stored object."""

    key: str
    size_bytes: int


class ObjectStore(Protocol):
    """Blocking calls; a caller inside an event loop goes through a thread pool.

    A write is atomic: a reader sees the old object or the new one, never part of one, whatever is killed in between.
    """

    @property
    def url(self) -> str:
        """The URL the store was opened by, without secrets."""
        ...

    def put(self, key: str, data: bytes, *, if_absent: bool = False) -> None:
        """Write an object.

        Raises:
            ObjectExistsError: if `if_absent` and the key is taken; exactly one of several racing writers wins.
            StorageUnavailableError: the store does not answer.
        """
        ...

    def get(self, key: str) -> bytes:
        """Return an object's bytes.

        Raises:
            ObjectNotFoundError: no object has that key.
            StorageUnavailableError: the store does not answer.
        """
        ...

    def exists(self, key: str) -> bool:
        """Say whether an object has that key."""
        ...

    def list(self, prefix: str) -> Iterator[ObjectInfo]:
        """Iterate over the objects whose key starts with `prefix`, in key order, paging as needed."""
        ...

    def delete(self, key: str) -> None:
        """Remove an object; removing one that is not there is fine."""
        ...

    def download_link(self, key: str, *, expires_seconds: int) -> str | None:
        """Return a link that works for a while, or None where the store has no such thing (a local folder).

        A browser that follows it saves the object, under the last part of its key, and never shows it: what models wrote would be shown in
        the name of the store, without the policy that the web app gives it.
        """
        ...

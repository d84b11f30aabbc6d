"""An object store in memory: it lives as long as its process, for tests and for runs that are to leave nothing behind."""

from collections.abc import Iterator
from threading import Lock

from evalplatform.adapters.stores.keys import checked_object_key, checked_prefix
from evalplatform.adapters.stores.open import store_schemes
from evalplatform.kernel.errors import InputError, ObjectExistsError, ObjectNotFoundError
from evalplatform.ports.object_store import ObjectInfo

URL = "memory:"


class MemoryStore:
    """The ObjectStore port over a dict, safe for threads."""

    def __init__(self) -> None:
        self._objects: dict[str, bytes] = {}
        self._lock = Lock()

    @property
    def url(self) -> str:
        """`memory:`."""
        return URL

    def put(self, key: str, data: bytes, *, if_absent: bool = False) -> None:
        """Keep the bytes; ObjectExistsError if the key is taken and `if_absent`."""
        checked_object_key(key)
        with self._lock:
            if if_absent and key in self._objects:
                raise ObjectExistsError(f"{key} is there already.")
            self._objects[key] = bytes(data)

    def get(self, key: str) -> bytes:
        """Return the bytes, or raise ObjectNotFoundError."""
        try:
            return self._objects[checked_object_key(key)]
        except KeyError:
            raise ObjectNotFoundError(f"no object {key} in {URL}") from None

    def exists(self, key: str) -> bool:
        """Say whether the key is taken."""
        return checked_object_key(key) in self._objects

    def list(self, prefix: str) -> Iterator[ObjectInfo]:
        """Iterate over the objects under the prefix, in key order, as they were when asked."""
        checked_prefix(prefix)
        with self._lock:
            listed = sorted((key, len(data)) for key, data in self._objects.items() if key.startswith(prefix))
        for key, size_bytes in listed:
            yield ObjectInfo(key=key, size_bytes=size_bytes)

    def delete(self, key: str) -> None:
        """Forget the object, if it is there."""
        with self._lock:
            self._objects.pop(checked_object_key(key), None)

    def download_link(self, key: str, *, expires_seconds: int) -> str | None:
        """Return None: memory has no links."""
        return None


@store_schemes.register("memory")
def open_memory_store(url: str) -> MemoryStore:
    """Return a new, empty store.

    Raises:
        InputError: the URL is more than `memory:`.
    """
    if url != URL:
        raise InputError(f"{url!r} says too much: a store in memory is just {URL!r}.", field="storage")
    return MemoryStore()
